"""What may be said of the keys of a compacted topic, by what its only writer knows.

It sends one request after the other, so what was acknowledged is in the order of its serials, and of the offsets within
a partition. A message whose outcome is unknown may be stored at any later time, or never.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from tests.sim.history import Outcome


@dataclass(slots=True)
class Write:
    """`has_value` False: a tombstone. `ended_ms`: when it was acknowledged, or first seen; inf: it may not be there."""

    serial: int
    key: str
    has_value: bool
    began_ms: float
    ended_ms: float = inf
    outcome: Outcome = Outcome.UNKNOWN
    place: tuple[int, int] | None = None
    """(partition, offset), once somebody was told."""

    @property
    def is_possible(self) -> bool:
        return self.outcome is not Outcome.FAILED


class Latest(NamedTuple):
    """What was answered to the question for a key. `serial` None: it has no value."""

    key: str
    began_ms: float
    ended_ms: float
    serial: int | None = None
    place: tuple[int, int] | None = None


class Page(NamedTuple):
    """What was read of a partition; `found` are the serials by their offsets."""

    partition: int
    offset: int
    next_offset: int
    began_ms: float
    ended_ms: float
    found: Mapping[int, int]


class ViewJudge:
    """Keeps what was written, and learns from what was seen."""

    def __init__(self, *, surely_kept_ms: float) -> None:
        """`surely_kept_ms`: so long after it began to be sent, a message is not removed, by any clock."""
        self.writes: dict[int, Write] = {}
        self._by_key: dict[str, list[Write]] = {}
        self._surely_kept_ms = surely_kept_ms

    def begin(self, write: Write) -> None:
        self.writes[write.serial] = write
        self._by_key.setdefault(write.key, []).append(write)

    # --- questions for a key -----------------------------------------------------------------------------------------

    def judge_latest(self, answer: Latest) -> str | None:
        """What is wrong with it."""
        known = [each for each in self._by_key.get(answer.key, []) if each.began_ms <= answer.ended_ms]
        there = [each for each in known if each.ended_ms <= answer.began_ms and each.is_possible]
        if answer.serial is None:
            gone = [each for each in known if not each.has_value and each.is_possible]
            if not there or any(_contradicting(each, there) is None for each in gone):
                return None
            return f"{answer.key} is said to have no value, and there are {there}"
        return self._seen(answer.serial, answer.key, answer.place, answer.ended_ms) or self._judge_value(answer, there)

    def _judge_value(self, answer: Latest, there: Sequence[Write]) -> str | None:
        assert answer.serial is not None
        write = self.writes[answer.serial]
        if not write.has_value:
            return f"a tombstone is answered: {answer}"
        later = _contradicting(write, there)
        return None if later is None else f"{answer} is older than {later}"

    # --- reads -------------------------------------------------------------------------------------------------------

    def judge_page(self, page: Page) -> list[str]:
        """Of what was there when the page was asked for, it has all that nothing follows, and all that is young."""
        found = [
            self._seen(serial, None, (page.partition, offset), page.ended_ms) for offset, serial in page.found.items()
        ]
        violations = [each for each in found if each is not None]
        for write in self.writes.values():
            if write.place is None or write.place[0] != page.partition or write.ended_ms > page.began_ms:
                continue
            is_within = page.offset <= write.place[1] < page.next_offset
            if is_within and write.place[1] not in page.found and not self._may_be_removed(write, page.ended_ms):
                violations.append(f"{write} is not in the page of {page.offset} to {page.next_offset}")
        return violations

    def _may_be_removed(self, write: Write, now_ms: float) -> bool:
        if now_ms < write.began_ms + self._surely_kept_ms:
            return False
        followers = [
            each
            for each in self._by_key[write.key]
            if each.is_possible and each.began_ms <= now_ms and each is not write and not _is_surely_after(write, each)
        ]
        return not write.has_value or bool(followers)

    def _seen(self, serial: int, key: str | None, place: tuple[int, int] | None, now_ms: float) -> str | None:
        """What is wrong with it; else it is known to be there from now on."""
        write = self.writes.get(serial)
        if write is None or not write.is_possible or (key is not None and key != write.key):
            return f"message {serial} is told at {place} for {key}: it is {write}"
        if write.place is not None and write.place != place:
            return f"message {serial} is told at {place}: it is {write}"
        write.place, write.ended_ms = place, min(write.ended_ms, now_ms)
        return None

    # --- in the end --------------------------------------------------------------------------------------------------

    def last_values(self) -> dict[str, int]:
        """Of the keys that surely have one: its serial."""
        last = {}
        for key, writes in self._by_key.items():
            possible = [each for each in writes if each.is_possible]
            if possible and all(each.outcome is Outcome.OK for each in possible) and possible[-1].has_value:
                last[key] = possible[-1].serial
        return last


def _contradicting(write: Write, there: Sequence[Write]) -> Write | None:
    """Which of those that are there is surely later, so that `write` cannot be the last one."""
    return next((each for each in there if _is_surely_after(each, write)), None)


def _is_surely_after(later: Write, write: Write) -> bool:
    if later is write:
        return False
    if later.place is not None and write.place is not None and later.place[0] == write.place[0]:
        return later.place[1] > write.place[1]
    return later.outcome is write.outcome is Outcome.OK and later.serial > write.serial
