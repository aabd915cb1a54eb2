"""A selection that looks before it leases: it shows each candidate to a chooser, which has the say.

The way it looks is the same for all: first again at what was postponed and may go now, then at what came back and is
due, then onwards from the group's cursor. Everything that is not done is met on that way, in the order of the log, so a
chooser knows who has a key before it sees the next message of that key; also after a failover, where looking begins at
the group's progress.
"""

from enum import Enum
from typing import NamedTuple, Protocol

from storage.delivery.candidates import CandidateIndex, CandidateKind, CandidateRun, WantedRange
from storage.delivery.group_state import PartitionGroupState
from storage.delivery.selection import Picked


class CandidateVerdict(Enum):
    LEASE = "lease"
    PASS_OVER = "pass over"
    """Never for this group: done, durably, without a delivery."""
    POSTPONE = "postpone"
    """Not now: it waits, until `Chooser.look_again` names it."""


class Choice(NamedTuple):
    """Of the offsets of a run up to `until`; there is at least one."""

    verdict: CandidateVerdict
    until: int


class Chooser(Protocol):
    """What a mode or a filter wants. It is shown messages only, and neither one that is done nor one that is out."""

    def choose(self, run: CandidateRun) -> Choice:
        """What is to become of the run's first offsets. What is leased of them is told to `held`; that may be less."""
        ...

    def held(self, run: CandidateRun) -> None:
        """Somebody has these, or they were given back and are not due: leased just now, or met on the way. May be told
        of the same offsets again."""
        ...

    def done(self, start: int, end: int) -> None:
        """None of these offsets comes again."""
        ...

    def look_again(self) -> int | None:
        """From which offset on something postponed may go now; None: nothing does."""
        ...

    def looked_again(self, until: int | None) -> None:
        """From what `look_again` has named up to `until` all was shown that is postponed; None: there is no more."""
        ...

    def forget(self) -> None:
        """The group has sought: nothing of before is true."""
        ...


class SeeingSelection:
    """Messages that nobody can read are leased as a group that does not look would: so they are tried again, reported,
    and counted. Gaps and control marks are passed over, whatever the chooser."""

    def __init__(self, chooser: Chooser) -> None:
        self._chooser = chooser

    def pick(self, state: PartitionGroupState, candidates: CandidateIndex, *, room: int, readable_end: int) -> Picked:
        look = Look(self._chooser, state, candidates, room=room, readable_end=readable_end)
        wanted = look.at_postponed() or look.at_returned() or look.onwards()
        return Picked(look.again, look.fresh, look.passed_over, wanted)

    @property
    def is_held_back(self) -> bool:
        return False

    def done(self, start: int, end: int) -> None:
        self._chooser.done(start, end)

    def forget(self) -> None:
        self._chooser.forget()


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
        self._chooser = chooser
        self._state = state
        self._candidates = candidates
        self._room = room
        self._readable_end = readable_end

    def at_postponed(self) -> WantedRange | None:
        state, chooser = self._state, self._chooser
        while self._room and (start := chooser.look_again()) is not None:
            found = state.postponed.range_from(start)
            if found is None:
                chooser.looked_again(None)
                continue
            run = self._candidates.run_at(found[0], min(found[1], self._readable_end))
            if isinstance(run, WantedRange):
                return run
            chooser.looked_again(self._choose(run))
        return None

    def at_returned(self) -> WantedRange | None:
        state = self._state
        while self._room and (offset := state.returns.pop()) is not None:
            if offset in state.pending or offset >= state.cursor:
                continue  # an abort puts it back; the way onwards comes by
            run = self._candidates.run_at(offset, min(offset + 1, self._readable_end))
            if isinstance(run, WantedRange):
                state.returns.put_first(offset)
                return run
            self._choose(run)
        return None

    def onwards(self, *, until: int | None = None) -> WantedRange | None:
        state, end = self._state, self._readable_end if until is None else until
        while self._room and state.cursor < end and not self._is_full():
            passed_until = state.progress.done_above.end_of(state.cursor) or state.skipping.end_of(state.cursor)
            if passed_until is not None:
                state.cursor = passed_until
                continue
            run = self._candidates.run_at(state.cursor, end)
            if isinstance(run, WantedRange):
                return run
            if state.cursor < state.ahead_until:
                run = run.part(run.start, run.start + 1)  # what the group knows differs from message to message
            if self._is_out(run.start):
                self._chooser.held(run)
                state.cursor = run.end
            else:
                state.cursor = self._choose(run)
        return None

    def _is_full(self) -> bool:
        state = self._state
        is_skipping_full = state.skipping.range_count >= state.bounds.candidate_runs_max
        return state.is_returned_full or state.is_postponed_full or is_skipping_full

    def _is_out(self, offset: int) -> bool:
        state = self._state
        if offset in state.leases.by_offset or offset in state.pending or offset in state.returns:
            return True
        return offset in state.dead_letters

    def _choose(self, run: CandidateRun) -> int:
        """See a run that is free, and do what is chosen. Returns up to where that is."""
        verdict, until = CandidateVerdict.PASS_OVER, run.end
        if run.kind is CandidateKind.MESSAGE:
            verdict, until = self._chooser.choose(run)
        elif run.kind is CandidateKind.UNREADABLE:
            verdict = CandidateVerdict.LEASE
        if verdict is CandidateVerdict.LEASE:
            return self._lease(run.part(run.start, min(until, run.start + self._room)))
        state = self._state
        if verdict is CandidateVerdict.POSTPONE:
            state.postponed.add(run.start, until)
        else:
            state.postponed.remove(run.start, until)
            state.skipping.add(run.start, until)
            start = self.passed_over.pop()[0] if self._ends_with(run.start) else run.start
            self.passed_over.append((start, until))
        return until

    def _ends_with(self, offset: int) -> bool:
        return bool(self.passed_over) and self.passed_over[-1][1] == offset

    def _lease(self, run: CandidateRun) -> int:
        state = self._state
        for offset in range(run.start, run.end):
            is_again = offset in state.released or offset in state.progress.retries
            (self.again if is_again else self.fresh).append(offset)
        state.postponed.remove(run.start, run.end)
        self._room -= run.end - run.start
        if run.kind is CandidateKind.MESSAGE:
            self._chooser.held(run)
        return run.end
