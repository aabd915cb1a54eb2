"""The coordinators of exclusive groups that this node has to be: one per partition of `__groups` that it leads."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from operator import is_

from acklog.wire.names import in_namespace, local_name, namespace_of
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model import keys
from cluster.model.internal_topics import GROUPS_TOPIC, coordinator_partition
from cluster.model.values import Assignor, Group, GroupMode, PartitionLife, Topic
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationStore
from storage.groups.assignors.task import Place
from storage.groups.coordinator_settings import CoordinatorSettings
from storage.groups.events import GroupDeleted, TermsChanged, TopicsChanged
from storage.groups.surroundings import ExclusiveTerms, TopicShape, TopicTable
from storage.node.group_lags import GroupLags
from storage.node.groups.coordinator_host import CoordinatorHost
from storage.node.metadata_lag import wait_for_metadata
from storage.node.replicas.held_replicas import HeldReplicas
from storage.node.replicas.led_partition import Partition
from storage.replication.leadership import UNAVAILABLE_RETRY_MS
from storage.rpc.membership_messages import HeartbeatRequest, HeartbeatResponse, MembersRequest, MembersResponse

_LOOK_PAUSE_S = 0.05
"""Metadata changes in bursts: a topic's partitions come one by one."""


class _MetadataSurroundings:
    """GroupSurroundings by the node's copy of the metadata."""

    def __init__(self, metadata: MetadataView, lags: GroupLags) -> None:
        self._metadata = metadata
        self._lags = lags
        self.topics = TopicTable([])
        self._seen: list[Topic] = []
        self._groups: dict[str, Group] = {}  # as they were when their terms were asked for last

    def look(self) -> dict[str, str]:
        """The topics that have changed since the last look, names by ids."""
        topics = self._metadata.topics()
        is_as_seen = len(topics) == len(self._seen) and all(map(is_, topics, self._seen))
        if is_as_seen and not any(topic.decommissioned for topic in topics):
            return {}
        self._seen = topics
        shapes = [TopicShape(topic.id, topic.name, self._partitions(topic)) for topic in topics]
        before, self.topics = self.topics, TopicTable(shapes)
        return self.topics.changed_since(before)

    def _partitions(self, topic: Topic) -> tuple[int, ...]:
        if not topic.decommissioned:
            return tuple(range(topic.partitions))
        states = (self._metadata.partition(topic.id, number) for number in range(topic.partitions))
        return tuple(
            number for number, state in enumerate(states) if state is None or state.life is not PartitionLife.GONE
        )

    def terms(self, group_id: str) -> ExclusiveTerms | None:
        group = self._metadata.group_by_id(group_id)
        if group is None:
            self._groups.pop(group_id, None)
            return None
        self._groups[group_id] = group
        namespace = namespace_of(group.name)
        own_letters = in_namespace(namespace, f"*.{local_name(group.name)}.dlq")
        letters = (own_letters, *filter(None, [group.settings.dead_letter_topic]))
        return ExclusiveTerms(group.settings.assignor, group.settings.session_timeout_ms, letters, namespace)

    def may_have_other_terms(self, group_id: str) -> bool:
        """Than when they were asked for last."""
        return self._metadata.group_by_id(group_id) is not self._groups.get(group_id)

    def racks_of(self, place: Place) -> Collection[str]:
        state = self._metadata.partition(*place)
        if state is None:
            return ()
        holders = [state.leader, *(node for node in state.replicas if node != state.leader)]
        return [node.rack for node in map(self._metadata.node, holders) if node is not None and node.rack]

    def lags(self, group_id: str, places: Collection[Place]) -> Mapping[Place, int]:
        return self._lags.of(group_id, places)


