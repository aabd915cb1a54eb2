"""The chooser of key-ordered groups: each key's messages in the order of the log, one run of them outstanding.

A *run* is what one answer holds of a key, in a row in the key's order. The key's next run begins when all of it is
settled; where a message of it comes back, what is behind it waits until that one is done. Messages without a key are in
no order.

What waits of a key is remembered as ranges (`waiting`), within bounds; beyond these it is known only from where on
there may be more (`unknown_from`), and that is searched for when the key may go on (`key_search`). What is remembered
may be done or out by now: who looks there is told. What must never be is something that waits below `unknown_from` and
is not remembered, or a message in the run that is not before all that waits.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from storage.delivery.candidates import NO_KEY, CandidateKind, CandidateRun
from storage.delivery.key_search import KeySearch
from storage.delivery.seeing_selection import CandidateVerdict, Choice, SeeingSelection
from storage.delivery.waiting_ranges import WaitingRanges


@dataclass(frozen=True, slots=True)
class NewKeyOrder:
    """Makes selections."""

    ranges_max: int
    ranges_of_key_max: int

    def __call__(self) -> SeeingSelection:
        return SeeingSelection(KeyOrder(ranges_max=self.ranges_max, ranges_of_key_max=self.ranges_of_key_max))


class _Key(msgspec.Struct, gc=False, eq=False):
    """`run`: what is out, ascending. `answer`: the one that all of the run was given in, and can be added to.
    `is_unseen`: what waits may have been out before there was this order, by another filter."""

    hash: int
    answer: int = 0
    waiting: WaitingRanges | None = None
    unknown_from: int | None = None
    is_unseen: bool = False
    run: dict[int, None] = msgspec.field(default_factory=dict)

    @property
    def waits_from(self) -> int | None:
        """Where the first may be that waits; None: nothing does."""
        return self.unknown_from if self.waiting is None else self.waiting.first


class KeyOrder:
    """Keys with one hash count as one key. At most `ranges_max` ranges are remembered, and `ranges_of_key_max` of a
    key, but for what comes back of a run."""

    def __init__(self, *, ranges_max: int, ranges_of_key_max: int) -> None:
        self._ranges_max = ranges_max
        self._ranges_of_key_max = ranges_of_key_max
        self._answer = 0
        self._range_count = 0
        self._keys: dict[int, _Key] = {}
        self._key_of: dict[int, _Key] = {}  # of what is out
        self._open: dict[int, _Key] = {}  # whose run is of this answer, and something is remembered that may follow
        self._sought_on: list[_Key] = []  # whose run is of this answer, and what may follow is searched for
        self._ready: dict[int, _Key] = {}  # nothing of it is out, something is remembered; the longest ready first
        self._unknown: dict[int, _Key] = {}  # of which there may be more than is remembered
        self._search: KeySearch[_Key] = KeySearch()
        self._named: _Key | None = None

    def forget(self) -> None:
        self._range_count = 0
        for places in (self._keys, self._key_of, self._open, self._ready, self._unknown):
            places.clear()
        self._sought_on.clear()
        self._search = KeySearch()
        self._named = None

    @property
    def remembered_ranges(self) -> int:
        """Of all keys."""
        return self._range_count

    # --- what the selection sees -------------------------------------------------------------------------------------

    def begin(self) -> None:
        self._answer += 1
        self._open.clear()
        self._search.is_showing = False
        if self._sought_on:
            for key in self._sought_on:
                if key.run:  # of an answer before this one, from now on
                    self._search.leave(key)
            self._sought_on.clear()

    def choose(self, run: CandidateRun) -> Choice:
        if run.key_hash == NO_KEY:
            return Choice(CandidateVerdict.LEASE, run.end)
        key = self._keys.get(run.key_hash)
        if key is None:
            return Choice(CandidateVerdict.LEASE, run.end)
        if self._is_next(key, run.start):
            return Choice(CandidateVerdict.LEASE, run.start + 1 if run.start in key.run else run.end)
        if run.start in key.run:  # it came back, and one before it is still out
            self._take_out(key, run.start)
        self._wait(key, run.start, run.end)
        return Choice(CandidateVerdict.POSTPONE, run.end)

    def leased(self, run: CandidateRun) -> None:
        if run.key_hash == NO_KEY:
            return
        key = self._key(run.key_hash)
        key_run, key_of = key.run, self._key_of
        if key.answer != self._answer:  # what came back may be the first of several: nothing follows it then
            key.answer = self._answer if len(key_run) == (run.start in key_run) else 0
        for offset in range(run.start, run.end):
            key_run[offset] = None
            key_of[offset] = key
        if key.waiting is not None:
            self._no_longer_waiting(key, key.waiting, run.start, run.end)
            if key.waiting is not None and key.hash in self._open:
                return
        elif key.unknown_from is None:
            return
        elif run.start >= key.unknown_from:
            key.unknown_from = run.end
        self._place(key)

    def met(self, run: CandidateRun) -> None:
        if run.key_hash == NO_KEY or run.kind is not CandidateKind.MESSAGE or run.start in self._key_of:
            return
        key = self._key(run.key_hash)
        key.is_unseen = True
        if (waits_from := key.waits_from) is not None and run.start > waits_from:
            self._wait(key, run.start, run.end)
            return
        key.run[run.start] = None
        self._key_of[run.start] = key
        key.answer = 0
        self._place(key)

    def done(self, start: int, end: int) -> None:
        key_of = self._key_of
        offsets = range(start, end) if end - start <= len(key_of) else [each for each in key_of if start <= each < end]
        for offset in offsets:
            key = key_of.pop(offset, None)
            if key is not None:
                del key.run[offset]
                if key.run:
                    continue
                if key.waiting is None and key.unknown_from is None:
                    del self._keys[key.hash]
                else:
                    self._place(key)

    def look_again(self) -> CandidateRun | int | None:
        key = next(iter(self._open.values()), None) or next(iter(self._ready.values()), None)
        if key is None or key.waiting is None:
            self._named = None
            return self._search.next()
        self._named = key
        start, end = key.waiting.first_range
        kind = CandidateKind.UNSEEN if key.is_unseen else CandidateKind.MESSAGE
        return CandidateRun(start, end, kind, key.hash)

    def looked_again(self, until: int | None) -> None:
        key = self._named
        if key is None:
            self._searched(until)
        elif until is not None:
            waiting = key.waiting
            if waiting is not None and waiting.first < until:  # else it was leased
                self._no_longer_waiting(key, waiting, waiting.first, until)
                self._place(key)
        elif until is None:  # the way onwards comes by
            self._forget_waiting(key)
            key.unknown_from = None
            self._place(key)

    def behind(self, offset: int) -> Sequence[int]:
        key = self._key_of.get(offset)
        if key is None:
            return ()
        key.answer = 0
        following = [each for each in key.run if each > offset]
        for each in following:
            self._take_out(key, each)
        for each in following:
            self._wait(key, each, each + 1)
        return following

    def before(self, offset: int) -> Sequence[int]:
        key = self._key_of.get(offset)
        return () if key is None else [each for each in key.run if each < offset]

    def out(self) -> Iterable[CandidateRun]:
        for key in self._keys.values():
            for offset in key.run:
                yield CandidateRun(offset, offset + 1, key_hash=key.hash)

    def may_revive(self) -> bool:
        return False

    # --- what is known of a key --------------------------------------------------------------------------------------

    def _key(self, key_hash: int) -> _Key:
        return self._keys.get(key_hash) or self._keys.setdefault(key_hash, _Key(key_hash))

    def _is_next(self, key: _Key, offset: int) -> bool:
        """Whether it is the first of the key that is not done, or follows in a row what this answer has of it."""
        if key.run and (key.answer != self._answer or offset in key.run):
            return next(iter(key.run)) == offset
        waits_from = key.waits_from
        if waits_from is None or offset <= waits_from:
            return True
        return key.waiting is None and self._search.has_shown_all(key, offset)

    def _wait(self, key: _Key, start: int, end: int) -> None:
        """Remember it, or at least from where on there is more than what is remembered."""
        unknown_from, waiting = key.unknown_from, key.waiting
        is_beyond = unknown_from is not None and start >= unknown_from
        if is_beyond and not self._search.has_shown_all(key, start):
            return
        if self._is_full(waiting) and (waiting is None or start >= waiting.end):
            if is_beyond:
                self._search.refuse(key)
            else:
                key.unknown_from = start
                self._search.begin_unknown(key)
            self._place(key)
            return
        if unknown_from is not None and end > unknown_from:
            key.unknown_from = end
        if waiting is None:
            key.waiting = WaitingRanges(start, end)
            self._range_count += 1
            self._place(key)
        else:
            self._range_count += waiting.add(start, end)

    def _is_full(self, waiting: WaitingRanges | None) -> bool:
        if self._range_count >= self._ranges_max:
            return True
        return waiting is not None and waiting.range_count >= self._ranges_of_key_max

    def _no_longer_waiting(self, key: _Key, waiting: WaitingRanges, start: int, end: int) -> None:
        self._range_count += waiting.remove(start, end)
        if not waiting.range_count:
            key.waiting = None

    def _forget_waiting(self, key: _Key) -> None:
        if key.waiting is not None:
            self._range_count -= key.waiting.range_count
            key.waiting = None

    def _take_out(self, key: _Key, offset: int) -> None:
        del key.run[offset], self._key_of[offset]

    def _place(self, key: _Key) -> None:
        """Bring the key to where its state belongs."""
        key_hash = key.hash
        is_remembered, goes_on = key.waiting is not None, key.answer == self._answer
        if key.run:
            self._ready.pop(key_hash, None)
            if is_remembered and goes_on:
                self._open[key_hash] = key
            else:
                self._open.pop(key_hash, None)
        else:
            self._open.pop(key_hash, None)
            if is_remembered:
                self._ready.setdefault(key_hash, key)
            else:
                self._ready.pop(key_hash, None)
                if key.unknown_from is None:
                    self._keys.pop(key_hash, None)
        if key.unknown_from is not None:
            self._unknown[key_hash] = key
            self._seek(key)
        elif self._unknown.pop(key_hash, None) is not None:
            self._search.leave(key)

    def _seek(self, key: _Key) -> None:
        """Have what may follow searched for, if it could go now."""
        if key.waiting is not None or (key.run and key.answer != self._answer):
            self._search.leave(key)
            return
        self._search.join(key)
        if key.run:
            self._sought_on.append(key)

    def _searched(self, until: int | None) -> None:
        if until is not None:
            self._search.shown_until(until)
            return
        found_out = [key for key in self._unknown.values() if self._search.has_shown_all(key)]
        self._search.end()
        for key in found_out:
            key.unknown_from = None
            self._place(key)
