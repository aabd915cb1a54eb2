"""A node around one replica: performs what the machines ask for, with delays, and feeds completions back."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from storage.replication.assignment import ReplicaIdentity
from storage.replication.fetch_client import FetchClient
from storage.replication.fetch_server import FetchServer
from storage.replication.follower_events import (
    AppendBatches,
    Contradiction,
    FetchFrom,
    HighWatermarkLearned,
    LogChanged,
    LogUnchanged,
    LookForLeader,
    RaiseLogStart,
    RestartLog,
    TruncateLog,
)
from storage.replication.leader_events import (
    AckAwaited,
    AcksReached,
    AcksUnknown,
    AskWhoIsHeard,
    AssignmentSeen,
    ChangeIsr,
    FetchRefusal,
    FetchVerdict,
    FollowerFetched,
    FollowersHeard,
    ForgetHandOvers,
    HandOver,
    HighWatermarkAdvanced,
    LogsMoved,
    ReadAssignment,
    ServiceChanged,
)
from storage.replication.messages import FetchAnswer, FetchMode, FetchRequest, PartitionFetch, PartitionId
from storage.replication.partition_replica import PartitionReplica
from storage.replication.replica_events import (
    ComeToRest,
    GiveUpPlace,
    LogDamaged,
    LogsAtRest,
    ReplicaEffect,
    ReplicaEvent,
    Role,
    RoleTaken,
)
from storage.replication.served_session import LogView
from tests.property.replication.model_log import Batch, ModelLog, Record, decode_batches
from tests.property.replication.options import SETTINGS, topic_of

if TYPE_CHECKING:
    from tests.property.replication.model_cluster import ModelCluster

PARTITION = PartitionId("t", 0)
LOGS = 2


class Disk:
    """What survives the process: the logs, a checkpoint of the high watermarks, the directory's id."""

    def __init__(self, directory_id: str) -> None:
        self.directory_id = directory_id
        self.logs = [self.new_log() for _ in range(LOGS)]
        self.high_watermarks = [0] * LOGS

    def new_log(self) -> ModelLog:
        return ModelLog()


