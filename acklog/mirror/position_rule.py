"""Whether a group of the target is moved to where its namesake of the source is. Without I/O.

A mirror moves only what it has put there itself. As soon as a consumer of the target has begun, the place is the
consumer's: it is never moved again, neither back nor forward.
"""

from enum import StrEnum
from typing import NamedTuple

from acklog.catalog import PartitionProgress

MARK = "acklog-mirror"
"""The `metadata` of positions that mirrors commit."""


class Stays(StrEnum):
    """Why a group is left where it is."""

    IS_THERE = "isThere"
    """It is where it should be, or further: the source's group was sent back, which is not followed."""
    HAS_BEGUN = "hasBegun"
    """A consumer of the target has begun to read."""
    NOT_KNOWN = "notKnown"
    """Nothing of the partition is copied yet, or the group is behind what the mirror remembers of the mapping."""


class PositionMove(NamedTuple):
    """Everything below `offset` is done; `expected` is where the group is now, None where it is nowhere."""

    offset: int
    expected: int | None


def decide_position(translated: int | None, here: PartitionProgress | None) -> PositionMove | Stays:
    """`translated` is the source's group's progress as an offset of the target; `here` is where the target's group is,
    None where it has not read the partition."""
    if translated is None:
        return Stays.NOT_KNOWN
    if here is None or here.progress is None:
        return PositionMove(translated, None) if here is None else Stays.NOT_KNOWN
    if not _is_ours(here):
        return Stays.HAS_BEGUN
    return PositionMove(translated, here.progress) if translated > here.progress else Stays.IS_THERE


def _is_ours(here: PartitionProgress) -> bool:
    committed = here.committed
    if committed is None or committed.metadata != MARK or here.in_flight or here.done_above or here.delayed:
        return False
    # Retention of the target may have taken it further than we have put it.
    return here.progress in {committed.offset, here.log_start}
