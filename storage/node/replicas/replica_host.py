"""One replica of a partition on this node: its logs, and the machine that decides what happens to them.

Everything the machine asks for is done here, and it is told what came of it. While it leads and serves, the partition
is open (`storage.node.replicas.led_partition`); before and after, only its logs are looked after. All state changes on
the event loop; a stale completion is known to the machine by its serial or its epoch, and dropped.
"""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence

import structlog

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.values import Topic
from storage.disk.port import DiskFailedError, DiskRefusedError
from storage.log.checkpoint import CheckpointDamagedError
from storage.log.log_table import LogKind
from storage.log.partition_log import PartitionLog
from storage.log.refusal import refusal_of
from storage.node.partition.deadline_timer import DeadlineTimer
from storage.node.replicas.background_tasks import BackgroundTasks
from storage.node.replicas.damaged_logs import DamagedLogs
from storage.node.replicas.follower_effects import FollowerEffects
from storage.node.replicas.follower_reads import FollowerReads
from storage.node.replicas.led_partition import Partition
from storage.node.replicas.mapping_starter import MappingStarter
from storage.node.replicas.partition_service import PartitionService, ServiceListener
from storage.node.replicas.producer_mirror import ProducerMirror
from storage.node.replicas.replica_context import ReplicaContext
from storage.node.replicas.replica_logs import ReplicaPartitionLog
from storage.node.replicas.served_logs import ServedLogs
from storage.node.replicas.standing import Standing
from storage.node.replicas.store_effects import StoreEffect, StoreEffects
from storage.node.schedule.schedule_keeper import ScheduleKeeper
from storage.replication import follower_events, leader_events
from storage.replication.assignment import Assignment
from storage.replication.fetch_answer import Read
from storage.replication.known_deletion import KnownDeletion
from storage.replication.leader_events import FetchRefusal, FetchVerdict, FollowerFetched, Refusal, Service
from storage.replication.leadership import UNAVAILABLE_RETRY_MS
from storage.replication.messages import PartitionFetch, PartitionId, SnapshotAnswer, SnapshotRequest
from storage.replication.partition_replica import PartitionReplica
from storage.replication.replica_events import ComeToRest, LogsAtRest, ReplicaEffect, ReplicaEvent, Role, RoleTaken
from storage.replication.replication_settings import TopicReplication
from storage.replication.served_session import LogView

logger = structlog.get_logger(__name__)


