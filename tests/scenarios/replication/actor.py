"""A replica of a scenario: does what its machine asks for at once, or when the script says so, and tells of it."""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from storage.replication.assignment import ReplicaIdentity
from storage.replication.fetch_server import FetchServer
from storage.replication.follower_events import (
    Answered,
    AppendBatches,
    FetchFrom,
    HighWatermarkLearned,
    LogChanged,
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
    FetchVerdict,
    FollowerFetched,
    FollowersHeard,
    ForgetHandOvers,
    HandOver,
    HighWatermarkAdvanced,
    LogsMoved,
    ReadAssignment,
)
from storage.replication.messages import FetchMode, FetchRequest, PartitionAnswer, PartitionFetch, PartitionId
from storage.replication.partition_replica import PartitionReplica
from storage.replication.replica_events import (
    ComeToRest,
    GiveUpPlace,
    LogsAtRest,
    ReplicaEffect,
    ReplicaEvent,
    RoleTaken,
)
from storage.replication.replication_settings import ReplicationSettings
from storage.replication.served_session import LogView
from tests.property.replication.model_log import Batch, decode_batches
from tests.property.replication.model_node import Disk
from tests.scenarios.replication import narration

if TYPE_CHECKING:
    from tests.scenarios.replication.stage import Stage

PARTITION = PartitionId("t", 0)
SETTINGS = ReplicationSettings()
Wish = ChangeIsr | ReadAssignment | HandOver | ForgetHandOvers | GiveUpPlace


