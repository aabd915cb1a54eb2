"""A selection that looks before it leases: it shows each candidate to a chooser, which has the say.

The way it looks is the same for all: first at what came back and is due, then again at what was postponed and may go
now, then onwards from the group's cursor. Everything that is not done is met on that way, in the order of the log, so a
chooser knows who has a key before it sees the next message of that key; also after a failover, where looking begins at
the group's progress.
"""

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Protocol

import msgspec

from storage.delivery.candidates import CandidateIndex, CandidateKind, CandidateRun, WantedRange
from storage.delivery.group_state import PartitionGroupState
from storage.delivery.selection import GroupSelection, Picked
from storage.delivery.untouched import untouched_until


class CandidateVerdict(Enum):
    LEASE = "lease"
    PASS_OVER = "pass over"
    """Never for this group: done, durably, without a delivery."""
    POSTPONE = "postpone"
    """Not now: it waits, until `Chooser.look_again` names it."""


class Choice(msgspec.Struct, gc=False, eq=False):
    """Of the offsets of a run up to `until`; there is at least one."""

    verdict: CandidateVerdict
    until: int


class Chooser(Protocol):
    """What a mode or a filter wants. It is shown messages only. The first one of a run is neither done nor out; some
    behind it may be out, and are not leased then."""

    def begin(self) -> None:
        """An answer begins: what is leased from here on is given to one consumer at once."""
        ...

    def choose(self, run: CandidateRun) -> Choice:
        """What is to become of the run's first offsets."""
        ...

    def leased(self, run: CandidateRun) -> None:
        """What was just leased of what was chosen; it may be less."""
        ...

    def met(self, run: CandidateRun) -> None:
        """A message that is out, met on the way: somebody has it, or it came back and is not due. May be told of the
        same one again, whoever told of it first."""
        ...

    def done(self, start: int, end: int) -> None:
        """None of these offsets comes again."""
        ...

    def look_again(self) -> CandidateRun | int | None:
        """What was postponed and goes now: messages that are to be leased as they are known, some that are to be shown
        first (UNSEEN), or (a number) from where on all that is postponed is to be shown; None: nothing does."""
        ...

    def looked_again(self, until: int | None) -> None:
        """From what `look_again` has named up to `until` all was shown that is postponed; None: there is no more."""
        ...

    def forget(self) -> None:
        """The group has sought: nothing of before is true."""
        ...

    def behind(self, offset: int) -> Sequence[int]:
        """As for a selection. They are postponed from then on, wherever they are."""
        ...

    def before(self, offset: int) -> Sequence[int]:
        """As for a selection."""
        ...

    def out(self) -> Iterable[CandidateRun]:
        """What it knows to be with somebody, ascending for each key, where that matters to whoever chooses next."""
        ...

    def may_revive(self) -> bool:
        """As for a selection."""
        ...


class SeeingSelection:
    """Messages that nobody can read are leased as a group that does not look would: so they are tried again, reported,
    and counted. Gaps and control marks are passed over, whatever the chooser."""

    def __init__(self, chooser: Chooser) -> None:
        self._chooser = chooser

    def pick(self, state: PartitionGroupState, candidates: CandidateIndex, *, room: int, readable_end: int) -> Picked:
        look = Look(self._chooser, state, candidates, room=room, readable_end=readable_end)
        self._chooser.begin()
        wanted = look.at_returned() or look.at_postponed() or look.onwards()
        look.again.sort()
        look.fresh.sort()
        return Picked(look.again, look.fresh, look.passed_over, wanted, is_by_offset=True)

    def succeed(self, before: GroupSelection) -> None:
        if isinstance(before, SeeingSelection):
            for run in before._chooser.out():
                self._chooser.met(run)

    @property
    def is_held_back(self) -> bool:
        return False

    def done(self, start: int, end: int) -> None:
        self._chooser.done(start, end)

    def forget(self) -> None:
        self._chooser.forget()

    def behind(self, offset: int) -> Sequence[int]:
        return self._chooser.behind(offset)

    def before(self, offset: int) -> Sequence[int]:
        return self._chooser.before(offset)

    def may_revive(self) -> bool:
        return self._chooser.may_revive()


