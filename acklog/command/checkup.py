"""What a doctor's check says: fine, look at it, broken, or not looked at; and what to do."""

from dataclasses import dataclass
from enum import Enum


class CheckOutcome(Enum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Check:
    """`advice` is what to do, "" where there is nothing to do."""

    name: str
    outcome: CheckOutcome
    finding: str
    advice: str = ""

    def document(self) -> dict[str, str]:
        """For --json."""
        document = {"check": self.name, "outcome": self.outcome.value, "finding": self.finding}
        return {**document, "advice": self.advice} if self.advice else document


def ok(name: str, finding: str) -> Check:
    return Check(name, CheckOutcome.OK, finding)


def warn(name: str, finding: str, advice: str) -> Check:
    return Check(name, CheckOutcome.WARN, finding, advice)


def fail(name: str, finding: str, advice: str) -> Check:
    return Check(name, CheckOutcome.FAIL, finding, advice)


def skipped(name: str, finding: str) -> Check:
    return Check(name, CheckOutcome.SKIPPED, finding)


def names_text(names: list[str], *, limit: int = 5) -> str:
    """`a, b, c and 4 more`."""
    if len(names) <= limit:
        return ", ".join(names)
    return f"{', '.join(names[:limit])} and {len(names) - limit} more"
