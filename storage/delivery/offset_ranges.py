"""A set of offsets kept as ranges: sorted, disjoint, never adjacent.

Two levels: chunks of at most `2 * _CHUNK_RANGES` ranges, found by bisection over each chunk's first start. An addition
costs two bisections and moves at most one chunk, so a hundred thousand holes in random order stay cheap, where one
flat list would move them all each time.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

_CHUNK_RANGES = 256


class OffsetRanges:
    """Ranges are half-open: (start, end) holds start <= offset < end."""

    __slots__ = ("_ends", "_firsts", "_starts", "offset_count", "range_count")

    def __init__(self) -> None:
        self.offset_count = 0
        self.range_count = 0
        self._starts: list[list[int]] = []
        self._ends: list[list[int]] = []
        self._firsts: list[int] = []

    def __contains__(self, offset: int) -> bool:
        return self.end_of(offset) is not None

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for starts, ends in zip(self._starts, self._ends, strict=True):
            yield from zip(starts, ends, strict=True)

    @property
    def end(self) -> int:
        """The end of the last range; 0 where there is none."""
        return self._ends[-1][-1] if self._ends else 0

    @property
    def first(self) -> int:
        """The lowest offset. Raises IndexError where there is none."""
        return self._firsts[0]

    def end_of(self, offset: int) -> int | None:
        """The end of the range that holds `offset`."""
        chunk = bisect_right(self._firsts, offset) - 1
        if chunk < 0:
            return None
        end = self._ends[chunk][bisect_right(self._starts[chunk], offset) - 1]
        return end if end > offset else None

    def next_start(self, offset: int) -> int | None:
        """The start of the first range that begins at `offset` or after it."""
        chunk = bisect_right(self._firsts, offset) - 1
        if chunk >= 0:
            starts = self._starts[chunk]
            at = bisect_left(starts, offset)
            if at < len(starts):
                return starts[at]
        return self._firsts[chunk + 1] if chunk + 1 < len(self._firsts) else None

    def range_from(self, offset: int) -> tuple[int, int] | None:
        """What is left, from `offset` on, of the range that holds it; else the first range behind it."""
        end = self.end_of(offset)
        if end is not None:
            return offset, end
        start = self.next_start(offset)
        return None if start is None else (start, self.end_of(start) or start)

    def count_below(self, offset: int) -> int:
        """How many offsets below `offset` are in the set."""
        count = 0
        for start, end in self:
            if start >= offset:
                break
            count += min(end, offset) - start
        return count

    def add(self, start: int, end: int) -> None:
        """Add every offset of a range, which may overlap what is there. Raises ValueError for an empty range."""
        if end <= start:
            raise ValueError(f"the range [{start}, {end}) is empty")
        chunk = bisect_right(self._firsts, start) - 1
        if chunk < 0:
            chunk = at = 0
            self._insert(chunk, at, start)
        else:
            at = bisect_right(self._starts[chunk], start) - 1
            known_end = self._ends[chunk][at]
            if known_end >= end:
                return
            if known_end < start:
                at += 1
                self._insert(chunk, at, start)
        self._grow(chunk, at, end)
        if len(self._starts[chunk]) > 2 * _CHUNK_RANGES:
            self._split(chunk)

    def remove(self, start: int, end: int) -> None:
        """Remove every offset of a range, as far as it is there."""
        chunk = max(bisect_right(self._firsts, start) - 1, 0)
        while chunk < len(self._starts) and self._firsts[chunk] < end:
            starts, ends = self._starts[chunk], self._ends[chunk]
            low, high = bisect_right(ends, start), bisect_left(starts, end)
            if low < high:
                around = ((starts[low], start), (end, ends[high - 1]))
                kept = [(first, last) for first, last in around if first < last]
                self._forget(chunk, low, high)
                starts[low:high] = [first for first, _ in kept]
                ends[low:high] = [last for _, last in kept]
                self.range_count += len(kept)
                self.offset_count += sum(last - first for first, last in kept)
            if not starts:
                del self._starts[chunk], self._ends[chunk], self._firsts[chunk]
                continue
            self._firsts[chunk] = starts[0]
            if len(starts) > 2 * _CHUNK_RANGES:
                self._split(chunk)
            chunk += 1

    def remove_below(self, offset: int) -> None:
        """Remove every offset below `offset`."""
        keep = max(bisect_right(self._firsts, offset) - 1, 0)
        for chunk in range(keep):
            self._forget(chunk, 0, len(self._starts[chunk]))
        del self._starts[:keep], self._ends[:keep], self._firsts[:keep]
        if not self._starts:
            return
        starts, ends = self._starts[0], self._ends[0]
        gone = bisect_right(ends, offset)
        self._forget(0, 0, gone)
        del starts[:gone], ends[:gone]
        if not starts:
            del self._starts[0], self._ends[0], self._firsts[0]
            return
        if starts[0] < offset:
            self.offset_count -= offset - starts[0]
            starts[0] = offset
        self._firsts[0] = starts[0]

    def remove_from(self, offset: int) -> None:
        """Remove `offset` and every one above it."""
        kept = [(start, min(end, offset)) for start, end in self if start < offset]
        self.clear()
        for start, end in kept:
            self.add(start, end)

    def remove_first(self) -> None:
        """Remove the lowest range. Raises IndexError where there is none."""
        self.remove_below(self._ends[0][0])

    def clear(self) -> None:
        self.offset_count = self.range_count = 0
        self._starts.clear()
        self._ends.clear()
        self._firsts.clear()

    def _insert(self, chunk: int, at: int, start: int) -> None:
        """An empty range at `start`, which `_grow` fills."""
        if not self._starts:
            self._starts.append([])
            self._ends.append([])
            self._firsts.append(start)
        self._starts[chunk].insert(at, start)
        self._ends[chunk].insert(at, start)
        if at == 0:
            self._firsts[chunk] = start
        self.range_count += 1

    def _grow(self, chunk: int, at: int, end: int) -> None:
        """Move a range's end up to `end`, swallowing the ranges that it then touches."""
        starts, ends = self._starts[chunk], self._ends[chunk]
        known_end = ends[at]
        swallowed = 0
        while True:
            if at + 1 < len(starts):
                if starts[at + 1] > end:
                    break
                end = max(end, ends[at + 1])
                swallowed += ends[at + 1] - starts[at + 1]
                del starts[at + 1], ends[at + 1]
            elif chunk + 1 < len(self._starts) and self._firsts[chunk + 1] <= end:
                following_starts, following_ends = self._starts[chunk + 1], self._ends[chunk + 1]
                end = max(end, following_ends[0])
                swallowed += following_ends[0] - following_starts[0]
                del following_starts[0], following_ends[0]
                if following_starts:
                    self._firsts[chunk + 1] = following_starts[0]
                else:
                    del self._starts[chunk + 1], self._ends[chunk + 1], self._firsts[chunk + 1]
            else:
                break
            self.range_count -= 1
        ends[at] = end
        self.offset_count += end - known_end - swallowed

    def _split(self, chunk: int) -> None:
        starts, ends = self._starts[chunk], self._ends[chunk]
        self._starts.insert(chunk + 1, starts[_CHUNK_RANGES:])
        self._ends.insert(chunk + 1, ends[_CHUNK_RANGES:])
        self._firsts.insert(chunk + 1, starts[_CHUNK_RANGES])
        del starts[_CHUNK_RANGES:], ends[_CHUNK_RANGES:]

    def _forget(self, chunk: int, start: int, end: int) -> None:
        self.range_count -= end - start
        self.offset_count -= sum(self._ends[chunk][start:end]) - sum(self._starts[chunk][start:end])
