"""What the simulation's clients share: their surroundings, and how to read an answer."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.sim.environment import MachineClock
from tests.sim.history import History, Outcome
from tests.sim.http_client import Answer, HttpClient
from tests.sim.options import ServerOptions

UNKNOWN_CODES = frozenset({"OUTCOME_UNKNOWN", "INTERNAL", "TIMED_OUT", "STORAGE_FAILED", "SHUTTING_DOWN"})
# What a correct client may be told while faults go on; anything else is a bug of the server.
EXPECTED_CODES = UNKNOWN_CODES - {"INTERNAL"} | {
    "UNAVAILABLE",
    "NOT_ENOUGH_REPLICAS",
    "OVERLOADED",
    "STORAGE_FULL",
    "RECEIPT_STALE",
    "NOT_DELIVERED",
    "DEDUP_WINDOW_FULL",
    "DEDUP_WINDOW_DAMAGED",
    "TOO_MANY_WAITING",
    "CONFLICT",
}
LONGEST_WAIT_S = 60.0


@dataclass(slots=True)
class Surroundings:
    """What all clients share. `http` gives the server's current address, None while it is down."""

    options: ServerOptions
    clock: MachineClock
    history: History
    coverage: Counter[str]
    http: Callable[[], HttpClient | None]
    unexpected: list[str] = field(default_factory=list)
    also_expected: frozenset[str] = frozenset()
    """Codes that these faults, and no others, lead to."""
    stopping: bool = False
    calm: bool = False

    def now_ms(self) -> float:
        return float(self.clock.monotonic_ms())

    def code_of(self, item: dict[str, Any], what: str) -> str:
        code = str(item.get("code", ""))
        if code and code not in EXPECTED_CODES | self.also_expected:
            self.unexpected.append(f"{what} was answered with {item}")
        return code


def outcome_of(code: str) -> Outcome:
    if not code:
        return Outcome.OK
    return Outcome.UNKNOWN if code in UNKNOWN_CODES else Outcome.FAILED


def items_of(answer: Answer, is_batch: bool, count: int) -> list[dict[str, Any]]:
    """The result of each item, also where the whole request failed."""
    document = answer.json
    if is_batch and "results" in document:
        return list(document["results"])
    return [document] * count
