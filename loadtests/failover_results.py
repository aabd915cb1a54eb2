"""The results of `make failover-bench` as a JSON file."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

import msgspec

from examples.latencies import percentile
from loadtests.cluster_plan import FailoverPlan
from loadtests.results_file import Machine

MEDIAN_TARGET_S = 1.0
WORST_TARGET_S = 5.0
FAILURES_LISTED_MAX = 20


class EventKind(Enum):
    KILL = "kill -9"
    STOP = "SIGTERM"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One node killed or stopped, and started again.

    `waits_s`, ascending, has one number for each partition that it led. After a kill: from the kill until the next
    acknowledged write, sent at the kill. During a planned stop: the longest that a write took. `away_s` is how long the
    process needed to end; `ready_s` and `in_sync_s` are from its start until it was ready, and until every partition of
    the cluster had all its replicas in sync. `failures` counts the answers to these writes other than success, by
    status and problem code; each was followed by another try. `steady_*` is the load that went to all partitions
    meanwhile, from the event until the node was in sync again.
    """

    kind: EventKind
    node: int
    was_controller: bool
    partitions_led: int
    waits_s: tuple[float, ...]
    failures: dict[str, int]
    ready_s: float
    in_sync_s: float
    away_s: float = 0.0
    steady_answers: int = 0
    steady_errors: int = 0
    steady_p99_ms: float | None = None

    @property
    def median_s(self) -> float:
        return percentile(self.waits_s, 50)

    @property
    def worst_s(self) -> float:
        return self.waits_s[-1]

    @property
    def is_met(self) -> bool:
        return self.median_s < MEDIAN_TARGET_S and self.worst_s < WORST_TARGET_S


@dataclass(frozen=True, slots=True, kw_only=True)
class FailoverRun:
    """`failure` is empty for a run that came to its end. `created_s` is from the topics' creation until each partition
    had acknowledged a write."""

    machine: Machine
    plan: FailoverPlan
    date: str
    seconds: float
    load_before: float
    etcd_storage: str = "unknown"
    failure: str = ""
    created_s: float = 0.0
    events: list[Event] = field(default_factory=list)


def counted(failures: Sequence[str]) -> dict[str, int]:
    """How often each was seen, the most frequent first."""
    return dict(Counter(failures).most_common(FAILURES_LISTED_MAX))


def write_failover_run(run: FailoverRun, path: Path) -> None:
    """Median and worst stand there, too, for readers that do not want to compute them."""
    document = msgspec.to_builtins(run)
    for entry, event in zip(document["events"], run.events, strict=True):
        entry["median_s"], entry["worst_s"], entry["is_met"] = event.median_s, event.worst_s, event.is_met
    path.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")


def read_failover_run(path: Path) -> FailoverRun:
    """Raises msgspec.ValidationError (or DecodeError) for a file that was not written by `write_failover_run`."""
    return msgspec.json.decode(path.read_bytes(), type=FailoverRun)
