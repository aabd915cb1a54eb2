"""Everything that a node holds of one partition that it leads, opened and closed together."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from cluster.errors import ServerError
from cluster.lifecycle import Lifecycle
from cluster.model.internal_topics import AUDIT_TOPIC
from cluster.model.projected_offsets import FirstContact, ProjectedPartition
from cluster.model.values import Group
from storage.log.log_table import LogKind
from storage.node.groups.cut_log import put_groups_back
from storage.node.groups.delivery_host import DeliveryHost
from storage.node.groups.delivery_steps import DeliverySteps
from storage.node.groups.partition_groups import PartitionGroups
from storage.node.partition.partition_host import PartitionHost
from storage.node.partition.record_reader import RecordReader
from storage.node.schedule.schedule_host import ScheduleHost
from storage.replication.leadership import Leadership, LeadershipListener

logger = structlog.get_logger(__name__)


@dataclass(slots=True)
class Partition:
    """`groups`, `steps` and `delivery` share the partition's delivery state; `host` owns its messages, `schedule` those
    that are to be seen later. `leadership` knows whether what all of them say is still true."""

    leadership: Leadership

    host: PartitionHost
    reader: RecordReader
    delivery: DeliveryHost
    groups: PartitionGroups
    steps: DeliverySteps
    schedule: ScheduleHost
    listeners: Mapping[int, LeadershipListener] = field(init=False)
    """Who appends to which log, by its number: told what is committed of it."""

    def __post_init__(self) -> None:
        self.listeners = {
            LogKind.MESSAGES: self.host,
            LogKind.DELIVERY: self.delivery,
            LogKind.SCHEDULE: self.schedule.scheduled,
        }

    def is_served_in(self, life: Lifecycle) -> bool:
        """Whether it takes calls in this stage of its node: what was done before the end is to be in the audit log."""
        return life is Lifecycle.SERVING or (life is Lifecycle.DRAINING and self.host.topic.name == AUDIT_TOPIC)

    @property
    def topic_id(self) -> str:
        return self.host.topic.id

    @property
    def number(self) -> int:
        return self.host.partition

    async def start_group(
        self, group: Group, projected: ProjectedPartition | None, contact: FirstContact | None
    ) -> None:
        """As `PartitionGroups.start`, from what is sure of a projection."""
        await self.groups.start(group, self._sure_offset(projected), contact)

    async def position_of(
        self, group: Group, projected: ProjectedPartition | None, contact: FirstContact | None
    ) -> int:
        """As `PartitionGroups.position`: what `start_group` would begin with, and nothing is begun."""
        return await self.groups.position(group, self._sure_offset(projected), contact)

    def _sure_offset(self, projected: ProjectedPartition | None) -> int | None:
        """What was projected under a leader of which something was cut away counts no further than that leader's part
        of the log (rule R9)."""
        if projected is None:
            return None
        return min(projected.offset, self.host.log.leader_epochs.end_below(projected.leader_epoch + 1))

    async def follow_cut_log(self) -> None:
        """See `put_groups_back`: before anything is appended."""
        await put_groups_back(self.host, self.delivery)

    def compacted(self, start: int, end: int) -> None:
        """Messages from `start` to `end` may be gone: groups wait for none that is."""
        self.delivery.state.compacted(start, end)
        self.steps.arm()

    def topic_changed(self) -> None:
        """What waits may have expired, by another time to live."""
        self.steps.arm()

    async def begin(self) -> None:
        """Let time do its work from now on. This log may be compacted further than that of the leader before."""
        if self.host.topic.config.is_compacted:
            self.compacted(self.host.readable_start, self.host.readable_end)
        self.steps.arm()
        self.schedule.begin()
        try:
            await self.groups.advance_log_start()
        except ServerError as error:  # the next retention tries again
            logger.warning("group_jump_delayed", topic=self.host.topic.name, partition=self.number, reason=str(error))

    def acks_reached(self, tokens: Sequence[int]) -> None:
        """Of appends whose copies are counted; each belongs to one of the logs."""
        self.host.acks_reached(tokens)
        self.schedule.scheduled.acks_reached(tokens)

    def end_leadership(self) -> None:
        """Another leads, or will: who waits is told that this one will never know, and nothing more is taken."""
        for listener in self.listeners.values():
            listener.leadership_ended()

    async def settle_down(self, timeout_ms: int) -> None:
        """Wait until everything that was accepted is committed, so long and no longer; then end the leadership of what
        is not."""
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await self.host.wait_until_committed()
                await self.schedule.scheduled.wait_until_committed()
                await self.delivery.wait_until_idle()
        except TimeoutError:
            self.end_leadership()

    async def close(self) -> None:
        """Nothing new may come; waits for what is under way and leaves a snapshot."""
        self.host.stop_waiting()
        self.schedule.scheduled.stop_waiting()
        await self.schedule.close()
        self.groups.close()
        await self.steps.close()
        await self.delivery.close()