class ReplicaHost:
    """Create it, show it the partition's assignments, `close` it. The logs belong to it."""

    def __init__(
        self,
        topic: Topic,
        number: int,
        *,
        logs: Sequence[PartitionLog],
        high_watermarks: Sequence[int],
        producers: Mapping[int, ProducerMirror],
        schedule: ScheduleKeeper,
        context: ReplicaContext,
        listener: ServiceListener,
    ) -> None:
        self.topic, self.number = topic, number
        self.id = PartitionId(topic.id, number)
        self.logs = tuple(logs)
        self.producers = {log: mirror.window for log, mirror in producers.items()}
        self.schedule = schedule
        schedule.is_alone = lambda: not self.is_replicated
        schedule.advance(high_watermarks[LogKind.SCHEDULE])  # where nothing more comes, nobody says so later
        self.seen_revision = -1
        self.deletions = KnownDeletion()
        self._context = context
        self._replica = PartitionReplica(
            context.me,
            logs=[ReplicaPartitionLog(log) for log in self.logs],
            high_watermarks=high_watermarks,
            topic=TopicReplication.of(topic.config),
            settings=context.settings,
        )
        self.standing = Standing(self.id, self._replica, context, ask_who_is_heard=self.tell_who_is_heard)
        self._follower_effects = FollowerEffects(self.id, self.logs, producers, context, self.step)
        self._served = ServedLogs(self.logs, context.cache)
        self._replicas = 1  # of the last assignment
        self._tasks = BackgroundTasks(context.on_crashed)
        self._store_effects = StoreEffects(topic, self.id, context, self._tasks, self.step)
        self.reads: FollowerReads | None = None  # what readers may have of it while it follows
        mappings = MappingStarter(self.id, context.me.node_id, context.isr_writer, context.clock)
        self._service = PartitionService(self, context.opener, context.cache, self._tasks, listener, mappings)
        self._resting: asyncio.Task[None] | None = None
        self._rest_serial = 0
        self._timer = DeadlineTimer(self._replica.next_deadline, self._time_passed, clock=context.clock)
        self._events: deque[ReplicaEvent] = deque()
        self._is_closed = self._is_stepping = self._has_news = False
        self.damaged_logs = DamagedLogs(topic, self.id, self.logs, self.step)

    # --- asking ----------------------------------------------------------------------------------------------------

    @property
    def role(self) -> Role:
        return self._replica.role

    @property
    def leader_epoch(self) -> int:
        return self._replica.leader_epoch

    @property
    def high_watermarks(self) -> tuple[int, ...]:
        return self._replica.high_watermarks

    @property
    def partition(self) -> Partition | None:
        """What is served of it: set while this replica leads and is open."""
        return self._service.partition

    @property
    def is_replicated(self) -> bool:
        """Whether others hold it, too."""
        return self._replicas > 1

    @property
    def is_serving(self) -> bool:
        leader = self._replica.leader
        return leader is not None and leader.service in {Service.SERVING, Service.ISOLATED}

    @property
    def is_following(self) -> bool:
        """Whether the leader that it follows has said that their logs agree, since it follows that one."""
        follower = self._replica.follower
        return follower is not None and len(follower.agreed) == len(self.logs)

    @property
    def contradiction(self) -> str | None:
        """Why this replica stands still until somebody decides; None while all is well."""
        contradiction = None if (follower := self._replica.follower) is None else follower.contradiction
        return None if contradiction is None else contradiction.reason

    @property
    def is_damaged(self) -> bool:
        """Whether one of its logs cannot be read everywhere, and is not replaced yet."""
        return bool(self._replica.damaged)

    # --- Leadership: for whoever appends -----------------------------------------------------------------------------

    def high_watermark(self, log: int) -> int:
        return self._replica.high_watermarks[log]

    def refusal(self, acks: int) -> Refusal | None:
        leader = self._replica.leader
        return Refusal.NOT_SERVING if leader is None else leader.refusal(acks)

    def tell_who_is_heard(self) -> None:
        """Fetches that bring nothing new for this partition are not told to its machine otherwise."""
        self.step(leader_events.FollowersHeard(self._context.service.followers_heard(self.id)))

    def log_moved(self) -> None:
        self._has_news = True
        self.step(leader_events.LOGS_MOVED)

    def await_acks(self, log: int, next_offset: int, acks: int, token: int) -> None:
        self.step(leader_events.AckAwaited(int(log), next_offset, acks, token))

    # --- events ------------------------------------------------------------------------------------------------------

    def seen(self, assignment: Assignment) -> None:
        """The partition's key, as the metadata shows it."""
        self._replicas = len(assignment.replicas)
        self.seen_revision = max(self.seen_revision, assignment.revision)
        self.step(leader_events.AssignmentSeen(assignment))

    def topic_changed(self, topic: Topic) -> None:
        before, self.topic = self.topic, topic
        if (replication := TopicReplication.of(topic.config)) != TopicReplication.of(before.config):
            self.step(leader_events.TopicChanged(replication))
        self._service.topic_changed()

    def step(self, event: ReplicaEvent) -> None:
        """Let the machine decide, and do what it asks for. An event that comes of an effect waits for its turn."""
        self._events.append(event)
        if self._is_stepping or self._is_closed:
            return
        self._is_stepping = True
        try:
            while self._events:
                for effect in self._replica.step(self._events.popleft(), self._context.clock.monotonic_ms()):
                    self._do(effect)
        finally:
            self._is_stepping = False
        self._follow_up()

    def judge(self, event: FollowerFetched) -> FetchVerdict:
        """The answer to a fetch. What else comes of it is done as well."""
        verdict: FetchVerdict | None = None
        for effect in self._replica.step(event, self._context.clock.monotonic_ms()):
            if isinstance(effect, FetchVerdict):
                verdict = effect
            else:
                self._do(effect)
        assert verdict is not None, "a fetch is always answered"
        self._follow_up()
        return verdict

    def _follow_up(self) -> None:
        has_news, self._has_news = self._has_news, False
        if self._replicas > 1:  # who is alone waits for nobody
            if has_news:
                self._context.service.changed(self.id)
            self._timer.arm()

    def _time_passed(self, now_ms: int) -> None:
        for effect in self._replica.time_passed(now_ms):
            self._do(effect)
        self._follow_up()

    def views(self) -> tuple[LogView, ...]:
        """What followers may have of the logs."""
        return tuple(
            LogView(log.log_start, high_watermark, log.log_end)
            for log, high_watermark in zip(self.logs, self._replica.high_watermarks, strict=True)
        )

    # --- effects -----------------------------------------------------------------------------------------------------

    def _do(self, effect: ReplicaEffect) -> None:
        match effect:
            case leader_events.HighWatermarkAdvanced():
                self._high_watermark_advanced(effect.log, effect.high_watermark)
            case leader_events.AcksReached():
                if self.partition is not None:
                    self.partition.acks_reached(effect.tokens)
            case leader_events.AcksUnknown():
                pass  # the partition's host knows by the end of the leadership
            case leader_events.ServiceChanged():
                self._service_changed(effect.service)
            case leader_events.AskWhoIsHeard():
                self.tell_who_is_heard()
            case _ if isinstance(effect, StoreEffect):
                self._store_effects.begin(effect)
            case ComeToRest():
                self._come_to_rest(effect.serial)
            case RoleTaken():
                self._role_taken(effect)
            case _:
                self._do_as_follower(effect)

    def _do_as_follower(self, effect: ReplicaEffect) -> None:
        match effect:
            case follower_events.FetchFrom():
                fetch = PartitionFetch(self.id, effect.leader_epoch, list(effect.positions))
                assert self._replica.follower is not None
                self._context.sessions.offer(effect.leader, self._replica.follower.mode, fetch)
            case follower_events.AppendBatches():
                self._follower_effects.append(effect)
            case follower_events.TruncateLog():
                assert self._replica.follower is not None
                self._follower_effects.truncate(effect, self._replica.follower.leader, self.leader_epoch)
            case follower_events.RestartLog():
                assert self._replica.follower is not None
                self._follower_effects.restart(effect, self._replica.follower.leader, self.leader_epoch)
            case follower_events.HighWatermarkLearned():
                if self.reads is not None and effect.log == LogKind.MESSAGES:
                    self.reads.learn(effect.high_watermark)
                elif effect.log == LogKind.SCHEDULE:
                    self.schedule.advance(effect.high_watermark)
            case follower_events.RaiseLogStart():
                self._follower_effects.raise_log_start(effect)
            case follower_events.Contradiction():
                logger.error(
                    "replica_stands_still",
                    topic=self.topic.name,
                    partition=self.number,
                    log=effect.log,
                    reason=effect.reason,
                )

    def _high_watermark_advanced(self, log: int, high_watermark: int) -> None:
        self._has_news = True
        if log == LogKind.SCHEDULE:
            self.schedule.advance(high_watermark)
        if self.partition is not None:
            listener = self.partition.listeners.get(log)
            if listener is not None:
                listener.high_watermark_advanced(high_watermark)

    # --- roles --------------------------------------------------------------------------------------------------------

    def _come_to_rest(self, serial: int) -> None:
        """The role is over: nothing is begun any more, and what is under way comes to an end."""
        self._rest_serial = serial
        self._end_service()
        self._end_reads()
        self._context.sessions.withdraw(self.id)
        if self._resting is None:
            self._resting = self._tasks.start(self._rest())

    async def _rest(self) -> None:
        try:
            while True:
                serial = self._rest_serial
                await self._service.close_ended()
                await self._follower_effects.come_to_rest()
                for log in self.logs:
                    await log.come_to_rest(self._not_led())
                if serial == self._rest_serial:
                    break
        finally:
            self._resting = None
        self.step(LogsAtRest(serial))

    def _end_reads(self) -> None:
        reads, self.reads = self.reads, None
        if reads is not None:
            reads.end()

    def _role_taken(self, effect: RoleTaken) -> None:
        if effect.role is Role.FOLLOWER:
            self.reads = FollowerReads(self, effect.leader_epoch, self._context)
        if effect.role is not Role.NONE and self._replicas > 1:
            logger.info(
                "replica_role_taken",
                topic=self.topic.name,
                partition=self.number,
                role=effect.role.value,
                leader_epoch=effect.leader_epoch,
                log_end=self.logs[LogKind.MESSAGES].log_end,
            )

    def _service_changed(self, service: Service) -> None:
        if service is Service.SERVING:
            self.open()
        elif service is Service.STEPPED_DOWN:
            self._end_service()

    def open(self) -> None:
        """Begin to open what this replica leads, unless that has been done."""
        self._service.open()

    def pass_on_high_watermarks(self) -> None:
        for log, high_watermark in enumerate(self._replica.high_watermarks):
            self._high_watermark_advanced(log, high_watermark)

    def _end_service(self) -> None:
        not_leader = FetchVerdict(self._context.me, self.leader_epoch, FetchRefusal.NOT_LEADER)
        self._context.service.refused(self.id, not_leader)
        self._service.end()

    async def settled(self) -> None:
        """Until the role is taken that was seen last, and the partition is open where this replica serves."""
        while (task := self._resting or self._service.opening) is not None:
            await task

    def _not_led(self) -> ServerError:
        detail = f"Partition {self.number} of {self.topic.name} is led elsewhere now."
        return ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=UNAVAILABLE_RETRY_MS)

    async def close(self) -> None:
        """Finish what is under way, with followers as long as they come, and leave everything at rest."""
        if self._resting is not None:
            await asyncio.gather(self._resting, return_exceptions=True)
        await self._service.close(self._context.close_timeout_ms)
        self._is_closed = True
        self._end_reads()
        self._timer.close()
        self._context.sessions.withdraw(self.id)
        await self.schedule.close()
        await self._follower_effects.come_to_rest()
        await self._tasks.cancel()
        for log in self.logs:
            await log.come_to_rest(self._not_led())

    # --- what followers get of a leader ----------------------------------------------------------------------------

    async def read(self, read: Read) -> bytes:
        """Whole batches for a follower."""
        return await self._served.read(read)

    async def snapshot(self, request: SnapshotRequest) -> SnapshotAnswer:
        """The delivery state that a follower begins anew with."""
        if self._replica.leader is None or request.leader_epoch != self.leader_epoch:
            return SnapshotAnswer(self.leader_epoch, -1, refusal=FetchRefusal.NOT_LEADER.value)
        if self.partition is not None:
            offset, state = self.partition.delivery.committed_state()
        else:
            try:
                offset, state = await self._context.snapshots.read(self.logs[LogKind.DELIVERY])
            except DiskRefusedError as error:
                raise refusal_of(error, retry_after_ms=UNAVAILABLE_RETRY_MS) from error
            except (CheckpointDamagedError, DiskFailedError) as error:
                self.damaged_logs.state_is_unreadable()
                raise ServerError(ProblemCode.RECORDS_CORRUPT, str(error)) from error
        return SnapshotAnswer(self.leader_epoch, offset, state)

    async def compact_delivery(self) -> None:
        """Trim a follower's delivery log: its committed part becomes a snapshot, as a leader's does."""
        if self.role is Role.FOLLOWER and self._follower_effects.is_idle:
            high_watermark = self.high_watermarks[LogKind.DELIVERY]
            await self._follower_effects.compact(high_watermark=high_watermark, leader_epoch=self.leader_epoch)
