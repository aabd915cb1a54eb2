"""A small set of offsets that mostly grows at its end and shrinks from its beginning: what waits of a key."""

from bisect import bisect_left, bisect_right


class WaitingRanges:
    """One list of edges: start, end, start, end… ascending, so that what lies at an even place begins a range.

    Beside `OffsetRanges`, which is for a hundred thousand of them: this is for thousands of sets of a few, and costs
    next to nothing where it grows and shrinks as it mostly does.
    """

    __slots__ = ("_edges",)

    def __init__(self, start: int, end: int) -> None:
        self._edges = [start, end]

    def __bool__(self) -> bool:
        return bool(self._edges)

    @property
    def range_count(self) -> int:
        return len(self._edges) >> 1

    @property
    def first(self) -> int:
        """The lowest offset. Raises IndexError where there is none."""
        return self._edges[0]

    @property
    def first_range(self) -> tuple[int, int]:
        """Raises IndexError where there is none."""
        return self._edges[0], self._edges[1]

    @property
    def end(self) -> int:
        """The end of the last range. Raises IndexError where there is none."""
        return self._edges[-1]

    def add(self, start: int, end: int) -> int:
        """Add every offset of a range, which may overlap what is there and is not empty. Returns how many ranges there
        are more."""
        edges = self._edges
        if not edges or start > edges[-1]:
            edges += (start, end)
            return 1
        before = len(edges)
        low, high = bisect_left(edges, start), bisect_right(edges, end)
        edges[low:high] = ([] if low & 1 else [start]) + ([] if high & 1 else [end])
        return (len(edges) - before) // 2

    def remove(self, start: int, end: int) -> int:
        """Remove every offset of a range, as far as it is there. Returns how many ranges there are more."""
        edges = self._edges
        if edges and edges[0] == start and edges[1] == end:
            del edges[:2]
            return -1
        before = len(edges)
        low, high = bisect_left(edges, start), bisect_right(edges, end)
        edges[low:high] = ([start] if low & 1 else []) + ([end] if high & 1 else [])
        return (len(edges) - before) // 2