class ModelNode:
    """`incarnation` 0: never started."""

    def __init__(self, cluster: "ModelCluster", node_id: int) -> None:
        self.cluster = cluster
        self.node_id = node_id
        self.incarnation = 0
        self.is_up = False
        self.is_paused = False
        self.directories = 0
        self.disk = self.new_disk()

    def new_disk(self) -> Disk:
        self.directories += 1
        return Disk(f"d{self.node_id}.{self.directories}")

    @property
    def identity(self) -> ReplicaIdentity:
        return ReplicaIdentity(self.node_id, self.incarnation, self.disk.directory_id)

    # --- life --------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        self.incarnation += 1
        self.is_up = True
        self.is_paused = False
        self.is_coordinated = True
        self.pending_io = 0
        self.rest_serial: int | None = None
        self.wake_ms: int | None = None
        self.heard: dict[int, int] = {}
        self.clients: dict[tuple[int, FetchMode], FetchClient] = {}
        self.servers: dict[tuple[int, FetchMode], FetchServer] = {}
        self.postponed: list[Callable[[], None]] = []
        self.replica = PartitionReplica(
            self.identity,
            logs=self.disk.logs,
            high_watermarks=[
                min(high, log.durable_end) for high, log in zip(self.disk.high_watermarks, self.disk.logs, strict=True)
            ],
            topic=topic_of(self.cluster.options),
            settings=SETTINGS,
        )
        if self.cluster.is_healed or self.cluster.random.random() < 0.7:  # recovery does not look at everything
            self.notice_rot()

    def stop(self, *, is_power_loss: bool) -> None:
        self.is_up = False
        for log in self.disk.logs:
            log.crash(self.cluster.random, is_power_loss=is_power_loss)

    def later(self, delay_ms: int, work: Callable[[], None]) -> None:
        """Do `work` in this life of the node, when it is not paused."""
        incarnation = self.incarnation

        def run() -> None:
            if self.is_up and self.incarnation == incarnation:
                if self.is_paused:
                    self.postponed.append(run)
                else:
                    work()
                    self.pump()

        self.cluster.at(delay_ms, run)

    def resume(self) -> None:
        self.is_paused = False
        postponed, self.postponed = self.postponed, []
        self.cluster.random.shuffle(postponed)
        for work in postponed:
            work()

    # --- the machine -------------------------------------------------------------------------------------------------

    def step(self, event: ReplicaEvent) -> None:
        self.perform(self.replica.step(event, self.cluster.now_ms))

    def perform(self, effects: list[ReplicaEffect]) -> None:
        for effect in effects:
            match effect:
                case FetchVerdict():
                    self.verdict = effect
                case HighWatermarkAdvanced():
                    self.cluster.checks.advanced(self, effect.log, effect.high_watermark)
                    self._checkpoint(effect.log, effect.high_watermark)
                case HighWatermarkLearned():
                    self.cluster.checks.learned(self, effect.log, effect.high_watermark)
                    self._checkpoint(effect.log, effect.high_watermark)
                case AcksReached():
                    self.cluster.checks.acknowledged(self, effect.tokens)
                case AcksUnknown():
                    self.cluster.checks.unknown(effect.tokens)
                case ChangeIsr():
                    self.cluster.change_isr(self, effect.change)
                case AskWhoIsHeard():
                    self.step(FollowersHeard(dict(self.heard)))
                case ReadAssignment():
                    self.cluster.read_assignment(self)
                case LookForLeader():
                    self.cluster.look_for_leader(self)
                case ComeToRest():
                    self._come_to_rest(effect.serial)
                case ServiceChanged():
                    self.cluster.count(effect.service.value)
                case GiveUpPlace():
                    self.cluster.give_up(self, effect.isr_floor)
                case HandOver():
                    self.cluster.hand_over(self, effect)
                case ForgetHandOvers():
                    self.cluster.forget_hand_overs(self)
                case RoleTaken():
                    self.cluster.checks.role_taken(self, effect.role, effect.leader_epoch)
                case FetchFrom():
                    self._offer(effect)
                case Contradiction():
                    self.cluster.checks.fail(f"node {self.node_id}: {effect.reason}")
                case AppendBatches() | TruncateLog() | RestartLog() | RaiseLogStart():
                    self._change_log(effect)

    def _checkpoint(self, log: int, high_watermark: int) -> None:
        if self.cluster.random.random() < 0.3:
            self.disk.high_watermarks[log] = high_watermark

    def _come_to_rest(self, serial: int) -> None:
        self.rest_serial = serial
        for client in self.clients.values():
            client.withdraw(PARTITION)
        for server in self.servers.values():
            server.refused(PARTITION, FetchVerdict(self.identity, self.replica.leader_epoch, FetchRefusal.NOT_LEADER))
        self._rest_if_idle()

    def _rest_if_idle(self) -> None:
        if self.rest_serial is not None and not self.pending_io:
            serial, self.rest_serial = self.rest_serial, None
            self.later(0, lambda: self.step(LogsAtRest(serial)))

    # --- disk --------------------------------------------------------------------------------------------------------

    def io(self, work: Callable[[], None]) -> None:
        self.pending_io += 1

        def done() -> None:
            self.pending_io -= 1
            work()
            self._rest_if_idle()

        self.later(self.cluster.disk_delay_ms(self), done)

    def _change_log(self, effect: AppendBatches | TruncateLog | RestartLog | RaiseLogStart) -> None:
        log = self.disk.logs[effect.log]
        match effect:
            case AppendBatches():
                for batch in decode_batches(effect.batches):
                    log.append(batch)
                end = log.written_end
                self.io(lambda: self._changed(effect, lambda: log.sync(end)))
            case TruncateLog():
                self.cluster.count("truncation")
                self.io(lambda: self._changed(effect, lambda: log.truncate(effect.offset)))
            case RestartLog():
                self.cluster.count("restart" if log.rotten is None else "repair")
                self._restart_log(effect)
            case RaiseLogStart():
                log.remove_before(effect.offset)

    def _restart_log(self, effect: RestartLog) -> None:
        """With the leader's snapshot (what it has below the offset), as long as it still leads and can be reached."""
        follower = self.replica.follower
        assert follower is not None
        leader = self.cluster.nodes[follower.leader]
        records: list[Record] = leader.disk.logs[effect.log].records[: effect.offset]
        still_leads = leader.leads and leader.replica.leader_epoch == follower.leader_epoch
        if still_leads and self.cluster.random.random() < 0.8:
            self.io(lambda: self._changed(effect, lambda: self.disk.logs[effect.log].restart(records)))
        else:
            self.io(lambda: self.step(LogUnchanged(effect.log, effect.serial)))

    def _changed(self, effect: AppendBatches | TruncateLog | RestartLog, work: Callable[[], None]) -> None:
        work()
        self.step(LogChanged(effect.log, effect.serial))

    def append(self, log_number: int, values: list[int], acks: int, token: int) -> None:
        """As leader. The caller has asked for a refusal."""
        log = self.disk.logs[log_number]
        log.append(Batch(log.written_end, self.replica.leader_epoch, values))
        end = log.written_end
        self.step(LogsMoved())
        if acks:
            self.step(AckAwaited(log_number, end, acks, token))

        def synced() -> None:
            log.sync(end)
            self.step(LogsMoved())

        self.io(synced)

    def trim(self, log_number: int) -> None:
        """As leader: what is committed may be removed from the start of the log."""
        assert self.replica.leader is not None
        log = self.disk.logs[log_number]
        end = self.replica.leader.high_watermarks[log_number]
        if end > log.log_start:
            log.remove_before(self.cluster.random.randint(log.log_start, end))

    @property
    def is_rotten(self) -> bool:
        return any(log.rotten is not None for log in self.disk.logs)

    def rot(self) -> None:
        number = self.cluster.random.randrange(LOGS)
        log = self.disk.logs[number]
        if log.log_start < log.durable_end:
            log.rotten = self.cluster.random.randrange(log.log_start, log.durable_end)
            self.cluster.count("rotten")

    def notice_rot(self, *, only_met: bool = False) -> None:
        for number, log in enumerate(self.disk.logs):
            if log.rotten is not None and (log.has_met_rot or not only_met):
                self.step(LogDamaged(number))

    # --- sessions ----------------------------------------------------------------------------------------------------

    def _offer(self, effect: FetchFrom) -> None:
        assert self.replica.follower is not None
        mode = self.replica.follower.mode
        if mode is FetchMode.CATCH_UP:
            self.cluster.count("catch up")
        for (leader, client_mode), client in self.clients.items():
            if (leader, client_mode) != (effect.leader, mode):
                client.withdraw(PARTITION)
        key = (effect.leader, mode)
        if key not in self.clients:
            self.clients[key] = FetchClient(self.identity, mode, SETTINGS)
        self.clients[key].offer(PartitionFetch(PARTITION, effect.leader_epoch, list(effect.positions)))

    def _views(self) -> tuple[LogView, ...]:
        leader = self.replica.leader
        if leader is None:
            return ()
        sends_unsynced = self.cluster.options.sends_unsynced
        return tuple(
            LogView(log.log_start, high, log.written_end if sends_unsynced else log.durable_end)
            for log, high in zip(self.disk.logs, leader.high_watermarks, strict=True)
        )

    def fetch_arrived(self, request: FetchRequest) -> None:
        key = (request.follower.node_id, FetchMode(request.mode))
        server = self.servers.setdefault(key, FetchServer(SETTINGS))
        refused = server.accept(request, self.cluster.now_ms)
        self._send_answers(key, [*([refused] if refused else []), *server.take_abandoned()])
        if refused:
            return
        for fetch in request.partitions:
            self.step(FollowerFetched(request.follower, fetch.leader_epoch, tuple(fetch.positions)))
            views = () if self.verdict.refusal else self._views()
            server.judged(fetch.id, self.verdict, views)
        if server.partitions:
            now_ms, node_id = self.cluster.now_ms, request.follower.node_id
            is_back = now_ms - self.heard.get(node_id, now_ms) >= SETTINGS.contact_ms
            self.heard[node_id] = now_ms
            if is_back or not self.is_coordinated:
                self.step(FollowersHeard(dict(self.heard)))

    def answer_arrived(self, leader: int, mode: FetchMode, answer: FetchAnswer) -> None:
        client = self.clients.get((leader, mode))
        if client is not None:
            for answered in client.answered(answer, self.cluster.now_ms):
                self.step(answered)

    def pump(self) -> None:
        """Send what is to be sent, answer what is due, look at deadlines, until nothing is left to do now."""
        now_ms = self.cluster.now_ms
        deadline_ms = self.replica.next_deadline()
        if deadline_ms is not None and deadline_ms <= now_ms:
            self.perform(self.replica.time_passed(now_ms))
        for (leader, _), client in self.clients.items():
            client.expire(now_ms)
            while (request := client.next_request(now_ms)) is not None:
                self.cluster.send_fetch(self, leader, request)
            client.check_invariants()
        if self.replica.leader is not None:
            for server in self.servers.values():
                server.changed(PARTITION, self._views())
        for (follower, mode), server in self.servers.items():
            while server.is_due(now_ms):
                self._answer(follower, mode, server)
            server.check_invariants()
        self.replica.check_invariants()
        self.cluster.checks.check()
        self._schedule()

    def _answer(self, follower: int, mode: FetchMode, server: FetchServer) -> None:
        making = server.begin_answer()
        while (read := making.next_read()) is not None:
            log = self.disk.logs[read.log]
            data = log.read(read.position.offset, read.until, read.bytes_max, takes_one=read.takes_one)
            making.add(read, data)
            if log.has_met_rot:
                self.later(0, lambda: self.notice_rot(only_met=True))
        self._send_answers((follower, mode), [making.finish()])

    def _send_answers(self, session: tuple[int, FetchMode], answers: list[FetchAnswer]) -> None:
        follower, mode = session
        for answer in answers:
            self.cluster.send_answer(self, follower, mode, answer)

    def _schedule(self) -> None:
        parts = [self.replica, *self.clients.values(), *self.servers.values()]
        deadlines = [deadline for part in parts if (deadline := part.next_deadline()) is not None]
        wake_ms = min(deadlines, default=None)
        now_ms = self.cluster.now_ms
        if wake_ms is not None and (self.wake_ms is None or wake_ms < self.wake_ms or self.wake_ms <= now_ms):
            self.wake_ms = max(wake_ms, now_ms + 1)
            self.later(self.wake_ms - now_ms, lambda: None)

    def learn_assignment(self) -> None:
        self.step(AssignmentSeen(self.cluster.store.assignment))

    @property
    def leads(self) -> bool:
        return self.is_up and self.replica.role is Role.LEADER

    def admits(self, acks: int) -> bool:
        return self.replica.leader is not None and self.replica.leader.refusal(acks) is None
