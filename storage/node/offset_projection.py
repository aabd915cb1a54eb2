"""Progress as the offset store shows it: one value per (group, topic), written at most once per interval.

The delivery log is the only authority; this is its projection, for listings and for a partition that has lost its
delivery state. A value carries, per partition, the leader epoch it comes from and a version that only grows, so an
older leader's late write never replaces a newer leader's (rule R16).
"""

from collections.abc import Callable, Iterable

import msgspec
import structlog

from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.projected_offsets import FirstContact, ProjectedOffsets, ProjectedPartition
from cluster.ports.clock import Clock
from cluster.ports.coordination import Compare, CompareTarget, CoordinationError, CoordinationStore, KeyValue, Put
from storage.node.replicas.led_partition import Partition

logger = structlog.get_logger(__name__)

CONFLICT_RETRIES = 5


class OffsetProjection:
    """Writes what changed since the last time; a conflict with another node's write is merged and tried again."""

    def __init__(self, store: CoordinationStore, *, clock: Clock, interval_ms: int) -> None:
        self._store = store
        self._clock = clock
        self._interval_ms = interval_ms
        self._last_flush_ms = -interval_ms
        self._written: dict[tuple[str, str], dict[int, tuple[int, int, int]]] = {}
        self._again: dict[tuple[str, int], Partition] = {}

    async def read(self, group_id: str, topic_id: str) -> dict[int, ProjectedPartition]:
        """The progress per partition, as last projected. Empty when the store cannot say."""
        try:
            value = await self.known(group_id, topic_id)
            return {} if value is None else {int(number): each for number, each in value.partitions.items()}
        except (CoordinationError, ValueError) as error:
            logger.warning("offset_store_unreadable", group_id=group_id, topic_id=topic_id, reason=str(error))
            return {}

    async def known(self, group_id: str, topic_id: str) -> ProjectedOffsets | None:
        """None: the group has not read the topic yet. Raises CoordinationError where the store cannot say."""
        item = await self._store.get(keys.offsets(group_id, topic_id))
        return None if item is None else _decoded(item)

    async def note_first_contact(self, group_id: str, topic_id: str, contact: FirstContact) -> bool:
        """Durable on return. False: another node has noted one meanwhile. Raises CoordinationError."""
        key = keys.offsets(group_id, topic_id)
        put = Put(key, msgspec.json.encode(ProjectedOffsets({}, contact)))
        return (await self._store.transact([Compare(key, CompareTarget.MOD_REVISION, 0)], [put])).succeeded

    def forget_topic(self, topic_id: str) -> None:
        self._written = {key: value for key, value in self._written.items() if key[1] != topic_id}
        self._again = {key: partition for key, partition in self._again.items() if key[0] != topic_id}

    def forget_group(self, group_id: str) -> None:
        self._written = {key: value for key, value in self._written.items() if key[0] != group_id}

    async def flush_if_due(self, moved: Callable[[], Iterable[Partition]]) -> None:
        """`moved` is asked only then."""
        if self._clock.monotonic_ms() - self._last_flush_ms >= self._interval_ms:
            await self.flush(moved())

    async def flush(self, moved: Iterable[Partition]) -> None:
        """Write every (group, topic) whose progress moved, in these partitions, and in those where it could not be
        written the last time. Failures are logged."""
        self._last_flush_ms = self._clock.monotonic_ms()
        again, self._again = self._again, {}
        await self.project([*again.values(), *moved])

    async def project(self, partitions: Iterable[Partition]) -> None:
        """As `flush`, for these alone, at any time: before a seek is answered, so that what is shown is a lower bound
        of what is done even where the delivery log is lost that knows of the seek."""
        changed: dict[tuple[str, str], dict[int, ProjectedPartition]] = {}
        looked_at: dict[tuple[str, int], Partition] = {}
        for partition in partitions:
            looked_at[partition.topic_id, partition.number] = partition
            for position in partition.groups.positions():
                key = (position.group_id, partition.topic_id)
                now = (position.progress, position.done_above, position.generation)
                if self._written.get(key, {}).get(partition.number) != now:
                    changed.setdefault(key, {})[partition.number] = ProjectedPartition(
                        position.progress,
                        position.done_above,
                        partition.host.leader_epoch,
                        partition.groups.applied_records,
                        position.generation,
                    )
        for (group_id, topic_id), projected in changed.items():
            try:
                await self._merge(group_id, topic_id, projected)
            except CoordinationError as error:
                for number in projected:
                    self._again[topic_id, number] = looked_at[topic_id, number]
                logger.warning("progress_not_projected", group_id=group_id, topic_id=topic_id, reason=str(error))

    async def _merge(self, group_id: str, topic_id: str, projected: dict[int, ProjectedPartition]) -> None:
        key = keys.offsets(group_id, topic_id)
        for _ in range(CONFLICT_RETRIES):
            item = await self._store.get(key)
            known = ProjectedOffsets({}) if item is None else _decoded(item)
            merged = dict(known.partitions)
            for number, mine in projected.items():
                theirs = merged.get(str(number))
                if theirs is None or (mine.leader_epoch, mine.version) >= (theirs.leader_epoch, theirs.version):
                    merged[str(number)] = mine
            compare = Compare(key, CompareTarget.MOD_REVISION, item.mod_revision if item is not None else 0)
            put = Put(key, msgspec.json.encode(ProjectedOffsets(merged, known.first_contact)))
            if (await self._store.transact([compare], [put])).succeeded:
                written = self._written.setdefault((group_id, topic_id), {})
                for number, mine in projected.items():
                    written[number] = (mine.offset, mine.done_above, mine.generation)
                return
        raise CoordinationError(f"{CONFLICT_RETRIES} conflicts in a row")


def _decoded(item: KeyValue) -> ProjectedOffsets:
    """Raises CoordinationError for a value that is damaged or of a newer version: it says nothing, and is not written
    over."""
    try:
        return decode(ProjectedOffsets, item.value)
    except msgspec.DecodeError as error:
        raise CoordinationError(f"the value of {item.key} is not understood: {error}") from error
