"""The replicas that a node holds, kept in line with the metadata.

A partition whose state names this node among its replicas is held here, whoever leads it; the replica's own machine
decides what to do about it.
"""

import asyncio
from collections.abc import Callable

import structlog

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model import keys
from cluster.model.values import PartitionLife, PartitionState, Topic
from cluster.ports.coordination import CoordinationError, CoordinationStore
from storage.disk.port import DiskFailedError, DiskRefusedError
from storage.log.checkpoint import CheckpointDamagedError
from storage.log.high_watermarks import HighWatermarks
from storage.log.keys import LogKey
from storage.log.log_settings import LogSettings
from storage.log.log_table import LOGS, LogKind, LogSpec
from storage.log.partition_log import PartitionLog
from storage.log.refusal import refusal_of
from storage.log.store import LogStore
from storage.node.partition.node_settings import NodeSettings
from storage.node.replicas.held_replicas import HeldReplicas
from storage.node.replicas.led_partition import Partition
from storage.node.replicas.orphaned_logs import OrphanedLogs
from storage.node.replicas.partition_service import ServingReplica
from storage.node.replicas.producer_mirror import ProducerMirror
from storage.node.replicas.replica_context import ReplicaContext
from storage.node.replicas.replica_host import ReplicaHost
from storage.replication import leader_events
from storage.replication.assignment import assignment_of
from storage.replication.leadership import UNAVAILABLE_RETRY_MS
from storage.replication.messages import PartitionId
from storage.replication.replica_events import Role

logger = structlog.get_logger(__name__)

PartitionKey = tuple[str, int]


