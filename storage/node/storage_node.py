"""A storage node: its parts, their life, and the calls that gateways and other nodes make of it (`storage.rpc`)."""

import asyncio
from collections.abc import Callable

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.lifecycle import Lifecycle
from storage.log.high_watermarks import HighWatermarks
from storage.log.store import LogStore
from storage.node.blocked_calls import BlockedCalls
from storage.node.compaction_calls import CompactionCalls
from storage.node.copies.copy_calls import CopyCalls
from storage.node.deletion_calls import DeletionCalls
from storage.node.first_contacts import FirstContacts
from storage.node.group_starts import GroupStarts
from storage.node.groups.mapping_passages import MappingPassages
from storage.node.held_back import HeldBack
from storage.node.known_groups import KnownGroups
from storage.node.leader_reads import LeaderReads
from storage.node.log_calls import LogCalls, positions_of
from storage.node.node_parts import append_times_of, compactor_of, coordinators_of, housekeeping_of, replica_context
from storage.node.node_ports import NodePorts
from storage.node.offset_projection import OffsetProjection
from storage.node.partition.batch_cache import BatchCache
from storage.node.partition.node_settings import NodeSettings
from storage.node.position_calls import PositionCalls
from storage.node.quota_calls import QuotaCalls
from storage.node.receiver import Receiver
from storage.node.recovery_log import log_recovery
from storage.node.redrive_host import RedriveHost
from storage.node.replicas.fetch_service import FetchService
from storage.node.replicas.fetch_sessions import FetchSessions
from storage.node.replicas.held_replicas import HeldReplicas
from storage.node.replicas.isr_figures import IsrFigures
from storage.node.replicas.leader_figures import LeaderFigures
from storage.node.replicas.led_partition import Partition
from storage.node.replicas.replica_context import ReplicaContext
from storage.node.replicas.replica_host import ReplicaHost
from storage.node.replicas.replica_report import report_of
from storage.node.replicas.replicas import Replicas
from storage.node.schedule_calls import ScheduleCalls
from storage.node.table.table_views import TableViews
from storage.node.vital_signs import VitalSigns, vital_signs_of
from storage.replication.assignment import ReplicaIdentity
from storage.replication.leadership import UNAVAILABLE_RETRY_MS
from storage.replication.messages import FetchAnswer, FetchRequest, SnapshotAnswer, SnapshotRequest
from storage.replication.replication_settings import ReplicationSettings
from storage.rpc import (
    deletion_messages,
    inspect_messages,
    membership_messages,
    messages,
    schedule_messages,
    table_messages,
)
from storage.rpc.node_api import ProduceWaiter
from storage.rpc.peer_api import ProbeAnswer, ProbeRequest

_SERVING = Lifecycle.SERVING  # asked with every send, and looking a member up takes longer than the question


