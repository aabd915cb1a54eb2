"""What each process of a cluster used while something was measured."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter, process_time

from loadtests.process_usage import usage_of

LOAD = "load generator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Of one role: CPU seconds of all its processes within `wall_s`, in which `messages` went through, warm-ups
    included."""

    role: str
    processes: int
    cpu_s: float
    wall_s: float
    messages: float

    @property
    def cpu_us_per_message(self) -> float | None:
        """None where no message went through."""
        return 1e6 * self.cpu_s / self.messages if self.messages else None


@dataclass(slots=True)
class Costs:
    """Of all rounds of one measurement."""

    wall_s: float = 0.0
    messages: float = 0.0
    cpu_s: dict[str, float] = field(default_factory=dict)
    processes: dict[str, int] = field(default_factory=dict)

    def by_role(self) -> tuple[Cost, ...]:
        return tuple(
            Cost(role=role, processes=self.processes[role], cpu_s=cpu_s, wall_s=self.wall_s, messages=self.messages)
            for role, cpu_s in self.cpu_s.items()
        )


@dataclass(slots=True)
class Round:
    """Set `rate` within the block: messages per second, taken to be the same during the warm-up."""

    rate: float = 0.0


@contextmanager
def measured_by_role(roles: Mapping[str, Sequence[int]], costs: Costs) -> Iterator[Round]:
    """Add to `costs` what the processes of each role use in the block; not, if it fails."""
    this_round = Round()
    began, own = perf_counter(), process_time()
    before = {role: _cpu_s(pids) for role, pids in roles.items()}
    yield this_round
    wall_s = perf_counter() - began
    costs.wall_s += wall_s
    costs.messages += this_round.rate * wall_s
    for role, pids in roles.items():
        costs.cpu_s[role] = costs.cpu_s.get(role, 0.0) + _cpu_s(pids) - before[role]
        costs.processes[role] = len(pids)
    costs.cpu_s[LOAD] = costs.cpu_s.get(LOAD, 0.0) + process_time() - own
    costs.processes[LOAD] = 1


def _cpu_s(pids: Sequence[int]) -> float:
    return sum(usage_of(pid).cpu_s for pid in pids)
