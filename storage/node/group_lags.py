"""How much exclusive groups have left to read, for the assignor that goes by it.

What a group has done comes from the offset store, which is a second behind; how long the logs are, from the replicas
that this node holds. Of a partition that it does not hold, the mean of the others is assumed.
"""

from collections.abc import Collection, Mapping

import msgspec
import structlog

from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.projected_offsets import ProjectedOffsets
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationError, CoordinationStore
from storage.groups.assignors.task import Place
from storage.log.log_table import LogKind
from storage.node.replicas.held_replicas import HeldReplicas
from storage.replication.messages import PartitionId

logger = structlog.get_logger(__name__)


class GroupLags:
    """`refresh` what is known of a group before it is assigned anew; `of` uses what was found last."""

    def __init__(self, held: HeldReplicas, store: CoordinationStore, *, clock: Clock, interval_ms: int) -> None:
        self._held = held
        self._store = store
        self._clock = clock
        self._interval_ms = interval_ms
        self._progress: dict[str, dict[str, ProjectedOffsets]] = {}
        self._asked_ms: dict[str, int] = {}

    async def refresh(self, group_id: str) -> None:
        """Unless that was done a moment ago. Where the store cannot be asked, what was known stays."""
        now_ms = self._clock.monotonic_ms()
        if now_ms - self._asked_ms.get(group_id, -self._interval_ms) < self._interval_ms:
            return
        self._asked_ms[group_id] = now_ms
        prefix = keys.offsets_of(group_id)
        try:
            items = (await self._store.list(prefix)).items
        except CoordinationError as error:
            logger.warning("group_lag_unknown", group_id=group_id, reason=str(error))
            return
        progress: dict[str, ProjectedOffsets] = {}
        for item in items:
            try:
                progress[item.key.removeprefix(prefix)] = decode(ProjectedOffsets, item.value)
            except msgspec.DecodeError as error:  # of one topic; the others are known (rule R40)
                logger.warning("group_lag_unknown", group_id=group_id, key=item.key, reason=str(error))
        self._progress[group_id] = progress

    def of(self, group_id: str, places: Collection[Place]) -> Mapping[Place, int]:
        """Of every place."""
        known = {place: lag for place in places if (lag := self._lag(group_id, place)) is not None}
        mean = sum(known.values()) // max(1, len(known))
        return {place: known.get(place, mean) for place in places}

    def _lag(self, group_id: str, place: Place) -> int | None:
        replica = self._held.hosts.get(PartitionId(*place))
        if replica is None:
            return None
        offsets = self._progress.get(group_id, {}).get(place.topic_id)
        projected = None if offsets is None else offsets.partitions.get(str(place.partition))
        done = replica.logs[LogKind.MESSAGES].log_start
        if projected is not None:
            done = max(done, projected.offset + projected.done_above)
        return max(0, replica.high_watermarks[LogKind.MESSAGES] - done)

    def forget(self, group_id: str) -> None:
        self._progress.pop(group_id, None)
        self._asked_ms.pop(group_id, None)
