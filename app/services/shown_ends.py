"""How far the logs went that this gateway has shown: what readers were told does not become less (rule R35)."""

from collections import OrderedDict
from typing import NamedTuple

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError

_RETRY_MS = 200


class _End(NamedTuple):
    leader_epoch: int
    high_watermark: int


class ShownEnds:
    """Of the `partitions_max` partitions that were looked at last. A later leader epoch replaces what was shown of an
    earlier one: it has as much, unless an operator chose a leader that lacks something."""

    def __init__(self, partitions_max: int) -> None:
        self._partitions_max = partitions_max
        self._ends: OrderedDict[tuple[str, int], _End] = OrderedDict()

    def __len__(self) -> int:
        return len(self._ends)

    def show(self, topic_id: str, partition: int, *, leader_epoch: int, high_watermark: int) -> int:
        """The high watermark to show for an answer that has this one. `leader_epoch` is -1 where it is not known."""
        place, end = (topic_id, partition), _End(leader_epoch, high_watermark)
        known = self._ends.pop(place, None)
        if known is not None and (leader_epoch <= known.leader_epoch or leader_epoch < 0):
            end = _End(known.leader_epoch, max(known.high_watermark, high_watermark))
        self._ends[place] = end
        if len(self._ends) > self._partitions_max:
            self._ends.popitem(last=False)
        return end.high_watermark

    def check_not_behind(self, topic_id: str, partition: int, *, leader_epoch: int, high_watermark: int) -> None:
        """Raises ServerError UNAVAILABLE for an answer that ends where this gateway has shown more: whoever gave it
        does not lead any more, or not yet know what its leader does."""
        known = self._ends.get((topic_id, partition))
        if known is not None and leader_epoch <= known.leader_epoch and high_watermark < known.high_watermark:
            detail = f"A replica of partition {partition} is behind what was read of it before."
            raise ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=_RETRY_MS)
