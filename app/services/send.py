"""Sending: from checked messages to a result for each of them."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial

from acklog.wire.batch import DedupKey
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from app.auth.principal import Principal, Scope
from app.calls.send import Checked, Outgoing, PlainBatch, SendCommand, SingleMessage
from app.calls.send_result import Run, SendResult
from app.gateway.batching.coalescer import ANY_PARTITION, Coalescer, Placed, Waiter
from app.gateway.dependencies import Gateway
from app.gateway.keyless_partitions import KeylessPartitions
from app.gateway.metrics import Metrics
from app.gateway.partition_choice import partition_of_key, places_of_keys
from app.gateway.routing import PartitionLeaders
from app.services.appends import Appends
from app.services.catalog import Catalog
from app.services.earlier_sends import EarlierSends
from app.services.keyed_batch import (
    KeyedRun,
    StoredRuns,
    is_named_by_request,
    request_key,
    request_run,
    runs_without,
    store_runs,
)
from app.services.parts_under_way import PartsUnderWay
from cluster.errors import ServerError
from cluster.model.values import Topic
from storage.rpc.messages import ACKS_ALL, ProduceResponse
from storage.rpc.node_api import ProduceWaiter

FAULTS_PER_TURN = 2_000


@dataclass(slots=True)
class _Part:
    """What of a request goes to one partition."""

    indexes: list[int] = field(default_factory=list)
    messages: list[Outgoing] = field(default_factory=list)
    is_keyed: bool = False


class SendService:
    def __init__(
        self, gateway: Gateway, catalog: Catalog, leaders: PartitionLeaders, appends: Appends, metrics: Metrics
    ) -> None:
        settings = gateway.settings
        self._settings = settings
        self._catalog = catalog
        self._leaders = leaders
        self._appends = appends
        self._earlier = EarlierSends(gateway, leaders)
        self._metrics = metrics
        self._keyless = KeylessPartitions(leaders.has_leader, topics_max=settings.keyless_topics_max)
        self._coalescer = Coalescer(
            self._begin_plain,
            messages_max=settings.coalesced_messages_max,
            bytes_max=settings.coalesced_bytes_max,
            in_flight_max=settings.coalesced_batches_in_flight_max,
            any_in_flight_max=settings.keyless_batches_in_flight_max,
            wait_ms=settings.coalescing_wait_ms,
            destination_of=appends.destination,
            choose=self._choose_for_keyless,
            deadline=self._deadline_ms,
        )

    async def send(self, command: SendCommand, principal: Principal, idempotency_key: str | None) -> SendResult:
        """Store what can be stored. Raises ServerError where the request as a whole is at fault."""
        can_take = partial(_can_take_some, command.messages)
        topic, is_created = await self._topic_for(command.queue, command.acks, principal, can_take)
        topic = await self._catalog.grown(topic, _highest_partition(command.messages))
        result = SendResult(
            topic, len(command.messages), command.is_batch, command.acks, self._deadline_ms(), is_created
        )
        if idempotency_key is not None:
            _key_all(command.messages, idempotency_key, topic)
        found = await self._earlier.find(command.messages, result) if topic.earlier_mappings else frozenset[int]()
        if len(command.messages) > 1:
            await self._send_many(command.messages, found, result)
        elif not found:
            await self._send_one(command.messages[0], result)
        self._count(result)
        return result

    def begin(self, single: SingleMessage, principal: Principal, waiter: Waiter) -> Topic | None:
        """Have one plain message stored, without a task; `waiter` is told where, or why not.

        The topic that it goes to; None, with nothing begun, where it does not exist. Raises ServerError where the
        request is at fault.
        """
        principal.require(Scope.WRITE)
        topic = self._catalog.existing(single.queue, principal)
        if topic is None:
            return None
        partition = self._partition_of(single.message, topic)
        self._coalescer.enqueue(topic.id, partition, ACKS_ALL, single.message.record, waiter)
        return topic

    async def send_plain(
        self, batch: PlainBatch, principal: Principal, idempotency_key: str | None = None
    ) -> SendResult:
        """As `send`, for a batch in which nothing is at fault: a loop per batch where `send` has one per message. It
        takes what is in the batch; the caller must not use it again."""
        topic, is_created = await self._topic_for(batch.queue, batch.acks, principal, lambda _topic: True)
        if idempotency_key is not None and self._earlier.may_know(topic):
            return await self.send(batch.spelled_out(), principal, idempotency_key)
        result = SendResult(topic, len(batch.keys), True, batch.acks, self._deadline_ms(), is_created)
        indexes = places_of_keys(batch.keys, topic)
        keyless = indexes.pop()
        if keyless:
            chosen = self._partition_of_keyless([batch.bodies[index] for index in keyless], topic, idempotency_key)
            indexes[chosen] = sorted(indexes[chosen] + keyless)
        used = [number for number in range(topic.partitions) if indexes[number]]
        if idempotency_key is None:
            record_at = list(zip(batch.bodies, batch.keys, strict=True)).__getitem__
            batches = [self._appends.encode_plain(list(map(record_at, indexes[number]))) for number in used]
            # Freed before the disk is waited for: the next request's records take their places, which the processor's
            # cache still has.
            del record_at
            batch.clear()
            await self._append_parts(zip(used, map(indexes.__getitem__, used), batches, strict=True), result)
        else:
            key, records = request_key(idempotency_key, topic.mapping), batch.records()
            runs = {number: request_run(indexes[number], [records[i] for i in indexes[number]], key) for number in used}
            sending = [self._send_runs(number, [run], StoredRuns(), result) for number, run in runs.items()]
            await asyncio.gather(*sending)
        self._count(result)
        return result

    async def _append_parts(self, parts: Iterable[tuple[int, list[int], bytearray]], result: SendResult) -> None:
        """Each part is a partition, the messages' indexes, and their batch."""
        under_way = PartsUnderWay(result)
        for partition, indexes, batch in parts:
            waiter = under_way.add(partition, indexes)
            self._appends.begin(result.topic.id, partition, batch, result.acks, waiter, deadline_ms=result.deadline_ms)
        await under_way.all_done

    def _partition_of_keyless(self, bodies: list[bytes], topic: Topic, idempotency_key: str | None) -> int:
        """Where the messages without a key go, all of them."""
        if idempotency_key is not None:
            return partition_of_key(idempotency_key, topic)
        return self._keyless.choose(topic, sum(map(len, bodies)))

    def _choose_for_keyless(self, topic_id: str, size_bytes: int, is_busy: Callable[[int], bool]) -> int:
        """Where a batch of single messages without a key goes. Raises ServerError TOPIC_NOT_FOUND."""
        return self._keyless.choose(self._catalog.by_id(topic_id), size_bytes, is_busy)

    def _deadline_ms(self) -> int:
        """Until when a message that comes now has to be stored."""
        return self._leaders.deadline_in(self._settings.request_timeout_ms)

    def _count(self, result: SendResult) -> None:
        if result.count > len(result.faults):  # the topic may be one that was not made
            self._metrics.count_sent(result.topic.name, result.count - len(result.faults))
        for code, count in Counter([fault.code.name for fault in result.faults.values()]).items():
            self._metrics.count_refused(code, count)

    async def _topic_for(
        self, queue: str, acks: int, principal: Principal, can_take: Callable[[Topic], bool]
    ) -> tuple[Topic, bool]:
        """The topic, and whether it was created just now: not for a request of which it `can_take` nothing. Raises
        ServerError."""
        principal.require(Scope.WRITE)

        def is_wanted(topic: Topic) -> bool:
            return acks <= topic.replication_factor and can_take(topic)

        topic, is_created = await self._catalog.topic_for_send(queue, principal, is_wanted=is_wanted)
        topic = await self._catalog.with_replicas(topic, acks)
        if acks > topic.replication_factor:
            detail = f"is {acks}, the topic has {topic.replication_factor} replica(s)"
            raise ServerError(ProblemCode.INVALID_FIELD, detail, field="acks")
        return topic, is_created

    async def _append(self, partition: int, indexes: list[int], batch: bytearray, result: SendResult) -> None:
        try:
            answer = await self._appends.append(
                result.topic.id, partition, batch, result.acks, deadline_ms=result.deadline_ms
            )
        except ServerError as fault:
            result.faults.update(dict.fromkeys(indexes, fault.with_traceback(None)))  # whose frames hold the result
        else:
            result.runs.append(Run(partition, answer.leader_epoch, answer.base_offset, indexes))

    async def _send_one(self, message: Checked, result: SendResult) -> None:
        if not isinstance(message, Outgoing):
            result.faults[0] = message
            return
        try:
            partition = self._partition_of(message, result.topic)
            if message.dedup_key is not None:
                await self._send_part(partition, _Part([0], [message], True), frozenset(), result)
                return
            placed: Placed = await self._coalescer.add(result.topic.id, partition, result.acks, message.record)
        except ServerError as fault:
            result.faults[0] = fault.with_traceback(None)
        else:
            result.runs.append(Run(placed.partition, placed.epoch, placed.offset, [0]))

    async def _send_many(self, messages: list[Checked], found: AbstractSet[int], result: SendResult) -> None:
        """`found` are stored already."""
        parts = self._split(messages, found, result)
        if len(result.faults) > FAULTS_PER_TURN:
            await asyncio.sleep(0)  # telling of them takes as long again
        if len(parts) == 1:
            for partition, part in parts.items():
                await self._send_part(partition, part, found, result)
        elif parts:
            sending = [self._send_part(partition, part, found, result) for partition, part in parts.items()]
            await asyncio.gather(*sending)

    def _split(self, messages: list[Checked], found: AbstractSet[int], result: SendResult) -> dict[int, _Part]:
        """The messages by partition, with what of `found` parts others there. Those without a key stay together."""
        topic = result.topic
        parts: dict[int, _Part] = {}
        keyless: list[int] = []
        keyless_bytes = 0
        for index, message in enumerate(messages):
            if not isinstance(message, Outgoing):
                result.faults[index] = message
                continue
            if index in found and is_named_by_request(message):
                continue
            key = message.record.key
            if key is not None and message.partition is None:
                partition = partition_of_key(key, topic)
            elif message.partition is None and message.sticks_to is None:
                keyless.append(index)
                keyless_bytes += len(message.record.body)
                continue
            else:
                try:
                    partition = self._partition_of(message, topic)
                except ServerError as fault:
                    if index not in found:
                        fault.field = f"messages[{index}].{fault.field}"
                        result.faults[index] = fault.with_traceback(None)  # whose frames hold the result
                    continue
            part = parts.get(partition)
            if part is None:
                part = parts[partition] = _Part()
            part.indexes.append(index)
            part.messages.append(message)
            if message.dedup_key is not None:
                part.is_keyed = True
        if keyless:
            part = parts.setdefault(self._keyless.choose(topic, keyless_bytes), _Part())
            part.indexes.extend(keyless)
            part.messages.extend([messages[index] for index in keyless])  # type: ignore[misc]
        return parts

    def _partition_of(self, message: Outgoing, topic: Topic) -> int:
        """The message's own choice, else by its key, else by its idempotency key (so that a retry lands where the
        first try did), else ANY_PARTITION.

        Raises ServerError PARTITION_NOT_FOUND, PARTITION_DECOMMISSIONED.
        """
        record = message.record
        if message.partition is not None:
            self._catalog.check_partition_takes_messages(topic, message.partition)
            return message.partition
        if record.key is not None:
            return partition_of_key(record.key, topic)
        if message.sticks_to is not None:
            return partition_of_key(message.sticks_to, topic)
        return ANY_PARTITION

    async def _send_part(self, partition: int, part: _Part, found: AbstractSet[int], result: SendResult) -> None:
        if not part.is_keyed:
            batch = self._appends.encode([message.record for message in part.messages])
            await self._append(partition, part.indexes, batch, result)
            return
        stored = StoredRuns()
        runs = runs_without(found, part.indexes, part.messages, stored)
        if runs:
            await self._send_runs(partition, runs, stored, result)
        else:
            result.faults.update(stored.faults)

    async def _send_runs(self, partition: int, runs: list[KeyedRun], stored: StoredRuns, result: SendResult) -> None:
        def store(records: list[Record], keys: list[DedupKey], payload: bytes | None) -> Awaitable[ProduceResponse]:
            batch = self._appends.encode(records, keys=keys, payload=payload)
            topic = result.topic
            return self._appends.append(
                topic.id, partition, batch, result.acks, deadline_ms=result.deadline_ms, mapping=topic.mapping
            )

        await store_runs(store, runs, stored, rounds_max=self._settings.send_rounds_max)
        result.faults.update(stored.faults)
        result.runs.extend(Run(partition, place.epoch, place.offset, indexes) for indexes, place in stored.placed)

    def _begin_plain(
        self,
        topic_id: str,
        partition: int,
        acks: int,
        records: list[Record],
        waiter: ProduceWaiter,
        *,
        deadline_ms: int,
    ) -> None:
        batch = self._appends.encode(records)
        self._appends.begin(topic_id, partition, batch, acks, waiter, deadline_ms=deadline_ms)


def _can_take_some(messages: list[Checked], topic: Topic) -> bool:
    """Whether a topic that is yet to be made would store any of them."""
    return any(
        isinstance(each, Outgoing) and (each.partition is None or each.partition < topic.partitions)
        for each in messages
    )


def _highest_partition(messages: list[Checked]) -> int:
    """Of those that the messages name; -1 where they name none."""
    numbers = [each.partition for each in messages if isinstance(each, Outgoing) and each.partition is not None]
    return max(numbers, default=-1)


def _key_all(messages: list[Checked], idempotency_key: str, topic: Topic) -> None:
    """Each message that has no dedupId of its own is remembered by the request's key."""
    key = request_key(idempotency_key, topic.mapping)
    for message in messages:
        if isinstance(message, Outgoing) and message.dedup_key is None:
            message.dedup_key = key
            message.sticks_to = idempotency_key
