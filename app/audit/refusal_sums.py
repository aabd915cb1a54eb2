"""A flood of refusals, summed up: the first ones of a kind are told in full, and how many more came once per interval.

Pure: whoever holds it says what time it is, and asks when it has something to tell.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

OPERATIONS_MAX = 20
"""Named in one sum."""


class RefusalKind(NamedTuple):
    """Who was refused, from where, and by which problem."""

    principal: str | None
    principal_kind: str
    token_id: str
    address: str
    code: str


@dataclass(slots=True)
class RefusalSum:
    """So many of that kind that were not told in full, from `first_ms` to `last_ms`."""

    kind: RefusalKind
    first_ms: int = 0
    last_ms: int = 0
    count: int = 0
    operations: dict[str, None] = field(default_factory=dict)


@dataclass(slots=True)
class _Interval:
    ends_ms: int
    told: int
    more: RefusalSum


def everybody_else(kind: RefusalKind) -> RefusalKind:
    """What kinds are counted under that are too many."""
    return RefusalKind(None, "", "", "", kind.code)


class RefusalSums:
    """Each kind has an interval, which begins with its first refusal: `in_full_max` of these are told, and what is left
    is a sum when it ends. At most `kinds_max` have one at a time; of more of them there are only sums, together.
    """

    def __init__(self, *, interval_ms: int, in_full_max: int, kinds_max: int) -> None:
        self._interval_ms = interval_ms
        self._in_full_max = in_full_max
        self._kinds_max = kinds_max
        self._intervals: dict[RefusalKind, _Interval] = {}

    def __len__(self) -> int:
        return len(self._intervals)

    def note(self, kind: RefusalKind, operation: str, now_ms: int) -> bool:
        """Whether it is to be told in full."""
        interval = self._intervals.get(kind)
        in_full_max = self._in_full_max
        if interval is None and len(self._intervals) >= self._kinds_max:
            kind, in_full_max = everybody_else(kind), 0
            interval = self._intervals.get(kind)
        if interval is None:
            interval = self._intervals[kind] = _Interval(now_ms + self._interval_ms, 0, RefusalSum(kind, now_ms))
        if interval.told < in_full_max:
            interval.told += 1
            return True
        more = interval.more
        more.first_ms = more.first_ms if more.count else now_ms
        more.last_ms = now_ms
        more.count += 1
        if len(more.operations) < OPERATIONS_MAX:
            more.operations[operation] = None
        return False

    def next_end_ms(self) -> int | None:
        """When the next interval ends; None where none is open. All are of one length, so the oldest ends first."""
        return next((interval.ends_ms for interval in self._intervals.values()), None)

    def ended(self, now_ms: int) -> list[RefusalSum]:
        """What the intervals that have ended by now have left to tell."""
        over = [kind for kind, interval in self._intervals.items() if interval.ends_ms <= now_ms]
        return self._close(over)

    def all(self) -> list[RefusalSum]:
        """What all of them have left to tell: no more refusals come."""
        return self._close(list(self._intervals))

    def _close(self, kinds: list[RefusalKind]) -> list[RefusalSum]:
        sums = [self._intervals.pop(kind).more for kind in kinds]
        return [each for each in sums if each.count]