class Replicas:
    """`on_changed` is called after partitions that are served here came or went, `on_topic_gone` with a deleted topic's
    id."""

    def __init__(
        self,
        logs: LogStore,
        held: HeldReplicas,
        context: ReplicaContext,
        *,
        high_watermarks: HighWatermarks,
        store: CoordinationStore,
        metadata: MetadataView,
        settings: NodeSettings,
        on_changed: Callable[[], None],
        on_topic_gone: Callable[[str], None],
    ) -> None:
        self.failures: dict[PartitionKey, ServerError] = {}
        """Why partitions that this node should hold are not served."""
        self._logs = logs
        self.held = held
        self.data_keys = context.data_keys
        self._context = context
        self._node_id = context.me.node_id
        self._incarnation = context.me.incarnation
        self._high_watermarks = high_watermarks
        self._metadata = metadata
        self._settings = settings
        self._on_changed = on_changed
        self._on_topic_gone = on_topic_gone
        self._told_of: dict[PartitionId, tuple[Topic, PartitionState]] = {}
        self._opened: dict[PartitionKey, asyncio.Future[None]] = {}
        self._leftovers = OrphanedLogs(logs, store, self._node_id)
        self._is_coordinated = True

    # --- finding ---------------------------------------------------------------------------------------------------

    def numbers_to_lead(self, topic_id: str) -> list[int]:
        """The topic's partitions that this node should serve and can, open already or not."""
        return [
            state.partition
            for state in self._metadata.partitions(topic_id)
            if self._is_mine(state) and (topic_id, state.partition) not in self.failures
        ]

    async def get(self, topic_id: str, number: int) -> Partition:
        """The partition, waiting while it is being opened.

        Raises ServerError: UNAVAILABLE for one that is led elsewhere, and why one of its own could not be opened.
        """
        partition = self.held.find(topic_id, number)
        if partition is None:
            await self._wait_until_open(topic_id, number)
            partition = self.held.find(topic_id, number)
        if partition is None:
            raise self.failures.get((topic_id, number)) or ServerError(
                ProblemCode.UNAVAILABLE,
                f"Node {self._node_id} does not lead partition {number} of the topic {topic_id}.",
                retry_after_ms=UNAVAILABLE_RETRY_MS,
            )
        return partition

    async def _wait_until_open(self, topic_id: str, number: int) -> None:
        state = self._metadata.partition(topic_id, number)
        if state is None or not self._is_mine(state) or (topic_id, number) in self.failures:
            return
        future = self._opened.setdefault((topic_id, number), asyncio.get_running_loop().create_future())
        try:
            async with asyncio.timeout(self._settings.partition_open_timeout_ms / 1000):
                await asyncio.shield(future)
        except TimeoutError:
            return

    def _is_mine(self, state: PartitionState) -> bool:
        return state.leader == self._node_id and state.leader_incarnation == self._incarnation

    # --- following the metadata --------------------------------------------------------------------------------------

    async def follow(self, metadata_changed: asyncio.Event) -> None:
        """Reconcile after every change of the metadata, and again while a replica could not be opened or removed."""
        while True:
            try:
                async with asyncio.timeout(self._settings.open_retry_ms / 1000 if self._is_retry_due() else None):
                    await metadata_changed.wait()
            except TimeoutError:
                pass
            metadata_changed.clear()
            try:
                await self.reconcile()
            except (ServerError, CoordinationError) as error:
                logger.error("replicas_not_reconciled", reason=str(error))

    def _is_retry_due(self) -> bool:
        return bool(self._leftovers) or any(error.is_retriable for error in self.failures.values())

    async def reconcile(self) -> None:
        """Take up, inform and let go replicas until what is held here is what the metadata says."""
        wanted = self._wanted()
        for replica in [replica for replica in self.held if replica.id not in wanted]:
            await self._let_go(replica)
        for key in [key for key in self.failures if PartitionId(*key) not in wanted]:
            del self.failures[key]
        permits = asyncio.Semaphore(self._settings.partitions_opened_at_once)
        missing = [partition_id for partition_id in wanted if partition_id not in self.held.hosts]
        await asyncio.gather(*(self._take_up(*wanted[partition_id], permits) for partition_id in missing))
        for partition_id, (topic, state) in wanted.items():
            held = self.held.hosts.get(partition_id)
            if held is not None and (self.failures or not self._was_told_of(held, topic, state)):
                self._inform(held)
        if self._leftovers:
            await self._leftovers.remove(set(self.held.hosts))

    async def settled(self) -> None:
        """Until every replica has taken its role, and is open where it serves."""
        await asyncio.gather(*(replica.settled() for replica in self.held))

    def _wanted(self) -> dict[PartitionId, tuple[Topic, PartitionState]]:
        return {
            PartitionId(topic.id, state.partition): (topic, state)
            for topic in self._metadata.topics()
            for state in self._metadata.partitions(topic.id)
            if self._node_id in state.replicas and state.life is not PartitionLife.GONE
        }

    async def _take_up(self, topic: Topic, state: PartitionState, permits: asyncio.Semaphore) -> None:
        key = (topic.id, state.partition)
        async with permits:
            try:
                replica = await self._make(topic, state)
            except ServerError as error:
                self._not_held(topic, state.partition, error)
            except (CheckpointDamagedError, DiskFailedError) as error:
                self._not_held(topic, state.partition, ServerError(ProblemCode.RECORDS_CORRUPT, str(error)))
            except DiskRefusedError as error:
                self._not_held(topic, state.partition, refusal_of(error, retry_after_ms=self._settings.open_retry_ms))
            else:
                self.failures.pop(key, None)
                self.held.hosts[replica.id] = replica
                self._inform(replica)

    async def _make(self, topic: Topic, state: PartitionState) -> ReplicaHost:
        number = state.partition
        logs = [await self._open_log(topic, number, spec) for spec in LOGS.values()]
        is_state_readable = True
        if len(state.replicas) > 1:
            try:
                await self._context.snapshots.finish_restart(logs[LogKind.DELIVERY])
            except (CheckpointDamagedError, DiskFailedError):  # others have it, too
                is_state_readable = False
        producers = {}
        for kind in (LogKind.MESSAGES, LogKind.SCHEDULE):
            producers[kind] = mirror = ProducerMirror(self._context.producers, self._context.clock)
            await mirror.rebuild(logs[kind], bytes_max=self._settings.producers_read_bytes_max)
        replica = ReplicaHost(
            topic,
            number,
            logs=logs,
            high_watermarks=[self._known_of(log) for log in logs],
            producers=producers,
            schedule=self._context.schedules.of(logs[LogKind.SCHEDULE]),
            context=self._context,
            listener=self,
        )
        replica.damaged_logs.watch()
        if not is_state_readable:
            replica.damaged_logs.state_is_unreadable()
        return replica

    async def _open_log(self, topic: Topic, number: int, spec: LogSpec) -> PartitionLog:
        settings = LogSettings(
            segment_bytes=spec.segment_bytes(topic.config, self._settings), space=spec.space(topic.name)
        )
        log = await self._logs.open_log(LogKey(topic.id, number, spec.number), settings)
        log.cipher = self._context.data_keys.cipher(log.key)
        return log

    def _known_of(self, log: PartitionLog) -> int:
        """Of a log that was removed and is here again, the checkpoint knows a former life."""
        return min(self._high_watermarks.get(log.key), log.log_end)

    def _was_told_of(self, replica: ReplicaHost, topic: Topic, state: PartitionState) -> bool:
        """Of these very objects: for what was written anew the metadata has others, were they equal."""
        told_of = self._told_of.get(replica.id)
        return told_of is not None and told_of[0] is topic and told_of[1] is state

    def _inform(self, replica: ReplicaHost) -> None:
        """State and revision are read together: the metadata moves on while replicas are taken up."""
        topic = self._metadata.topic_by_id(replica.topic.id)
        state = self._metadata.partition(replica.topic.id, replica.number)
        if topic is None or state is None:
            return  # the next round lets it go
        self._told_of[replica.id] = (topic, state)
        if replica.topic != topic:
            replica.topic_changed(topic)
        revision = self._metadata.revision_of(keys.partition(topic.id, state.partition))
        if revision > replica.seen_revision:
            if not self._is_coordinated and replica.seen_revision < 0:
                replica.step(leader_events.CoordinationChanged(False))
            replica.deletions.heard(state.deletion)  # before it may lead by this revision
            replica.seen(assignment_of(state, revision=revision))
        elif (topic.id, state.partition) in self.failures:
            replica.open()

    async def _let_go(self, replica: ReplicaHost) -> None:
        """This node is no replica of it any more, or its topic is gone."""
        topic_id = replica.topic.id
        await replica.close()
        await self._context.schedules.forget(replica.logs[LogKind.SCHEDULE].key)
        await self._context.forget_table(replica.logs[LogKind.MESSAGES].key)
        for log in replica.logs:  # what was never committed must not be read in a later life of the log
            self._context.cache.drop(log.key)
        del self.held.hosts[replica.id]
        self._told_of.pop(replica.id, None)
        self._leftovers.add(replica.id)
        if self._metadata.topic_by_id(topic_id) is None:
            self._on_topic_gone(topic_id)

    # --- ServiceListener ---------------------------------------------------------------------------------------------

    def opened(self, partition: Partition) -> None:
        key = (partition.topic_id, partition.number)
        self.failures.pop(key, None)
        self.held.serve(partition)
        self._tell_opened(key)
        self._on_changed()

    def closed(self, partition: Partition) -> None:
        if self.held.serve_no_more(partition):
            self._on_changed()

    def not_opened(self, replica: ServingReplica, error: ServerError) -> None:
        self._not_held(replica.topic, replica.number, error)
        host = self.held.hosts.get(PartitionId(replica.topic.id, replica.number))
        if host is not None and isinstance(error.__cause__, CheckpointDamagedError | DiskFailedError):
            host.damaged_logs.state_is_unreadable()  # damage in the logs was told where it was found

    def _not_held(self, topic: Topic, number: int, error: ServerError) -> None:
        logger.error("partition_not_opened", topic=topic.name, partition=number, reason=str(error))
        self.failures[topic.id, number] = error
        self._tell_opened((topic.id, number))

    def _tell_opened(self, key: PartitionKey) -> None:
        future = self._opened.pop(key, None)
        if future is not None and not future.done():
            future.set_result(None)

    # --- the coordination store comes and goes ------------------------------------------------------------------------

    def coordination_changed(self, is_reachable: bool) -> None:
        """Whether this node's registration is valid."""
        if is_reachable != self._is_coordinated:
            self._is_coordinated = is_reachable
            for replica in self.held:
                replica.step(leader_events.CoordinationChanged(is_reachable))

    async def watch_followers(self) -> None:
        """Without the store a leader serves as long as it hears enough followers."""
        while True:
            await self._context.clock.sleep(self._context.settings.contact_ms / 4)
            self._tell_who_is_heard()

    def _tell_who_is_heard(self) -> None:
        if self._is_coordinated:
            return
        for replica in self.held:
            if replica.role is Role.LEADER and replica.is_replicated:
                replica.tell_who_is_heard()

    # --- background ---------------------------------------------------------------------------------------------------

    async def checkpoint_high_watermarks(self) -> None:
        """Lower ones than the true ones do no harm, so nothing waits for this."""
        replicated = [replica for replica in self.held if replica.is_replicated]
        if not replicated:
            return
        known = {
            log.key: high_watermark
            for replica in replicated
            for log, high_watermark in zip(replica.logs, replica.high_watermarks, strict=True)
        }
        await self._high_watermarks.write(known)

    async def compact_followers(self) -> None:
        """Followers' delivery logs are trimmed by what they hold themselves."""
        for replica in self.held:
            if replica.logs[LogKind.DELIVERY].size_bytes <= 2 * self._settings.delivery_segment_bytes:
                continue
            try:
                await replica.compact_delivery()
            except (CheckpointDamagedError, DiskFailedError):
                replica.damaged_logs.state_is_unreadable()
            except (ServerError, DiskRefusedError) as error:
                logger.warning(
                    "delivery_not_compacted", topic=replica.topic.name, partition=replica.number, reason=str(error)
                )

    async def remove_orphans(self) -> None:
        """Logs that are on the disk and that the metadata does not place here."""
        self._leftovers.find(set(self._wanted()))
        await self._leftovers.remove(set(self.held.hosts))

    async def close(self) -> None:
        """Nothing new may come; waits for what is under way."""
        outcomes = await asyncio.gather(*(replica.close() for replica in self.held), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                logger.error("replica_not_closed", reason=repr(outcome))
        await self._context.quotas.close()
