"""Replicas over logs in memory, told by hand what happens."""

from storage.replication.assignment import Assignment, IsrMember, ReplicaIdentity
from storage.replication.divergence import LogPosition
from storage.replication.follower_replica import FollowerReplica
from storage.replication.leader_events import FetchVerdict, FollowerFetched, LogsMoved
from storage.replication.leader_replica import LeaderReplica
from storage.replication.messages import LogAnswer, PartitionAnswer, PartitionId
from storage.replication.replication_settings import ReplicationSettings, TopicReplication
from tests.property.replication.model_log import Batch, ModelLog

PARTITION = PartitionId("t", 0)
SETTINGS = ReplicationSettings(waiting_acks_max=3, live_lag_records_max=5)
LAG_MS = 1_000


def identity(node_id: int, incarnation: int = 1, directory: str = "") -> ReplicaIdentity:
    return ReplicaIdentity(node_id, incarnation, directory or f"d{node_id}")


def members(*node_ids: int) -> tuple[IsrMember, ...]:
    return tuple(IsrMember(node_id, f"d{node_id}") for node_id in node_ids)


def assignment(
    *, leader: int = 1, epoch: int = 5, isr: tuple[IsrMember, ...] = members(1, 2, 3), revision: int = 10
) -> Assignment:
    return Assignment(leader, 1, epoch, (1, 2, 3), isr, revision)


def log_of(*epochs: int, durable: int | None = None) -> ModelLog:
    """One record per given epoch: `log_of(1, 1, 2)` has epoch 1 from 0 and epoch 2 from 2."""
    log = ModelLog()
    for offset, epoch in enumerate(epochs):
        log.append(Batch(offset, epoch, [offset]))
    log.sync(len(epochs) if durable is None else durable)
    return log


class Leader:
    """The leader of node 1; `messages` and `records` are its logs."""

    def __init__(
        self,
        *,
        messages: ModelLog | None = None,
        records: ModelLog | None = None,
        isr: tuple[IsrMember, ...] = members(1, 2, 3),
        min_insync: int = 1,
    ) -> None:
        self.messages = messages or ModelLog()
        self.records = records or ModelLog()
        self.machine = LeaderReplica(
            identity(1),
            assignment(isr=isr),
            logs=[self.messages, self.records],
            high_watermarks=[0, 0],
            topic=TopicReplication(min_insync_replicas=min_insync, max_replica_lag_ms=LAG_MS),
            settings=SETTINGS,
            now_ms=0,
        )
        self.effects = list(self.machine.start())

    def step(self, event: object, now_ms: int = 0) -> list[object]:
        effects = list(self.machine.step(event, now_ms))  # type: ignore[arg-type]
        self.effects += effects
        return effects

    def append(self, count: int = 1, *, now_ms: int = 0, durable: bool = True) -> list[object]:
        self.messages.append(Batch(self.messages.written_end, self.machine.leader_epoch, [0] * count))
        if durable:
            self.messages.sync(self.messages.written_end)
        return self.step(LogsMoved(), now_ms)

    def fetched(
        self,
        follower: ReplicaIdentity,
        messages: tuple[int, int],
        records: tuple[int, int] = (0, -1),
        *,
        epoch: int = 5,
        now_ms: int = 0,
    ) -> list[object]:
        positions = (LogPosition(*messages), LogPosition(*records))
        return self.step(FollowerFetched(follower, epoch, positions), now_ms)

    def verdict(self, effects: list[object]) -> FetchVerdict:
        [verdict] = [effect for effect in effects if isinstance(effect, FetchVerdict)]
        return verdict

    @property
    def high_watermark(self) -> int:
        return self.machine.high_watermarks[0]


def follower_of(
    log: ModelLog, *, high_watermark: int = 0, epoch: int = 5, leader: int = 1
) -> tuple[FollowerReplica, ModelLog]:
    """Node 2's replica with `log` and an empty second one."""
    machine = FollowerReplica(
        identity(2),
        assignment(leader=leader, epoch=epoch),
        logs=[log, ModelLog()],
        high_watermarks=[high_watermark, 0],
        settings=SETTINGS,
    )
    machine.start()
    return machine, log


def answer(*logs: LogAnswer, epoch: int = 5, refusal: str = "") -> PartitionAnswer:
    """The second log, where it is not given, has no news."""
    filled = [*logs, LogAnswer(LogPosition(0, -1), 0, 0, 0)][:2] if logs else []
    return PartitionAnswer(PARTITION, epoch, refusal, filled)
