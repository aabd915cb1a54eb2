"""What must hold of every history: one small class for each invariant, for the simulation and for real processes.

A checker returns its violations as sentences; an empty list means that the history obeys it. Each has a test that
shows it a fabricated violation (`test_checkers.py`). Their numbers are those of the list in docs/rules.md.
Here is what they have in common; `log_checkers` and `delivery_checkers` hold them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from tests.sim.history import (
    Delivered,
    History,
    LogRead,
    MessageLooked,
    ProgressRead,
    ReadRecord,
    ReadRefused,
    RecordsRead,
    Sent,
    Settled,
)

_Look = TypeVar("_Look", LogRead, ProgressRead, LogRead | ProgressRead)

Place = tuple[str, int, int]  # queue, partition, offset
LeasePlace = tuple[str, str, int, int]  # group, queue, partition, offset
ReceiptOrder = tuple[int, int, int]  # generation, leader epoch, serial


class Checker(Protocol):
    def check(self, history: History) -> list[str]: ...


def place_of(event: Sent | Delivered | Settled | MessageLooked | RecordsRead | ReadRefused) -> Place:
    return event.queue, event.partition, event.offset


def lease_place_of(event: Delivered | Settled) -> LeasePlace:
    return event.group, event.queue, event.partition, event.offset


def receipt_order_of(event: Delivered | Settled) -> ReceiptOrder:
    return event.generation, event.leader_epoch, event.attempt if event.serial < 0 else event.serial


def final_log(history: History) -> dict[tuple[str, int], list[ReadRecord]]:
    """The whole log after everything, by queue and partition."""
    found: dict[tuple[str, int], list[ReadRecord]] = defaultdict(list)
    for read in history.of(LogRead):
        if read.is_final:
            found[read.queue, read.partition].extend(read.records)
    return dict(found)


def final_records(history: History) -> Iterator[tuple[Place, ReadRecord]]:
    for (queue, partition), records in final_log(history).items():
        for record in records:
            yield (queue, partition, record.offset), record


def highest_before(looks: list[_Look], number: Callable[[_Look], int]) -> Iterator[tuple[_Look, _Look]]:
    """Each look, behind the highest of those that had ended before it began."""
    by_end = sorted(looks, key=lambda look: look.ended_ms)
    highest: _Look | None = None
    position = 0
    for look in sorted(looks, key=lambda look: look.began_ms):
        while position < len(by_end) and by_end[position].ended_ms < look.began_ms:
            candidate = by_end[position]
            if highest is None or number(candidate) > number(highest):
                highest = candidate
            position += 1
        if highest is not None:
            yield highest, look


def check_all(history: History, checkers: Iterable[Checker]) -> list[str]:
    """All violations, each with the checker's name."""
    return [f"{type(checker).__name__}: {violation}" for checker in checkers for violation in checker.check(history)]
