"""How a group chooses among what it may have: the strategy of its mode.

A selection picks what is leased next, and says what is passed over for good and what it would have to see first. It
keeps what it knows of keys and the like for itself: all of that can be made anew by looking again from the group's
progress on, as a new leader does.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from storage.delivery.candidates import CandidateIndex, WantedRange
from storage.delivery.group_state import PartitionGroupState


class Picked(msgspec.Struct, gc=False):
    """`again` came back before, `fresh` was never given; both are to be leased. Ranges that were `passed_over` are to
    be recorded. `wanted` is why it could not go on. `is_by_offset`: they go out in the order of the log; else what came
    back goes first."""

    again: Sequence[int] = ()
    fresh: Sequence[int] = ()
    passed_over: Sequence[tuple[int, int]] = ()
    wanted: WantedRange | None = None
    is_by_offset: bool = False


class GroupSelection(Protocol):
    """Of one group in one partition."""

    def pick(self, state: PartitionGroupState, candidates: CandidateIndex, *, room: int, readable_end: int) -> Picked:
        """Take up to `room` messages below `readable_end` out of where they wait."""
        ...

    def succeed(self, before: "GroupSelection") -> None:
        """Take over from one with other terms what nobody can see any more: the key of a message that is out, where the
        filter of now hides it."""
        ...

    @property
    def is_held_back(self) -> bool:
        """Messages wait that a limit of the selection's own keeps from being leased, and no others."""
        ...

    def done(self, start: int, end: int) -> None:
        """None of these offsets comes again: acknowledged, dead-lettered, passed over or lost to retention."""
        ...

    def forget(self) -> None:
        """The group has sought: nothing of before is true."""
        ...

    def behind(self, offset: int) -> Sequence[int]:
        """What is out and may not be with anybody once this message has come back: it waits until this one is done."""
        ...

    def before(self, offset: int) -> Sequence[int]:
        """What is out and has to be done before this message, ascending: where that runs out at the same moment, it
        alone is an attempt."""
        ...

    def may_revive(self) -> bool:
        """Whether a lease that ran out can be taken up again by whoever had it. Where there is an order, what ran out
        is waited for anew."""
        ...


NewSelection = Callable[[], GroupSelection]
"""Makes one that has seen nothing yet. Those that compare equal make the same."""


class SharedSelection:
    """Mode `shared`: what came back and is due, the longest due first, then whatever follows. It never looks, so it is
    for logs of which every offset is a message."""

    def pick(self, state: PartitionGroupState, candidates: CandidateIndex, *, room: int, readable_end: int) -> Picked:
        again = state.take_returned(room) if state.returns.has_ready else ()
        if len(again) == room or state.is_returned_full:
            return Picked(again)
        return Picked(again, state.take_fresh(room - len(again), readable_end))

    def succeed(self, before: GroupSelection) -> None:
        pass

    @property
    def is_held_back(self) -> bool:
        return False

    def done(self, start: int, end: int) -> None:
        pass

    def forget(self) -> None:
        pass

    def behind(self, offset: int) -> Sequence[int]:
        return ()

    def before(self, offset: int) -> Sequence[int]:
        return ()

    def may_revive(self) -> bool:
        return True
