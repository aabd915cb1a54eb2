"""Clusters of a few lists, as mirrors see them, on a loop of virtual time. What is hard about real ones is here as
well: answers get lost, appends become readable late or never, processes die and are replaced while they are at work.
"""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from acklog.catalog import (
    Group,
    GroupChanges,
    GroupOffsets,
    GroupSettings,
    PartitionProgress,
    PartitionState,
    Topic,
    TopicChanges,
    TopicConfig,
    TopicDescription,
)
from acklog.client.producer_calls import OpenedProducer
from acklog.errors import (
    AcklogError,
    CannotConnect,
    ConnectionFailed,
    DeadlineExceeded,
    GroupNotFound,
    IdempotencyKeyReused,
    LogDiverged,
    OffsetOutOfRange,
    ProducerFenced,
    ProducerUnknown,
    TopicNotFound,
)
from acklog.messages import OutgoingMessage, RecordsPage, Sent, StoredMessage
from acklog.positions import CommitResult, CommittedPosition, PartitionCommit, Position, ProblemItem
from acklog.wire.identifiers import id_from_bits, message_id_text

PAGE_MESSAGES_MAX = 7


@dataclass(slots=True)
class FakeRecord:
    message: StoredMessage
    epoch: int
    dedup_id: str | None = None


@dataclass(slots=True)
class FakePartition:
    """`committed` is the high watermark; what is behind it is being appended."""

    log_start: int = 0
    records: list[FakeRecord] = field(default_factory=list)
    committed: int = 0
    epoch: int = 1
    names: dict[str, int] = field(default_factory=dict)
    """Where the message of a dedup id is."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def end(self) -> int:
        return self.log_start + len(self.records)

    def at(self, offset: int) -> FakeRecord:
        return self.records[offset - self.log_start]

    def commit(self, end: int) -> None:
        self.committed = max(self.committed, end)
        self._tell()

    def cut(self, end: int) -> None:
        """A new leader has no more than that."""
        del self.records[max(0, end - self.log_start) :]
        self.names = {name: offset for name, offset in self.names.items() if offset < end}
        self.committed = min(self.committed, end)
        self.epoch += 1
        self._tell()

    def remove_before(self, offset: int) -> None:
        del self.records[: offset - self.log_start]
        self.log_start = offset

    def _tell(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


@dataclass(slots=True)
class FakeTopic:
    topic: Topic
    partitions: list[FakePartition]
    epochs: dict[str, int] = field(default_factory=dict)
    instances: dict[str, str] = field(default_factory=dict)


def config_of(changes: TopicChanges) -> TopicConfig:
    usual = TopicConfig("time", 7 * 86_400_000, -1, 1 << 27, 300_000, 1, 10_000)
    return msgspec.structs.replace(usual, **changes)


class FakeCluster:
    """`faults` is how likely each step of a call is to go wrong, 0 to 1."""

    def __init__(self, chance: random.Random, *, faults: float = 0.0) -> None:
        self.chance = chance
        self.faults = faults
        self.found: dict[str, FakeTopic] = {}
        self.found_groups: dict[str, Group] = {}
        self.places: dict[tuple[str, str, int], PartitionProgress] = {}
        self.under_way: list[asyncio.Task[Any]] = []

    def make(self, name: str, partitions: int, **changes: Any) -> FakeTopic:
        topic_id = id_from_bits(self.chance.getrandbits(64))
        topic = Topic(name, topic_id, partitions, 1, config_of(changes), 0)  # type: ignore[arg-type]
        made = self.found[name] = FakeTopic(topic, [FakePartition() for _ in range(partitions)])
        return made

    def grow(self, name: str, partitions: int) -> None:
        topic = self.topic(name)
        topic.topic.partitions = max(partitions, topic.topic.partitions)
        topic.partitions += [FakePartition() for _ in range(topic.topic.partitions - len(topic.partitions))]

    def topic(self, name: str) -> FakeTopic:
        if name not in self.found:
            raise TopicNotFound(f"there is no topic {name}", code="TOPIC_NOT_FOUND", retriable=False)
        return self.found[name]

    def append(self, name: str, message: OutgoingMessage) -> int:
        """At once, and committed; its offset."""
        partition = self.topic(name).partitions[message.partition or 0]
        offset = self._append(name, message)
        partition.commit(partition.end)
        return offset

    def _append(self, name: str, message: OutgoingMessage) -> int:
        topic = self.topic(name)
        number = message.partition or 0
        partition = topic.partitions[number]
        offset = partition.end
        stored = StoredMessage(
            message_id=message_id_text(topic.topic.id, number, partition.epoch, offset),
            topic=name,
            partition=number,
            offset=offset,
            key=message.key,
            json_body=msgspec.Raw(msgspec.json.encode(message.body)),
            headers=dict(message.headers or {}),
            tags=list(message.tags or []),
            timestamp_ms=message.timestamp_ms or 0,
            append_time_ms=0,
        )
        partition.records.append(FakeRecord(stored, partition.epoch, message.dedup_id))
        if message.dedup_id is not None:
            partition.names[message.dedup_id] = offset
        return offset

    # --- what a named producer's request does ------------------------------------------------------------------------

    async def take(
        self, name: str, messages: Sequence[OutgoingMessage], opened: OpenedProducer
    ) -> list[Sent | AcklogError]:
        """As a leader would: names that are known are answered as before, the rest is appended together."""
        topic = self.topic(name)
        if opened.producer_id not in topic.epochs:
            raise ProducerUnknown("no such producer", code="PRODUCER_UNKNOWN", retriable=False)
        if topic.epochs[opened.producer_id] != opened.epoch:
            raise ProducerFenced("another has the name", code="PRODUCER_FENCED", retriable=False)
        partition = topic.partitions[messages[0].partition or 0]
        while any(partition.names.get(each.dedup_id or "", -1) >= partition.committed for each in messages):
            await partition.changed.wait()
        results: list[Sent | AcklogError | None] = [self._known(partition, each) for each in messages]
        new = [index for index, result in enumerate(results) if result is None]
        for index in new:
            offset = self._append(name, messages[index])
            results[index] = Sent(partition.at(offset).message.message_id, messages[index].partition or 0, offset)
        if new:
            await self._until_committed(partition, partition.end, partition.epoch)
        return [each for each in results if each is not None]

    def _known(self, partition: FakePartition, message: OutgoingMessage) -> Sent | AcklogError | None:
        offset = partition.names.get(message.dedup_id or "")
        if offset is None:
            return None
        found = partition.at(offset).message
        if bytes(found.json_body) != msgspec.json.encode(message.body):  # type: ignore[arg-type]
            return IdempotencyKeyReused("another content", code="IDEMPOTENCY_KEY_REUSED", retriable=False)
        return Sent(found.message_id, found.partition, offset)

    async def _until_committed(self, partition: FakePartition, end: int, epoch: int) -> None:
        """At once, later, or never, as the leader fails before."""
        if self.faults and self.chance.random() < 0.5:
            loop = asyncio.get_running_loop()
            self.under_way.append(loop.create_task(self._commit_later(partition, end, epoch)))
            while partition.committed < end and partition.epoch == epoch:
                await partition.changed.wait()
            if partition.epoch != epoch:
                raise ConnectionFailed("the leader is gone")
        else:
            partition.commit(end)

    async def _commit_later(self, partition: FakePartition, end: int, epoch: int) -> None:
        await asyncio.sleep(self.chance.choice([0.01, 0.5, 5.0]))
        if partition.epoch != epoch:
            return
        if self.chance.random() < self.faults:
            partition.cut(partition.committed)
        else:
            partition.commit(end)


class FakeEnd:
    """A mirror's connection to a cluster. From when it `is_dead`, nothing gets through: its process was killed."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster = cluster
        self.is_dead = False
        self.is_cut = False

    async def _before(self) -> None:
        await asyncio.sleep(self.cluster.chance.random() * 0.01)
        if self.is_dead or self.is_cut or self.cluster.chance.random() < self.cluster.faults:
            raise CannotConnect("no way there")

    def _after(self) -> None:
        if self.is_dead or self.is_cut or self.cluster.chance.random() < self.cluster.faults:
            raise ConnectionFailed("the answer is lost")

    async def topics(self) -> Sequence[Topic]:
        await self._before()
        return [each.topic for each in self.cluster.found.values()]

    async def describe(self, topic: str) -> TopicDescription:
        await self._before()
        found = self.cluster.topic(topic)
        states = [
            PartitionState(number, log_start=each.log_start, high_watermark=each.committed)
            for number, each in enumerate(found.partitions)
        ]
        return TopicDescription(**msgspec.structs.asdict(found.topic), partition_states=states)

    async def partition(self, topic: str, partition: int) -> PartitionState:
        return (await self.describe(topic)).partition_states[partition]

    async def read(
        self, topic: str, partition: int, *, offset: int | str, epoch: int | None, max_bytes: int
    ) -> RecordsPage:
        await self._before()
        there = self.cluster.topic(topic).partitions[partition]
        begin = there.log_start if isinstance(offset, str) else offset
        if not there.log_start <= begin <= there.committed:
            raise OffsetOutOfRange(f"{begin} is out of range", code="OFFSET_OUT_OF_RANGE", retriable=False)
        if epoch is not None and begin > there.log_start:
            before = there.at(begin - 1)
            if before.epoch != epoch:
                first = next(each.message.offset for each in there.records if each.epoch > epoch)
                raise LogDiverged("cut", code="LOG_DIVERGED", retriable=False, extra={"divergedAt": first})
        end = min(there.committed, begin + self.cluster.chance.randint(1, PAGE_MESSAGES_MAX))
        messages = [there.at(each).message for each in range(begin, end)]
        last = there.at(end - 1).epoch if end > begin else None
        return RecordsPage(messages, begin, end, there.log_start, there.committed, last)

    async def create_topic(self, topic: str, partitions: int | None, config: TopicChanges) -> None:
        await self._before()
        if topic not in self.cluster.found:
            self.cluster.make(topic, partitions or 1, **config)
        self._after()

    async def grow_topic(self, topic: str, partitions: int) -> None:
        await self._before()
        self.cluster.grow(topic, partitions)
        self._after()

    async def open_producer(self, topic: str, name: str, instance: str) -> OpenedProducer:
        await self._before()
        found = self.cluster.topic(topic)
        producer_id = f"{found.topic.id}.{name}"
        if found.instances.get(name) != instance:
            found.instances[name] = instance
            found.epochs[producer_id] = found.epochs.get(producer_id, 0) + 1
        opened = OpenedProducer(producer_id, found.epochs[producer_id])
        self._after()
        return opened

    async def send(
        self, topic: str, messages: Sequence[OutgoingMessage], opened: OpenedProducer, sequence: int
    ) -> list[Sent | AcklogError]:
        await self._before()
        # What the server does goes on, whatever becomes of the caller.
        work = asyncio.get_running_loop().create_task(self.cluster.take(topic, messages, opened))
        self.cluster.under_way.append(work)
        work.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            results = await asyncio.wait_for(asyncio.shield(work), 2.0)
        except TimeoutError as error:
            raise DeadlineExceeded("no answer") from error
        self._after()
        return results

    async def groups(self) -> Sequence[Group]:
        await self._before()
        return list(self.cluster.found_groups.values())

    async def group_offsets(self, group: str) -> GroupOffsets:
        await self._before()
        if group not in self.cluster.found_groups:
            raise GroupNotFound("no such group", code="GROUP_NOT_FOUND", retriable=False)
        offsets = [each for (name, _, _), each in self.cluster.places.items() if name == group]
        return GroupOffsets(group, offsets, 0)

    async def create_group(self, group: str, mode: str, settings: GroupChanges) -> None:
        await self._before()
        if group not in self.cluster.found_groups:
            self.cluster.found_groups[group] = group_of(group, mode)

    async def commit(self, group: str, positions: Sequence[Position]) -> CommitResult:
        await self._before()
        results = [self._commit(group, each) for each in positions]
        self._after()
        return CommitResult(group, results, sum(each.problem is not None for each in results))

    def _commit(self, group: str, position: Position) -> PartitionCommit:
        key = (group, position.topic, position.partition)
        here = self.cluster.places.get(key)
        progress = 0 if here is None else here.progress or 0
        is_wrong = position.expected not in {None, progress}
        is_beyond = position.offset > self.cluster.topic(position.topic).partitions[position.partition].committed
        if is_wrong or is_beyond or (position.expected is None and position.offset < progress):
            problem = ProblemItem("COMMIT_CONFLICT", "it is elsewhere", retriable=False)
            return PartitionCommit(position.topic, position.partition, problem=problem)
        self.cluster.places[key] = PartitionProgress(
            position.topic,
            position.partition,
            progress=position.offset,
            done_above=0,
            in_flight=0,
            delayed=0,
            log_start=0,
            committed=CommittedPosition(position.offset, None, position.metadata),
        )
        return PartitionCommit(position.topic, position.partition, position.offset, progress)


def group_of(name: str, mode: str = "shared") -> Group:
    return Group(name, f"g-{name}", mode, GroupSettings("earliest", 30_000, 16, 1_000, 600_000, 100_000), 0)
