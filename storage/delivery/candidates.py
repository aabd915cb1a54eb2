"""What delivery sees of a partition's messages: a bounded index of what is at which offset.

Runs of offsets that are alike, as far as a group's selection may care: kind, key and tags. The index holds parts of the
log, wherever groups look just now, and forgets those that nobody has looked at for longest. What it does not know it
asks for (`WantedRange`): its host reads that, feeds it, and asks the group again. So a group streams through a backlog
of any depth, and a partition whose groups need not look costs nothing.
"""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

import msgspec

from acklog.wire.partitioner import hash_of_key
from acklog.wire.record import Record, tag_bit

NO_KEY = -1
_REMOVED = -2
_NO_HEADERS: dict[str, str] = {}


class CandidateKind(IntEnum):
    MESSAGE = 0
    CONTROL = 1
    """A mark of the log itself (the end of a transaction): nobody's message."""
    GAP = 2
    """Nothing is there any more: compaction removed it."""
    UNREADABLE = 3
    """Damaged: what it is nobody can tell."""
    FILTERED_OUT = 4
    """A message that the filter does not match which the index is for."""
    UNSEEN = 5
    """Messages that a selection knows of from one before it: what they are is to be looked up. In no index."""


class CandidateRun(msgspec.Struct, frozen=True, gc=False):
    """Offsets from `start` to `end` (exclusive) that are alike. Keys with one hash count as one key; where the index is
    for groups that are fair by a header, that one's value stands for the key. `tag_bits` are those of
    `acklog.wire.record.tag_bit`: a zero bit proves that there is no such tag."""

    start: int
    end: int
    kind: CandidateKind = CandidateKind.MESSAGE
    key_hash: int = NO_KEY
    tag_bits: int = 0

    def part(self, start: int, end: int) -> "CandidateRun":
        """What of it lies from `start` to `end`."""
        if start <= self.start and end >= self.end:
            return self
        return CandidateRun(max(start, self.start), min(end, self.end), self.kind, self.key_hash, self.tag_bits)


class WantedRange(NamedTuple):
    """Nothing is known from `start` on: feed that, as far as it is at hand, and no further than `end`."""

    start: int
    end: int


class _Part(msgspec.Struct, gc=False, eq=False):
    """A piece of the log without a hole in what is known: its runs follow one another. Its length never changes."""

    start: int
    end: int
    starts: list[int]
    runs: Sequence[CandidateRun]


_NOWHERE = _Part(0, 0, [], [])


class CandidateIndex:
    """Of one partition, for all its groups. It never holds more than `runs_max` runs."""

    def __init__(self, *, runs_max: int) -> None:
        self.run_count = 0
        self._runs_max = runs_max
        self._starts: list[int] = []
        self._parts: OrderedDict[int, _Part] = OrderedDict()  # by start, the longest unused first
        self._newest = _NOWHERE  # the last one of them: who looks mostly looks on where he was

    def run_at(self, offset: int, end: int) -> CandidateRun | WantedRange:
        """What is alike from `offset` on, up to `end` at most; or that this is not known."""
        part = self._newest
        if not part.start <= offset < part.end:
            at = bisect_right(self._starts, offset) - 1
            found = self._parts[self._starts[at]] if at >= 0 else _NOWHERE
            if offset >= found.end:
                following = self._starts[at + 1] if at + 1 < len(self._starts) else end
                return WantedRange(offset, min(following, end))
            part = self._newest = found
            self._parts.move_to_end(part.start)
        run = part.runs[bisect_right(part.starts, offset) - 1]
        return run if run.start == offset and run.end <= end else run.part(offset, end)

    def feed(self, start: int, end: int, runs: Sequence[CandidateRun]) -> None:
        """The log was read from `start` to `end`. `runs` ascend; what none of them covers is not in the log.

        What is known already stays, and what is more than the index may hold is left out at the end.
        """
        at = bisect_right(self._starts, start) - 1
        if at >= 0:
            start = max(start, self._parts[self._starts[at]].end)
        if at + 1 < len(self._starts):
            end = min(end, self._starts[at + 1])
        if start >= end:
            return
        starts = [run.start for run in runs]
        if [*starts, end] == [start, *[run.end for run in runs]] and len(runs) <= self._runs_max:
            fed = runs  # as mostly: the whole of a batch
        else:
            fed = list(_without_holes(start, end, runs))[: self._runs_max]
            starts = [run.start for run in fed]
        self._starts.insert(at + 1, start)
        self._newest = self._parts[start] = _Part(start, fed[-1].end, starts, fed)
        self.run_count += len(fed)
        while self.run_count > self._runs_max:
            forgotten, part = self._parts.popitem(last=False)
            del self._starts[bisect_right(self._starts, forgotten) - 1]
            self.run_count -= len(part.runs)


def runs_of(base_offset: int, records: Iterable[Record | None], *, header: str | None = None) -> list[CandidateRun]:
    """The messages of a batch, from its first one on; gaps where one was removed. With a `header` its value stands for
    the key."""
    runs: list[CandidateRun] = []
    start, key_hash, tag_bits = base_offset, NO_KEY, 0
    offset = base_offset
    for offset, record in enumerate(records, base_offset):
        if record is None:
            its_key, its_bits = _REMOVED, 0
        else:
            key = record.key if header is None else (record.headers or _NO_HEADERS).get(header)
            its_key = NO_KEY if key is None else hash_of_key(key)
            its_bits = _bits_of(record.tags) if record.tags else 0
        if its_key != key_hash or its_bits != tag_bits:
            if offset > start:
                runs.append(_run(start, offset, key_hash, tag_bits))
            start, key_hash, tag_bits = offset, its_key, its_bits
    runs.append(_run(start, offset + 1, key_hash, tag_bits))
    return runs


def _run(start: int, end: int, key_hash: int, tag_bits: int) -> CandidateRun:
    if key_hash == _REMOVED:
        return CandidateRun(start, end, CandidateKind.GAP)
    return CandidateRun(start, end, CandidateKind.MESSAGE, key_hash, tag_bits)


def _bits_of(tags: Iterable[str]) -> int:
    bits = 0
    for tag in tags:
        bits |= tag_bit(tag)
    return bits


def _without_holes(start: int, end: int, runs: Iterable[CandidateRun]) -> Iterator[CandidateRun]:
    """`runs` from `start` to `end`, and gaps between them."""
    position = start
    for run in runs:
        if run.end <= position:
            continue
        if run.start >= end:
            break
        if run.start > position:
            yield CandidateRun(position, run.start, CandidateKind.GAP)
            position = run.start
        yield run if run.start == position and run.end <= end else run.part(position, end)
        position = min(run.end, end)
    if position < end:
        yield CandidateRun(position, end, CandidateKind.GAP)
