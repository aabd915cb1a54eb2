"""Messages whose attempts are used up, and how long they live.

One that was given back after its end had expired by then, whatever its attempts: so says the time at which it came
back, for as long as it waits for the dead-letter topic. One that waits for a person does so until its end.
"""

from collections.abc import Iterable, Sequence

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.values import Group
from cluster.ports.clock import Clock
from storage.delivery.group_in_partition import GroupInPartition
from storage.delivery.outlived import outlive_given_up
from storage.node.groups.dead_letter_sink import DeadLetter
from storage.node.groups.delivery_host import DeliveryHost
from storage.node.partition.node_settings import NodeSettings
from storage.node.partition.partition_host import PartitionHost
from storage.node.partition.record_reader import RecordReader


class GivenUpLifetimes:
    """Of one partition's groups."""

    def __init__(
        self,
        host: PartitionHost,
        delivery: DeliveryHost,
        reader: RecordReader,
        *,
        clock: Clock,
        settings: NodeSettings,
    ) -> None:
        self._host = host
        self._delivery = delivery
        self._reader = reader
        self._clock = clock
        self._settings = settings

    def next_look_in_ms(self, groups: Iterable[GroupInPartition]) -> int | None:
        """How long it is until `end_blocked` has something to do."""
        topic_ttl_ms = self._host.topic.config.ttl_ms
        looks = [look for group in groups if (look := group.state.blocked.next_look_ms(topic_ttl_ms)) is not None]
        return max(min(looks) - self._clock.now_ms(), 0) if looks else None

    def had_expired(self, letter: DeadLetter) -> bool:
        """Whether its end had come when it came back and its attempts were used up, which nobody has said yet."""
        own_ttl_ms = letter.record.ttl_ms
        ttl_ms = self._host.topic.config.ttl_ms if own_ttl_ms is None else own_ttl_ms
        return not letter.is_expired and ttl_ms is not None and letter.history.last_ms >= letter.append_time_ms + ttl_ms

    async def end_blocked(self, state: GroupInPartition, group: Group) -> bool:
        """What waits for a person and has expired does so no longer. False: something else is being decided about one
        of them. Raises ServerError: what a read and the append of a record raise."""
        blocked, limit = state.state.blocked, self._settings.blocked_looked_up_per_step_max
        for offset in blocked.unknown(limit=limit):
            await self._look_up(state, offset)
        ended = blocked.ended(now_ms=self._clock.now_ms(), topic_ttl_ms=self._host.topic.config.ttl_ms, limit=limit)
        await self.outlive(state, group, ended)
        return not any(offset in blocked for offset in ended)

    async def outlive(self, state: GroupInPartition, group: Group, offsets: Sequence[int]) -> None:
        """They have expired, durably. Raises ServerError: what the append of a record raises."""
        record = outlive_given_up(
            state.state,
            offsets,
            on_expired=group.settings.on_expired,
            leader_epoch=self._delivery.state.leader_epoch,
            wall_now_ms=self._clock.now_ms(),
        )
        if record is not None:
            await self._delivery.commit(record)

    async def _look_up(self, state: GroupInPartition, offset: int) -> None:
        blocked = state.state.blocked
        try:
            batch, record = await self._reader.record_at(offset, readable_end=self._host.readable_end)
        except ServerError as error:
            if error.code not in (ProblemCode.OFFSET_OUT_OF_RANGE, ProblemCode.RECORDS_CORRUPT):
                raise
            blocked.cannot_be_read(offset)
            return
        if record is None:  # compaction has removed it, which is found where that is looked up
            blocked.cannot_be_read(offset)
            return
        blocked.found(offset, append_time_ms=batch.header.append_time_ms, ttl_ms=record.ttl_ms)
