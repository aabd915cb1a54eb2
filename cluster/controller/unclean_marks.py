"""Unclean elections are operators' doing, and show as marks of partitions (rule R9): the controller says when one
comes, also where nobody reads the log of the gateway that was asked."""

import structlog

from cluster.controller.image import ClusterImage
from cluster.controller.replica_placement import PartitionId
from cluster.model import keys
from cluster.model.values import PartitionState, UncleanElection
from cluster.ports.coordination import Event, key_of

_log = structlog.get_logger(__name__)


class UncleanMarks:
    """Of one term. What was there when it began was told by an earlier controller."""

    def __init__(self) -> None:
        self._counts: dict[PartitionId, int] | None = None

    def listed(self, image: ClusterImage) -> None:
        """The image is new; marks may have come since the one before."""
        before, self._counts = self._counts, {}
        for entry in image.catalog.entries():
            for number, state in entry.partitions.items():
                self._note(entry.id, number, state, seen=before)

    def changed(self, event: Event, image: ClusterImage) -> None:
        """The image has taken the event in."""
        key = key_of(event)
        if self._counts is None or not key.startswith(keys.PARTITIONS):
            return
        topic_id, _, number = key.removeprefix(keys.PARTITIONS).partition("/")
        entry = image.catalog.get(topic_id)
        if not number.isdigit():
            return  # not understood, which the image says
        state = None if entry is None else entry.partitions.get(int(number))
        self._note(topic_id, int(number), state, seen=self._counts)

    def _note(
        self, topic_id: str, number: int, state: PartitionState | None, *, seen: dict[PartitionId, int] | None
    ) -> None:
        assert self._counts is not None
        partition = (topic_id, number)
        mark = None if state is None else state.unclean_election
        is_news = mark is not None and seen is not None and mark.count > seen.get(partition, 0)
        if mark is None:
            self._counts.pop(partition, None)
            return
        self._counts[partition] = mark.count
        if is_news:
            _tell(topic_id, number, mark)


def _tell(topic_id: str, number: int, mark: UncleanElection) -> None:
    _log.error(
        "partition_elected_unclean",
        topic_id=topic_id,
        partition=number,
        node=mark.node,
        leader_epoch=mark.leader_epoch,
        log_end=mark.log_end,
        lost_below=mark.lost_below,
    )
