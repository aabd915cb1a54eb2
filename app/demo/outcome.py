"""What a run has shown."""

from dataclasses import dataclass, field

from app.demo.findings import PromiseCheck
from app.demo.killer import VictimRestart
from app.demo.timeline import Timeline
from app.demo.witness import RequestStatistics


@dataclass(slots=True)
class RunOutcome:
    """Durations are in seconds; `sending_s` ends with the last confirmed send, `working_s` with the last message done,
    the kills included."""

    source: str
    messages: int
    groups: int
    timeline: Timeline
    start_s: float = 0.0
    sending_s: float = 0.0
    working_s: float = 0.0
    verifying_s: float = 0.0
    restarts: list[VictimRestart] = field(default_factory=list)
    deliveries: int = 0
    redeliveries: int = 0
    stale_receipts: int = 0
    statistics: RequestStatistics = field(default_factory=RequestStatistics)
    findings: list[PromiseCheck] = field(default_factory=list)

    @property
    def held(self) -> int:
        """How many promises held."""
        return sum(finding.is_ok for finding in self.findings)

    @property
    def is_ok(self) -> bool:
        return bool(self.findings) and self.held == len(self.findings)

    @property
    def sent_per_s(self) -> float:
        return _rate(self.messages, self.sending_s)

    @property
    def done_per_s(self) -> float:
        return _rate(self.groups * self.messages, self.working_s)

    @property
    def read_per_s(self) -> float:
        return _rate(self.messages, self.verifying_s)


def _rate(count: int, seconds: float) -> float:
    return count / seconds if seconds > 0 else 0.0