class StorageNode:
    """`open` one, use, `close`. Implements NodeApi and PeerApi."""

    @classmethod
    async def open(
        cls,
        ports: NodePorts,
        *,
        node_id: int,
        incarnation: int,
        settings: NodeSettings,
        replication: ReplicationSettings | None = None,
    ) -> "StorageNode":
        """Recover the logs, open what this node leads, then follow the metadata. Raises as `LogStore.open`."""
        logs = await LogStore.open(
            disk=ports.disk, io=ports.io, clock=ports.clock, entropy=ports.entropy, settings=settings.log_store
        )
        log_recovery(logs)
        me = ReplicaIdentity(node_id, incarnation, logs.directory_id)
        high_watermarks = await HighWatermarks.read(ports.disk, ports.io)
        node = cls(ports, me, logs, high_watermarks, settings, replication or ReplicationSettings())
        await node._begin()
        return node

    def __init__(
        self,
        ports: NodePorts,
        me: ReplicaIdentity,
        logs: LogStore,
        high_watermarks: HighWatermarks,
        settings: NodeSettings,
        replication: ReplicationSettings,
    ) -> None:
        """For `open` only."""
        self.node_id, self.incarnation = me.node_id, me.incarnation
        self.is_registered: Callable[[], bool] = lambda: True  # nobody else leads where a node is alone
        self.logs, self._me, self._metadata, self._clock = logs, me, ports.metadata, ports.clock
        self._settings, self._replication = settings, replication
        self._cache = BatchCache(bytes_max=settings.batch_cache_bytes_max)
        self.figures, self.isr_figures, self.append_times = LeaderFigures(), IsrFigures(), append_times_of(settings)
        self._log_calls = LogCalls(self.figures.filters, waiting_records_max=settings.waiting_records_max)
        self._projection = OffsetProjection(ports.store, clock=ports.clock, interval_ms=settings.projection_interval_ms)
        held = self._held = HeldReplicas()
        self.tables = TableViews(ports.table_indexes, ports.metadata, ports.clock, settings.table)
        self._service = FetchService(held, clock=ports.clock, settings=replication)
        self._sessions = FetchSessions(
            me, ports.peers, clock=ports.clock, settings=replication, on_answered=held.answered, on_crashed=self._crash
        )
        self._replicas = Replicas(
            logs,
            held,
            self._replica_context(ports, high_watermarks),
            high_watermarks=high_watermarks,
            store=ports.store,
            metadata=ports.metadata,
            settings=settings,
            on_changed=self._partitions_changed,
            on_topic_gone=self._forget_topic,
        )
        self._starts = GroupStarts(
            self._replicas,
            self._projection,
            FirstContacts(self._projection, self._replicas.held, ports.clock),
            ports.metadata,
            self._partition,
            metadata_lag_ms_max=settings.metadata_lag_ms_max,
        )
        self._groups = KnownGroups(ports.metadata, metadata_lag_ms_max=settings.metadata_lag_ms_max)
        self._positions = PositionCalls(self._groups, self._starts, self._projection)
        self._blocked = BlockedCalls(self._groups, ports.clock)
        self._receiver = Receiver(
            held.of_topic,
            lambda: self._replicas.failures,
            self._starts.start,
            clock=ports.clock,
            known_group=ports.metadata.group_by_id,
            waiting_max=settings.waiting_receives_max,
        )
        self._held_back = HeldBack(ports.metadata, held.of_topic, self._receiver.seen, ports.clock)
        self._coordinators = coordinators_of(ports, held, self._partition, settings, on_crashed=self._crash)
        self.copy = CopyCalls(self._partition, ports.io, settings).copy
        self.quota_shares = QuotaCalls(ports.clock, settings.quotas).shares
        self._schedules = ScheduleCalls(self._partition, clock=ports.clock, settings=settings.schedule)
        self.redrives = RedriveHost(held, ports, self._starts, settings=settings.redrive, on_crashed=self._crash)
        forget_groups = self._coordinators.forget_deleted_groups
        self._housekeeping = housekeeping_of(
            ports, self._replicas, self._projection, self.append_times, settings, forget_groups, self._forget_group
        )
        self.compactor = compactor_of(ports, held, self.logs, self._cache, settings)
        self.compact = CompactionCalls(self._replicas, self.compactor).compact
        self.deletions = DeletionCalls(ports.store, self._housekeeping.retain)
        self._tasks: list[asyncio.Task[None]] = []
        self._unsubscribe: Callable[[], None] = lambda: None
        self._life, self._has_changed = Lifecycle.OPENING, False

    def _replica_context(self, ports: NodePorts, high_watermarks: HighWatermarks) -> ReplicaContext:
        return replica_context(
            ports,
            self._me,
            self.logs,
            high_watermarks,
            MappingPassages(self._projection, self._held, ports.metadata, ports.clock, self._settings),
            sessions=self._sessions,
            service=self._service,
            cache=self._cache,
            figures=self.figures,
            isr_figures=self.isr_figures,
            settings=self._settings,
            replication=self._replication,
            readers=lambda topic_id: self._receiver.readers(topic_id),
            forget_table=self.tables.forget,
            is_registered=lambda: self.is_registered(),
            on_crashed=self._crash,
        )

    # --- life ----------------------------------------------------------------------------------------------------

    async def _begin(self) -> None:
        await self._replicas.data_keys.open()
        await self._replicas.reconcile()
        await self._replicas.settled()
        await self._replicas.remove_orphans()
        changed = asyncio.Event()

        def metadata_changed() -> None:
            changed.set()
            self._receiver.groups_changed()

        self._unsubscribe = self._metadata.subscribe(metadata_changed)
        changed.set()  # for what changed between the first look and the subscription
        followers = self._replicas.watch_followers()
        for activity in (self._replicas.follow(changed), self._housekeeping.run(), followers, self.compactor.run()):
            self._tasks.append(asyncio.get_running_loop().create_task(activity))
            self._tasks[-1].add_done_callback(self._task_ended)
        self._coordinators.open()
        self.redrives.open()
        self._life = self._life.then(Lifecycle.SERVING)

    async def close(self) -> None:
        """Answer who waits, finish what was accepted, leave snapshots and checkpoints."""
        self.stop_waiting()
        self._life = self._life.then(Lifecycle.CLOSING)
        self._unsubscribe()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.redrives.close()
        await self._coordinators.close()
        led = self._held.led()
        await self._replicas.close()
        await self._replicas.data_keys.close()
        await self.tables.close()
        self._service.stop()
        await self._sessions.close()
        await self._projection.flush(led)
        await self._replicas.checkpoint_high_watermarks()
        await self.logs.close()
        self._life = self._life.then(Lifecycle.CLOSED)

    def stop_waiting(self) -> None:
        """The first step of a graceful stop: long polls are answered at once, new work is refused."""
        if self._life.may_become(Lifecycle.DRAINING):
            self._life = Lifecycle.DRAINING
        self._receiver.stop()
        self._coordinators.stop_waiting()
        for partition in self._held.led():
            partition.host.stop_waiting()

    @property
    def failure(self) -> str | None:
        """Why the node stopped serving its data directory; None while all is well."""
        return self.logs.failure

    @property
    def waiting_receives(self) -> int:
        return self._receiver.waiting

    @property
    def cache_bytes(self) -> int:
        return self._cache.size_bytes

    @property
    def partitions_refused(self) -> int:
        """Partitions that the node should lead and cannot open."""
        return len(self._replicas.failures)

    @property
    def missing_data_keys(self) -> int:
        return self._replicas.data_keys.missing_keys

    def partitions_led(self) -> list[Partition]:
        return self._held.led()

    def replicas(self) -> list[ReplicaHost]:
        """All that the node holds, whatever their role."""
        return list(self._held)

    def coordination_changed(self, is_registered: bool) -> None:
        """This node's registration has become valid, or is not any more."""
        self._replicas.coordination_changed(is_registered)

    def vital_signs(self) -> VitalSigns:
        now_ms, waiting, led = self._clock.now_ms(), self.waiting_receives, self._held.led()
        return vital_signs_of(self.logs, led, self._settings, now_ms=now_ms, waiting_receives=waiting)

    # --- what its parts ask and tell ----------------------------------------------------------------------------------

    def _partitions_changed(self) -> None:
        """Many come and go together: whoever waits is woken once."""
        if not self._has_changed:
            self._has_changed = True
            asyncio.get_running_loop().call_soon(self._look_anew)

    def _look_anew(self) -> None:
        self._has_changed = False
        self._starts.look_anew()
        self._coordinators.look_anew()
        self.redrives.look_anew()
        self._receiver.wake_everybody()

    def _forget_topic(self, topic_id: str) -> None:
        self._receiver.forget_topic(topic_id)
        self._projection.forget_topic(topic_id)

    def _forget_group(self, group_id: str) -> None:
        self._receiver.forget_group(group_id)
        self._projection.forget_group(group_id)
        self._starts.forget(group_id)

    def _task_ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._crash(error)

    def _crash(self, error: BaseException) -> None:
        """A bug in a background task: better to stop serving, and say so, than to go on with half a node."""
        self.logs.fail(f"a background task of the node crashed: {error!r}")

    async def _partition(self, topic_id: str, number: int) -> Partition:
        partition = await self._replicas.get(topic_id, number)
        if self._life is not Lifecycle.SERVING and not partition.is_served_in(self._life):
            raise ServerError(ProblemCode.SHUTTING_DOWN, "It is shutting down.", retry_after_ms=UNAVAILABLE_RETRY_MS)
        return partition

    # --- NodeApi -------------------------------------------------------------------------------------------------

    async def produce(self, request: messages.ProduceRequest) -> messages.ProduceResponse:
        return await (await self._partition(request.topic_id, request.partition)).host.produce(request)

    def begin_produce(self, request: messages.ProduceRequest, waiter: ProduceWaiter) -> bool:
        partition = self._held.find(request.topic_id, request.partition) if self._life is _SERVING else None
        return partition is not None and partition.host.begin(request, waiter)

    async def known_keys(self, request: messages.KnownKeysRequest) -> messages.KnownKeysResponse:
        host = (await self._partition(request.topic_id, request.partition)).host
        return messages.KnownKeysResponse(await host.known_keys(request))

    async def receive(self, request: messages.ReceiveRequest) -> messages.ReceiveResponse:
        group = await self._groups.served(request.group_id)
        self._check_health()
        return await self._receiver.receive(request, group)

    async def settle(self, request: messages.SettleRequest) -> messages.SettleResponse:
        partition = await self._partition(request.topic_id, request.partition)
        group = await self._groups.served(request.group_id)
        return await partition.groups.settle(request, group)

    async def inspect(self, request: inspect_messages.InspectRequest) -> inspect_messages.InspectResponse:
        partition = await self._partition(request.topic_id, request.partition)
        found = await self._log_calls.inspect(partition, request)
        return await self._held_back.explain(partition, request.offset, found)

    async def records(self, request: messages.RecordsRequest) -> messages.RecordsResponse:
        reads = self._held.followed(request.topic_id, request.partition)
        if request.any_replica and reads is not None and self._life is Lifecycle.SERVING:
            return await self._log_calls.follower_records(reads, request, lag_ms_max=self._settings.follower_lag_ms_max)
        leader = LeaderReads(await self._partition(request.topic_id, request.partition))
        return await self._log_calls.records(leader, request)

    async def positions(self, request: messages.PositionsRequest) -> messages.PositionsResponse:
        partition = await self._partition(request.topic_id, request.partition)
        return await positions_of(partition, request, self._clock, self._receiver.seen)

    async def seek(self, request: messages.SeekRequest) -> messages.SeekResponse:
        return await self._positions.seek(await self._partition(request.topic_id, request.partition), request)

    async def commit(self, request: messages.CommitRequest) -> messages.CommitResponse:
        return await self._positions.commit(await self._partition(request.topic_id, request.partition), request)

    async def blocked(self, request: messages.BlockedRequest) -> messages.BlockedResponse:
        return await self._blocked.answer(await self._partition(request.topic_id, request.partition), request)

    async def delete(self, request: deletion_messages.DeleteRequest) -> deletion_messages.DeleteResponse:
        return await self.deletions.delete(await self._partition(request.topic_id, request.partition), request)

    async def latest(self, request: table_messages.LatestRequest) -> table_messages.LatestResponse:
        return await self.tables.latest(await self._partition(request.topic_id, request.partition), request)

    async def replica_report(self, request: messages.ReplicaReportRequest) -> messages.ReplicaReportResponse:
        return report_of(self._replicas, request, self._me)

    async def heartbeat(self, request: membership_messages.HeartbeatRequest) -> membership_messages.HeartbeatResponse:
        return await self._coordinators.heartbeat(request, await self._groups.group(request.group_id))

    async def members(self, request: membership_messages.MembersRequest) -> membership_messages.MembersResponse:
        return await self._coordinators.members(request, await self._groups.group(request.group_id))

    async def schedule(self, request: messages.ProduceRequest) -> messages.ProduceResponse:
        return await self._schedules.schedule(request)

    async def scheduled(self, request: schedule_messages.ScheduledRequest) -> schedule_messages.ScheduledResponse:
        return await self._schedules.call(request)

    async def scheduled_list(
        self, request: schedule_messages.ScheduledListRequest
    ) -> schedule_messages.ScheduledListResponse:
        return await self._schedules.list(request)

    async def adopt(self, request: schedule_messages.AdoptRequest) -> schedule_messages.AdoptResponse:
        return await self._schedules.adopt(request)

    # --- PeerApi ---------------------------------------------------------------------------------------------------

    async def fetch(self, request: FetchRequest) -> FetchAnswer:
        self._check_health()
        return await self._service.fetch(request)

    async def snapshot(self, request: SnapshotRequest) -> SnapshotAnswer:
        self._check_health()
        return await self._held.snapshot(request)

    async def probe(self, request: ProbeRequest) -> ProbeAnswer:
        return ProbeAnswer(self.node_id, self.incarnation)

    def _check_health(self) -> None:
        if self.failure is not None:
            raise ServerError(ProblemCode.STORAGE_FAILED, self.failure)
