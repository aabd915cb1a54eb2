"""Groups' first contacts with the partitions that this node leads."""

import asyncio
from collections.abc import Awaitable, Callable

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model.projected_offsets import ProjectedPartition
from cluster.model.values import Group
from storage.node.first_contacts import FirstContacts
from storage.node.metadata_lag import wait_for_metadata
from storage.node.offset_projection import OffsetProjection
from storage.node.replicas.led_partition import Partition
from storage.node.replicas.replicas import Replicas


class GroupStarts:
    """Remembers which groups have been started in which topics. `partition` finds one that is open here, or says why
    there is none."""

    def __init__(
        self,
        replicas: Replicas,
        projection: OffsetProjection,
        contacts: FirstContacts,
        metadata: MetadataView,
        partition: Callable[[str, int], Awaitable[Partition]],
        *,
        metadata_lag_ms_max: int,
    ) -> None:
        self._replicas = replicas
        self._projection = projection
        self.contacts = contacts
        self._metadata = metadata
        self._partition = partition
        self._metadata_lag_ms_max = metadata_lag_ms_max
        self._started: set[tuple[str, str]] = set()

    def look_anew(self) -> None:
        """Partitions have come or gone."""
        self._started = set()

    def forget(self, group_id: str) -> None:
        self._started = {started for started in self._started if started[0] != group_id}

    async def start(self, group: Group, topic_ids: list[str]) -> bool:
        """Before every look: partitions may have come since the last one. False: some came meanwhile, too."""
        known = self._started  # where partitions come, another set takes its place
        for topic_id in (each for each in topic_ids if (group.id, each) not in known):
            await self._start(group, topic_id)
            known.add((group.id, topic_id))
        return known is self._started

    async def start_at(self, group: Group, partition: Partition, offset: int, *, is_known: bool) -> None:
        """For a reader that says itself how far it is: where nobody knows of a position of the group, it begins there.
        Raises ServerError COMMIT_CONFLICT where the reader knows of one (`is_known`), and there is none."""
        if partition.groups.knows(group.id):
            return
        projected = (await self._projection.read(group.id, partition.topic_id)).get(partition.number)
        if projected is None and is_known:
            detail = "The group has no position in the partition yet: leave `expected` out."
            raise ServerError(ProblemCode.COMMIT_CONFLICT, detail, field="expected")
        first = ProjectedPartition(offset, 0, partition.host.leader_epoch, 0)
        if projected is None or partition.groups.start_positions.is_overtaken(group, projected.offset):
            projected = first
        await partition.start_group(group, projected, None)

    async def _start(self, group: Group, topic_id: str) -> None:
        """The group's start positions in the topic become durable, in one round."""
        topic = await wait_for_metadata(
            self._metadata, lambda: self._metadata.topic_by_id(topic_id), timeout_ms=self._metadata_lag_ms_max
        )
        if topic is None:
            raise ServerError(ProblemCode.TOPIC_NOT_FOUND, "There is no topic with this id.", field="queue")
        led = [await self._partition(topic_id, number) for number in self._replicas.numbers_to_lead(topic_id)]
        new = [partition for partition in led if not partition.groups.knows(group.id)]
        if not new:
            return
        contact = await self.contacts.meet(group, topic)
        projected = await self._projection.read(group.id, topic_id)
        await asyncio.gather(*(each.start_group(group, projected.get(each.number), contact) for each in new))