class Look:
    """One pick. Its steps say what they would have to see to go on; None where they are through, or there is no room.

    It ends: it sees no more offsets than the candidates know, each of them once or, where the chooser wants it, twice.
    """

    def __init__(
        self,
        chooser: Chooser,
        state: PartitionGroupState,
        candidates: CandidateIndex,
        *,
        room: int,
        readable_end: int,
    ) -> None:
        self.again: list[int] = []
        self.fresh: list[int] = []
        self.passed_over: list[tuple[int, int]] = []
        self._taken: set[int] = set()  # of what the cursor has passed: is to be leased, and is not yet
        self._chooser = chooser
        self._state = state
        self._candidates = candidates
        self._room = room
        self._readable_end = readable_end
        self._may_be_again = bool(state.released or state.interrupted or state.progress.retries)

    def at_postponed(self) -> WantedRange | None:
        """What has come back since, or is done, is told as such; it need not be shown."""
        state, chooser = self._state, self._chooser
        while self._room and (named := chooser.look_again()) is not None:
            start = named if isinstance(named, int) else named.start
            until: int | None
            if start >= state.cursor:
                until = None
            elif (until := state.passed_until(start)) is None:
                run = self._candidates.run_at(start, state.cursor) if isinstance(named, int) else self._seen(named)
                if isinstance(run, WantedRange):
                    return run
                until = self._see(run, is_chosen=run is named)
            chooser.looked_again(until)
        return None

    def _seen(self, named: CandidateRun) -> CandidateRun | WantedRange:
        return self._candidates.run_at(named.start, named.end) if named.kind is CandidateKind.UNSEEN else named

    def at_returned(self) -> WantedRange | None:
        """What is at the readable end or above was given out when that was further on, and waits until it is again."""
        held: list[int] = []
        try:
            return self._at_returned(held)
        finally:
            for offset in reversed(held):
                self._state.returns.put_first(offset)

    def _at_returned(self, held: list[int]) -> WantedRange | None:
        state = self._state
        while self._room and (offset := state.returns.pop()) is not None:
            if offset in state.pending or offset >= state.cursor:
                continue  # an abort puts it back; the way onwards comes by
            if offset >= self._readable_end:
                held.append(offset)
                continue
            run = self._candidates.run_at(offset, min(offset + 1, self._readable_end))
            if isinstance(run, WantedRange):
                state.returns.put_first(offset)
                return run
            self._choose(run)
        return None

    def onwards(self, *, until: int | None = None) -> WantedRange | None:
        state, end = self._state, self._readable_end if until is None else until
        if state.is_returned_full or state.is_full_of_holes:
            return None
        skipping_max = state.bounds.candidate_runs_max
        while self._room and (offset := state.cursor) < end and state.skipping.range_count < skipping_max:
            is_known = offset < state.ahead_until
            if is_known and (passed_until := state.passed_until(offset)) is not None:
                state.cursor = passed_until
                continue
            run = self._candidates.run_at(offset, end)
            if isinstance(run, WantedRange):
                return run
            if is_known:
                state.cursor = self._see(self._known_part(run))
            else:
                state.cursor = self._choose(run)
        return None

    def _known_part(self, run: CandidateRun) -> CandidateRun:
        """What the group knows differs from message to message; of a long run that is nobody's it is looked for at
        once."""
        if run.kind is CandidateKind.MESSAGE or self._state.is_out(run.start):
            return run.part(run.start, run.start + 1)
        return run.part(run.start, untouched_until(self._state, run.start, run.end))

    def _see(self, run: CandidateRun, *, is_chosen: bool = False) -> int:
        """Returns up to where something became of the run."""
        if run.start in self._taken:
            return run.start + 1
        if self._state.is_out(run.start):
            self._chooser.met(run.part(run.start, run.start + 1))
            return run.start + 1
        return self._lease(run) if is_chosen else self._choose(run)

    def _choose(self, run: CandidateRun) -> int:
        """See a run of which the first message is free, and do what is chosen. Returns up to where that is."""
        verdict, until = CandidateVerdict.PASS_OVER, run.end
        if run.kind is CandidateKind.MESSAGE:
            choice = self._chooser.choose(run)
            verdict, until = choice.verdict, choice.until
        elif run.kind is CandidateKind.UNREADABLE:
            verdict = CandidateVerdict.LEASE
        if verdict is CandidateVerdict.LEASE:
            return self._lease(run if until == run.end else run.part(run.start, until))
        state = self._state
        if verdict is CandidateVerdict.POSTPONE:
            state.postpone(run.start)
        else:
            self.pass_over(run.start, until)
        return until

    def pass_over(self, start: int, until: int) -> None:
        """For good."""
        self._state.skipping.add(start, until)
        start = self.passed_over.pop()[0] if self._ends_with(start) else start
        self.passed_over.append((start, until))

    def _ends_with(self, offset: int) -> bool:
        return bool(self.passed_over) and self.passed_over[-1][1] == offset

    def _lease(self, run: CandidateRun) -> int:
        """Up to the first one that is done or out: these are not in a row with the others."""
        state, start = self._state, run.start
        end = min(run.end, start + self._room)
        if start >= state.cursor and start >= state.ahead_until:
            self.fresh.extend(range(start, end))
        else:
            end = self._take(start, end)
        self._room -= end - start
        if run.kind is CandidateKind.MESSAGE:
            self._chooser.leased(run if end == run.end else run.part(start, end))
        return end

    def _take(self, start: int, end: int) -> int:
        offset = start
        while offset < end and (offset == start or self._is_free(offset)):
            is_again = self._may_be_again and self._state.is_tracked(offset)
            (self.again if is_again else self.fresh).append(offset)
            self._taken.add(offset)
            offset += 1
        return offset

    def _is_free(self, offset: int) -> bool:
        state = self._state
        return not (offset in self._taken or state.is_out(offset) or state.passed_until(offset))
