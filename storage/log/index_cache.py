"""Indexes of closed segments, a bounded number of them."""

from collections import OrderedDict
from collections.abc import Iterable

from storage.log.index import SegmentIndex
from storage.log.segment import Segment


class IndexCache:
    """Least recently used indexes go first. Used on the event loop only."""

    def __init__(self, *, limit: int) -> None:
        self._limit = limit
        self._indexes: OrderedDict[Segment, SegmentIndex] = OrderedDict()

    def __len__(self) -> int:
        return len(self._indexes)

    def get(self, segment: Segment) -> SegmentIndex | None:
        if segment.index is not None:
            return segment.index
        index = self._indexes.get(segment)
        if index is not None:
            self._indexes.move_to_end(segment)
        return index

    def put(self, segment: Segment, index: SegmentIndex) -> None:
        self._indexes[segment] = index
        self._indexes.move_to_end(segment)
        while len(self._indexes) > self._limit:
            self._indexes.popitem(last=False)

    def take_over(self, closed: Iterable[Segment]) -> None:
        """The indexes of segments to which nothing is appended any more: from then on these are sealed."""
        for segment in closed:
            index, segment.index = segment.index, None
            if index is not None:
                self.put(segment, index)

    def forget(self, segment: Segment) -> None:
        self._indexes.pop(segment, None)