class GroupCoordinators:
    """`partition` finds one that is open here, or says why there is none."""

    def __init__(
        self,
        held: HeldReplicas,
        store: CoordinationStore,
        metadata: MetadataView,
        partition: Callable[[str, int], Awaitable[Partition]],
        *,
        clock: Clock,
        settings: CoordinatorSettings,
        metadata_lag_ms_max: int,
        on_crashed: Callable[[BaseException], None],
    ) -> None:
        self._held = held
        self._store = store
        self._metadata = metadata
        self._partition = partition
        self._clock = clock
        self._settings = settings
        self._metadata_lag_ms_max = metadata_lag_ms_max
        self._on_crashed = on_crashed
        self._lags = GroupLags(held, store, clock=clock, interval_ms=settings.lag_interval_ms)
        self._surroundings = _MetadataSurroundings(metadata, self._lags)
        self._hosts: dict[int, CoordinatorHost] = {}
        self._closing: dict[asyncio.Task[None], None] = {}
        self._look: asyncio.TimerHandle | None = None
        self._unsubscribe: Callable[[], None] = lambda: None

    # --- life ------------------------------------------------------------------------------------------------------

    def open(self) -> None:
        self._unsubscribe = self._metadata.subscribe(self._look_soon)
        self.look_anew()

    def stop_waiting(self) -> None:
        """The node is about to stop."""
        for host in self._hosts.values():
            host.stop_waiting(_stopping())

    async def close(self) -> None:
        self._unsubscribe()
        if self._look is not None:
            self._look.cancel()
        hosts, self._hosts = self._hosts, {}
        await asyncio.gather(*self._closing, *(host.close(_stopping()) for host in hosts.values()))

    def look_anew(self) -> None:
        """Partitions have come or gone."""
        topic = self._metadata.topic(GROUPS_TOPIC)
        led = {} if topic is None else dict(self._held.of_topic(topic.id))
        for number, host in list(self._hosts.items()):
            if number not in led or led[number].host is not host.partition_host:
                self._close(self._hosts.pop(number))
        for partition in led.values():
            self._coordinator(partition)

    def _coordinator(self, partition: Partition) -> CoordinatorHost:
        """What coordinates the partition's groups, while it is led here."""
        host = self._hosts.get(partition.number)
        if host is not None and host.partition_host is partition.host:
            return host
        if host is not None:
            self._close(host)
        # Nobody looked while there was nobody to tell; and members whose topics the coordinator before knew are not to
        # hear that there are none.
        self._look_at_metadata()
        host = self._hosts[partition.number] = CoordinatorHost(
            partition.host,
            partition.leadership,
            self._surroundings,
            clock=self._clock,
            settings=self._settings,
            on_crashed=self._on_crashed,
        )
        host.open()
        return host

    def _close(self, host: CoordinatorHost) -> None:
        error = ServerError(
            ProblemCode.UNAVAILABLE, "The group's coordinator is elsewhere now.", retry_after_ms=UNAVAILABLE_RETRY_MS
        )
        task = asyncio.get_running_loop().create_task(host.close(error))
        self._closing[task] = None
        task.add_done_callback(self._closing.pop)

    # --- calls -----------------------------------------------------------------------------------------------------

    async def heartbeat(self, request: HeartbeatRequest, group: Group) -> HeartbeatResponse:
        """Raises ServerError."""
        coordinator = await self._coordinator_of(group, request.partition)
        await self._know(request.topic_ids)
        if group.settings.assignor is Assignor.LAG:
            await self._lags.refresh(group.id)
        return await coordinator.heartbeat(request)

    async def _know(self, topic_ids: list[str]) -> None:
        """A member may name a topic that was made a moment ago: it is not to hear that nothing there is its own."""
        if all(map(self._surroundings.topics.has, topic_ids)):
            return
        await wait_for_metadata(
            self._metadata,
            lambda: all(self._metadata.topic_by_id(each) is not None for each in topic_ids) or None,
            timeout_ms=self._metadata_lag_ms_max,
        )
        self._look_at_metadata()

    async def members(self, request: MembersRequest, group: Group) -> MembersResponse:
        """Raises ServerError."""
        return await (await self._coordinator_of(group, request.partition)).members(group.id)

    async def _coordinator_of(self, group: Group, number: int) -> CoordinatorHost:
        if group.mode is not GroupMode.EXCLUSIVE:
            detail = f"The group's mode is {group.mode.value}; only exclusive ones have members."
            raise ServerError(ProblemCode.WRONG_GROUP_MODE, detail)
        topic = await wait_for_metadata(
            self._metadata, lambda: self._metadata.topic(GROUPS_TOPIC), timeout_ms=self._metadata_lag_ms_max
        )
        if topic is None or coordinator_partition(group.id, topic) != number:
            detail = f"Partition {number} of {GROUPS_TOPIC} is not the group's."
            raise ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=UNAVAILABLE_RETRY_MS)
        return self._coordinator(await self._partition(topic.id, number))

    # --- what changes ----------------------------------------------------------------------------------------------

    def _look_soon(self) -> None:
        if self._look is None and self._hosts:
            self._look = asyncio.get_running_loop().call_later(_LOOK_PAUSE_S, self._look_at_metadata)

    def _look_at_metadata(self) -> None:
        if self._look is not None:
            self._look.cancel()
            self._look = None
        topics = self._surroundings.look()
        for host in self._hosts.values():
            if topics:
                host.tell(TopicsChanged(topics))
            changed = [group_id for group_id in host.group_ids() if self._surroundings.may_have_other_terms(group_id)]
            if changed:
                host.tell(TermsChanged(changed))

    async def forget_deleted_groups(self) -> None:
        """On its tombstone only, never because the metadata looks empty (rule R13). Raises CoordinationError."""
        for host in list(self._hosts.values()):
            for group_id in host.group_ids():
                is_known = self._metadata.group_by_id(group_id) is not None
                if not is_known and await self._store.get(keys.tombstone(group_id)) is not None:
                    host.tell(GroupDeleted(group_id))
                    self._lags.forget(group_id)


def _stopping() -> ServerError:
    return ServerError(ProblemCode.SHUTTING_DOWN, "The node is shutting down.", retry_after_ms=UNAVAILABLE_RETRY_MS)