class Actor:
    """`wishes` are what it wants of the coordination store, the last of each kind, until the script grants them."""

    def __init__(self, stage: "Stage", node_id: int) -> None:
        self.stage = stage
        self.node_id = node_id
        self.incarnation = 0
        self.directories = 1
        self.disk = Disk(f"d{node_id}.1")
        self.is_up = False
        self.is_disk_slow = False

    @property
    def identity(self) -> ReplicaIdentity:
        return ReplicaIdentity(self.node_id, self.incarnation, self.disk.directory_id)

    @property
    def is_rotten(self) -> bool:
        return bool(self.is_up and self.replica.damaged)

    @property
    def leads(self) -> bool:
        return self.is_up and self.replica.leader is not None

    # --- life --------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        self.incarnation += 1
        self.is_up = True
        self.is_disk_slow = False
        self.fetch: FetchFrom | None = None
        self.wishes: list[Wish] = []
        self._disk_work: list[Callable[[], None]] = []
        self._rest_serial: int | None = None
        known = zip(self.disk.high_watermarks, self.disk.logs, strict=True)
        self.replica = PartitionReplica(
            self.identity,
            logs=self.disk.logs,
            high_watermarks=[min(high_watermark, log.durable_end) for high_watermark, log in known],
            topic=self.stage.topic,
            settings=SETTINGS,
        )

    def stop(self, *, is_power_loss: bool) -> None:
        """What is written survives a killed process; a loss of power leaves only what is durable."""
        self.is_up = False
        for log in self.disk.logs:
            if not is_power_loss:
                log.sync(log.written_end)
            log.crash(Random(0), is_power_loss=True)

    def wipe(self) -> None:
        self.directories += 1
        self.disk = Disk(f"d{self.node_id}.{self.directories}")

    # --- the machine -------------------------------------------------------------------------------------------------

    def step(self, event: ReplicaEvent) -> None:
        self.perform(self.replica.step(event, self.stage.now_ms))

    def perform(self, effects: list[ReplicaEffect]) -> None:
        for effect in effects:
            line = narration.told(effect)
            if line is not None and effect not in self.wishes:
                self.stage.tell(self.node_id, line)
            self._do(effect)
        if not self.is_disk_slow:
            self.finish_disk_work()

    def _do(self, effect: ReplicaEffect) -> None:
        checks = self.stage.checks
        match effect:
            case FetchVerdict():
                self.verdict = effect
            case HighWatermarkAdvanced():
                checks.advanced(self, effect.log, effect.high_watermark)
            case HighWatermarkLearned():
                checks.learned(self, effect.log, effect.high_watermark)
            case AcksReached():
                checks.acknowledged(self, effect.tokens)
            case AcksUnknown():
                checks.unknown(effect.tokens)
            case RoleTaken():
                checks.role_taken(self, effect.role, effect.leader_epoch)
            case ChangeIsr() | ReadAssignment() | HandOver() | ForgetHandOvers() | GiveUpPlace():
                self.wishes = [*(each for each in self.wishes if type(each) is not type(effect)), effect]
            case AskWhoIsHeard():
                self.step(FollowersHeard(self.stage.heard_ms(self)))
            case FetchFrom():
                self.fetch = effect
            case ComeToRest():
                self.fetch = None
                self._rest_serial = effect.serial
            case AppendBatches() | TruncateLog() | RestartLog():
                self.fetch = None
                self._change_log(effect)
            case RaiseLogStart():
                self.disk.logs[effect.log].remove_before(effect.offset)

    def time_passed(self) -> None:
        self.perform(self.replica.time_passed(self.stage.now_ms))

    def learn_assignment(self) -> None:
        self.step(AssignmentSeen(self.stage.store.assignment))

    # --- its disk ----------------------------------------------------------------------------------------------------

    def _change_log(self, effect: AppendBatches | TruncateLog | RestartLog) -> None:
        log = self.disk.logs[effect.log]
        match effect:
            case AppendBatches():
                batches = decode_batches(effect.batches)
                self.stage.tell(self.node_id, f"writes {self.stage.names.of([v for b in batches for v in b.values])}")
                for batch in batches:
                    log.append(batch)
                end = log.written_end
                self._disk_work.append(lambda: self._changed(effect, lambda: log.sync(end)))
            case TruncateLog():
                self._disk_work.append(lambda: self._changed(effect, lambda: log.truncate(effect.offset)))
            case RestartLog():
                assert self.replica.follower is not None
                leader = self.stage.nodes[self.replica.follower.leader]
                records = leader.disk.logs[effect.log].records[: effect.offset]
                self._disk_work.append(lambda: self._changed(effect, lambda: log.restart(records)))

    def _changed(self, effect: AppendBatches | TruncateLog | RestartLog, work: Callable[[], None]) -> None:
        work()
        self.step(LogChanged(effect.log, effect.serial))

    def finish_disk_work(self) -> None:
        while self._disk_work:
            self._disk_work.pop(0)()
        if self._rest_serial is not None:
            serial, self._rest_serial = self._rest_serial, None
            self.step(LogsAtRest(serial))

    # --- as leader ---------------------------------------------------------------------------------------------------

    def append(self, log_number: int, values: list[int], *, acks: int, token: int) -> None:
        log = self.disk.logs[log_number]
        log.append(Batch(log.written_end, self.replica.leader_epoch, values))
        end = log.written_end
        self.step(LogsMoved())
        if acks:
            self.step(AckAwaited(log_number, end, acks, token))

        def synced() -> None:
            log.sync(end)
            self.step(LogsMoved())

        self._disk_work.append(synced)
        if not self.is_disk_slow:
            self.finish_disk_work()

    def answer(self, follower: ReplicaIdentity, fetch: FetchFrom) -> Answered:
        """Of a session that is new with each fetch, as nothing depends on its memory."""
        self.step(FollowerFetched(follower, fetch.leader_epoch, fetch.positions))
        server = FetchServer(SETTINGS)
        partition = PartitionFetch(PARTITION, fetch.leader_epoch, list(fetch.positions))
        live = FetchMode.LIVE
        server.accept(FetchRequest(follower, live, 1, 0, [partition], [], SETTINGS.fetch_bytes_max, 0), 0)
        server.judged(PARTITION, self.verdict, () if self.verdict.refusal else self._views())
        making = server.begin_answer()
        batches = [b"" for _ in fetch.positions]
        while (read := making.next_read()) is not None:
            log = self.disk.logs[read.log]
            batches[read.log] = log.read(read.position.offset, read.until, read.bytes_max, takes_one=read.takes_one)
            making.add(read, batches[read.log])
        [answer] = making.finish().partitions
        self._tell_answer(follower.node_id, answer, batches)
        return Answered(answer, tuple(batches))

    def _tell_answer(self, to: int, answer: PartitionAnswer, batches: list[bytes]) -> None:
        names = [self.stage.names.of([v for b in decode_batches(data) for v in b.values]) for data in batches]
        self.stage.tell(f"{self.node_id} > {to}", narration.answered(answer, names))

    def _views(self) -> tuple[LogView, ...]:
        leader = self.replica.leader
        assert leader is not None
        known = zip(self.disk.logs, leader.high_watermarks, strict=True)
        return tuple(LogView(log.log_start, high, log.written_end) for log, high in known)
