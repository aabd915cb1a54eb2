"""Why a message that waits does not go out now: a limit of what is in flight, or one before it that cannot be read."""

from collections.abc import Callable, Mapping

from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model.values import Group
from cluster.ports.clock import Clock
from storage.delivery.in_flight_limits import limit_met
from storage.delivery.modes import has_owners
from storage.delivery.states import MessageState
from storage.node.consumers_seen import ConsumersSeen
from storage.node.replicas.led_partition import Partition
from storage.rpc.inspect_messages import InspectResponse, MessageInGroup

CONSUMERS_ASKED_MAX = 100
"""Where a group has more, it is not said that all of them are at their limit."""


class HeldBack:
    """`partitions_of(topic_id)` are those that the node leads, `seen` who receives."""

    def __init__(
        self,
        metadata: MetadataView,
        partitions_of: Callable[[str], Mapping[int, Partition]],
        seen: ConsumersSeen,
        clock: Clock,
    ) -> None:
        self._metadata = metadata
        self._partitions_of = partitions_of
        self._seen = seen
        self._clock = clock

    async def explain(self, partition: Partition, offset: int, found: InspectResponse) -> InspectResponse:
        """`found`, which says it now of the message at `offset`, in each group for which it waits."""
        for view in found.groups:
            group = self._metadata.group_by_id(view.group_id)
            if group is not None and view.state == MessageState.WAITING.value:
                view.limit = self._limit(partition, group, found.record)
                if has_owners(group.mode):
                    await self._look_before(partition, offset, view)
        return found

    def _limit(self, partition: Partition, group: Group, record: Record) -> str:
        state = partition.delivery.state.group(group.id)
        limit = "" if state is None else limit_met(state.state, group.settings, record)
        return limit or ("IN_FLIGHT_LIMIT_PER_CONSUMER" if self._are_all_at_limit(partition, group) else "")

    def _are_all_at_limit(self, partition: Partition, group: Group) -> bool:
        """Of the consumers that receive here each has as many messages of the topic as one may have."""
        limit = group.settings.max_in_flight_per_consumer
        if limit is None:
            return False
        names = self._seen.names(group.id, now_ms=self._clock.monotonic_ms(), limit=CONSUMERS_ASKED_MAX + 1)
        partitions = self._partitions_of(partition.topic_id).values()
        return 0 < len(names) <= CONSUMERS_ASKED_MAX and all(
            sum(each.groups.in_flight_of(group.id, name) for each in partitions) >= limit for name in names
        )

    async def _look_before(self, partition: Partition, offset: int, view: MessageInGroup) -> None:
        """What stops a partition that is one member's is the first message that is not done."""
        progress = partition.groups.progress_of(view.group_id)
        if progress is None or progress >= offset:
            return
        try:
            batch = await partition.reader.batch_at(progress, readable_end=partition.host.readable_end)
            batch.records()
        except ServerError as error:
            if error.code is ProblemCode.RECORDS_CORRUPT:
                view.unreadable = progress
