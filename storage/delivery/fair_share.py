"""Fair among keys: a key takes its share of what is in flight, and no more while others wait.

The selection looks ahead of what it leases, over messages that wait in front of others, and gives each turn to the key
that has least in flight (`KeysInTurn`). How far it looks is bounded, in memory by `look_ahead_ranges_max` entries of
what waits, and in time by `looks_per_pick_max` batches before it leases from what it has seen. Where all messages are
of one key it leases them as they come, at full speed.

Where a group is fair by a header, its value is what is called the key here: the candidates say so.

What is in flight of a key is counted along with the leases and made from them (rule R30): in a group that is set to
read so, what was leased before is looked at first, wherever it is, as it counts against the limit of its key.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from acklog.wire import limits
from storage.delivery.candidates import NO_KEY, CandidateIndex, CandidateKind, CandidateRun, WantedRange
from storage.delivery.group_state import PartitionGroupState
from storage.delivery.keys_in_turn import KeysInTurn
from storage.delivery.leases import LeaseTable
from storage.delivery.seeing_selection import CandidateVerdict, Choice, Look
from storage.delivery.selection import GroupSelection, Picked

LOOKS_PER_PICK_MAX = 12
"""Batches that are looked at in a row before what is known is leased; fewer than `looks_per_receive_max`."""


@dataclass(frozen=True, slots=True)
class NewFairShare:
    """Makes selections. `in_flight_per_key_max` None: no limit beside the share. `header`: whose value stands for the
    key; what one selection knows of keys says nothing to one that goes by something else."""

    in_flight_per_key_max: int | None = None
    header: str | None = None

    def __call__(self) -> "FairShare":
        return FairShare(self.in_flight_per_key_max)


class FairShare:
    """A group's selection. All messages without a key together have one share (who left it out to get more
    would else be the noisiest), and no limit per key.

    Every message that is postponed in the group's state waits in `_keys`; what waits there and is not postponed any
    more (somebody settled it meanwhile) is void. `_key_of` has the messages that are in flight or were given back,
    until they are done; of those, `_picked` are counted and not granted yet. An old receipt may revive, by an extend, a
    message that nobody has seen here: it counts once it is met.
    """

    def __init__(self, in_flight_per_key_max: int | None) -> None:
        self._in_flight_max = in_flight_per_key_max or limits.IN_FLIGHT_MAX + 1
        self._keys = KeysInTurn()
        self._key_of: dict[int, int] = {}
        self._picked: set[int] = set()
        self._leases = LeaseTable()
        self._leased_before: list[int] | None = None  # and not met yet; None: nobody has asked anything here
        self._looks = 0

    # --- what a group asks of its selection ---------------------------------------------------------------------------

    def pick(self, state: PartitionGroupState, candidates: CandidateIndex, *, room: int, readable_end: int) -> Picked:
        self._leases = state.leases
        state.leases.tell(self)
        unknown = self._meet_leased_before(candidates, readable_end)
        if unknown is not None:
            return Picked((), (), (), unknown)
        look = Look(_Queue(self), state, candidates, room=room, readable_end=readable_end)
        wanted = self._take_back(look, state, candidates, room, readable_end)
        if wanted is None:
            wanted = self._look_ahead(look, state, readable_end)
        if wanted is not None and not (look.fresh or look.again) and self._looks < LOOKS_PER_PICK_MAX:
            self._looks += 1
            return Picked((), (), look.passed_over, wanted)
        self._looks = 0
        again, fresh = self._lease(state, room - len(look.again) - len(look.fresh))
        return Picked(look.again + again, look.fresh + fresh, look.passed_over, wanted)

    def succeed(self, before: GroupSelection) -> None:
        """What is out is met on the way; a key that the filter of now hides has no share of it."""

    def done(self, start: int, end: int) -> None:
        """Costs as much as the smaller of the range and what is known."""
        known = self._key_of
        offsets: Sequence[int] = range(start, end)
        if end - start > len(known):
            offsets = [offset for offset in known if start <= offset < end]
        leased = self._leases.by_offset
        ended: dict[int, int] = {}
        for offset in offsets:
            key = known.pop(offset, None)
            if key is not None and offset in leased:
                ended[key] = ended.get(key, 0) + 1
        for key, count in ended.items():
            self._keys.count(key, -count)

    def forget(self) -> None:
        self._keys = KeysInTurn()
        self._key_of.clear()
        self._picked.clear()
        self._looks = 0

    def behind(self, offset: int) -> Sequence[int]:
        return ()

    def before(self, offset: int) -> Sequence[int]:
        return ()

    def may_revive(self) -> bool:
        return True

    @property
    def is_held_back(self) -> bool:
        """Messages wait, and the limit per key keeps all of them from being leased."""
        if not self._keys.waiting_count:
            return False
        return self._keys.next_key(in_flight_max=self._in_flight_max, unlimited=NO_KEY) is None

    def is_at_limit(self, key: int) -> bool:
        """Whether as much of the key is in flight as may be."""
        return key != NO_KEY and self._keys.in_flight.get(key, 0) >= self._in_flight_max

    # --- what waits ---------------------------------------------------------------------------------------------------

    def wait(self, run: CandidateRun) -> None:
        """Seen, and it waits for its turn."""
        self._keys.wait(run.key_hash, run.start, run.end)

    def met(self, offset: int, key: int) -> None:
        """Somebody has this one, or it was given back and is not due."""
        if offset not in self._key_of:
            self._key_of[offset] = key
            if offset in self._leases.by_offset:
                self._keys.count(key, 1)

    def _meet_leased_before(self, candidates: CandidateIndex, readable_end: int) -> WantedRange | None:
        """What another selection has leased, when the group was set to read otherwise: a limit per key that did not
        know of it would be passed."""
        if self._leased_before is None:
            self._leased_before = sorted(self._leases.by_offset, reverse=True)
        while self._leased_before:
            offset = self._leased_before[-1]
            if offset in self._leases.by_offset:
                run = candidates.run_at(offset, readable_end)
                if isinstance(run, WantedRange):
                    return run
                if run.kind is not CandidateKind.FILTERED_OUT:  # that is seen when it comes back
                    self.met(offset, run.key_hash)
            self._leased_before.pop()
        return None

    def _look_ahead(self, look: Look, state: PartitionGroupState, readable_end: int) -> WantedRange | None:
        """No further than there is memory for, where each message were an entry of its own."""
        ranges_max = state.bounds.look_ahead_ranges_max
        while (left := ranges_max - self._keys.range_count) > 0 and state.cursor < readable_end:
            before = state.cursor
            wanted = look.onwards(until=min(readable_end, before + left))
            if wanted is not None or state.cursor == before:
                return wanted
        return None

    def _take_back(
        self, look: Look, state: PartitionGroupState, candidates: CandidateIndex, room: int, readable_end: int
    ) -> WantedRange | None:
        """What came back and is due is first of its key. What is at or above the cursor is met there. One that was
        never seen here is seen now: it may have been given by another filter."""
        wanted: WantedRange | None = None
        came_back = [offset for offset in state.take_returned(room) if offset < state.cursor]
        for offset in reversed(came_back):
            if offset not in self._key_of:
                run = candidates.run_at(offset, min(offset + 1, readable_end))
                if isinstance(run, WantedRange):
                    state.returns.put_first(offset)
                    wanted = run
                    continue
                if run.kind is CandidateKind.FILTERED_OUT:
                    look.pass_over(offset, offset + 1)
                    continue
                self._key_of[offset] = run.key_hash
            state.postpone(offset)
            self._keys.wait_first(self._key_of[offset], offset)
        return wanted

    # --- leases -------------------------------------------------------------------------------------------------------

    def _lease(self, state: PartitionGroupState, room: int) -> tuple[list[int], list[int]]:
        again: list[int] = []
        fresh: list[int] = []
        keys, limit = self._keys, self._in_flight_max
        may_be_again = bool(state.released or state.progress.retries)
        while room > 0 and (key := keys.next_key(in_flight_max=limit, unlimited=NO_KEY)) is not None:
            count = 1
            if keys.waiting_count == 1:
                count = room if key == NO_KEY else min(room, limit - keys.in_flight.get(key, 0))
            taken = 0
            for offsets in self._still_postponed(state, keys.take(key, count)):
                self._key_of.update(dict.fromkeys(offsets, key))
                self._picked.update(offsets)
                taken += len(offsets)
                if not may_be_again:
                    fresh.extend(offsets)
                    continue
                for offset in offsets:
                    is_again = offset in state.released or offset in state.progress.retries
                    (again if is_again else fresh).append(offset)
            if taken:
                keys.had_its_turn(key)
                keys.count(key, taken)
                room -= taken
        return again, fresh

    def _still_postponed(self, state: PartitionGroupState, waiting: range) -> Iterator[range]:
        """What of it nobody has settled meanwhile, and is not picked already."""
        for offsets in state.postponed_within(waiting):
            if self._picked.isdisjoint(offsets):
                yield offsets
            else:
                yield from (range(each, each + 1) for each in offsets if each not in self._picked)

    def granted(self, offsets: Sequence[int]) -> None:
        """As the listener of the leases: an extend grants anew what it ended before."""
        picked = self._picked
        for offset in offsets:
            if offset in picked:
                picked.remove(offset)
            elif (key := self._key_of.get(offset)) is not None:
                self._keys.count(key, 1)

    def ended(self, offset: int) -> None:
        key = self._key_of.get(offset)
        if key is not None:
            self._keys.count(key, -1)

    def check_invariants(self, state: PartitionGroupState) -> None:
        """Raises AssertionError. Costs as much as there is in flight."""
        self._keys.check_invariants()
        counted: dict[int, int] = {}
        for offset in state.leases.by_offset:
            key = self._key_of.get(offset)
            if key is not None:
                counted[key] = counted.get(key, 0) + 1
        assert counted == self._keys.in_flight, "what is in flight of a key is miscounted"


class _Queue:
    """The chooser that puts what it sees where it waits for its turn."""

    def __init__(self, share: FairShare) -> None:
        self._share = share

    def begin(self) -> None:
        pass

    def choose(self, run: CandidateRun) -> Choice:
        self._share.wait(run)
        return Choice(CandidateVerdict.POSTPONE, run.end)

    def leased(self, run: CandidateRun) -> None:
        pass

    def met(self, run: CandidateRun) -> None:
        if run.kind is CandidateKind.FILTERED_OUT:
            return  # when it comes back it is seen
        for offset in range(run.start, run.end):
            self._share.met(offset, run.key_hash)

    def done(self, start: int, end: int) -> None:
        pass

    def look_again(self) -> int | None:
        return None

    def looked_again(self, until: int | None) -> None:
        pass

    def forget(self) -> None:
        pass

    def behind(self, offset: int) -> Sequence[int]:
        return ()

    def before(self, offset: int) -> Sequence[int]:
        return ()

    def out(self) -> Iterable[CandidateRun]:
        return ()

    def may_revive(self) -> bool:
        return True
