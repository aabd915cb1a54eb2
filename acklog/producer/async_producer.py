"""The producer for asyncio."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from acklog.client.caller import Caller
from acklog.client.catalog_calls import get_topic
from acklog.client.delivery_time import DeliverAt
from acklog.client.message_calls import Acks
from acklog.producer.accumulator import Accumulator
from acklog.producer.batch import MESSAGE_OVERHEAD_BYTES, Batch
from acklog.producer.delivery import AsyncDelivery
from acklog.producer.encoding import RequestMaker, encode
from acklog.producer.placement import Partitioner, Placement
from acklog.producer.producer_name import ProducerName
from acklog.producer.producer_settings import ProducerSettings
from acklog.producer.sender import Sender, buffer_full


class AsyncProducer:
    """Sends messages to one topic in batches. Made by `client.producer(topic)`; close it, or use it as a context
    manager.

    Without a `partitioner` the server places messages as Kafka would: by murmur2 of the key, without a key evenly.
    `partitioner(topic, key, partitions)` returns the partition; the topic has to exist then, and how many partitions it
    has is asked once.

    With a `name` it is the one that sends under it: opening the name (at the start of a `with` block, by `open`, or
    else with the first request) fences whoever had it before, whose sends fail with ProducerFenced from then on, also
    those that were under way. What it does not say is which of those are stored.
    """

    def __init__(
        self,
        topic: str,
        caller: Caller,
        settings: ProducerSettings,
        *,
        producer_id: str,
        name: str | None = None,
        acks: Acks = None,
        partitioner: Partitioner | None = None,
    ) -> None:
        self.topic = topic
        self.settings = settings
        self._caller = caller
        self._encryption = caller.body_encryption
        self._placement = None if partitioner is None else Placement(topic, partitioner)
        self._accumulator = Accumulator(settings)
        requests = RequestMaker(topic, producer_id=producer_id, acks=acks, compression=settings.compression)
        self._name = None if name is None else ProducerName(topic, name, caller, instance=producer_id)
        self._sender = Sender(
            self._accumulator,
            caller.transport,
            requests,
            settings,
            on_room=self._wake_senders,
            chance=caller.chance,
            name=self._name,
        )
        self._waiting: deque[tuple[asyncio.Future[None], int]] = deque()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def open(self) -> None:
        """Take over the producer's name, if it has one and this was not done yet. Raises AcklogError."""
        if self._name is not None:
            await self._name.open()

    @property
    def epoch(self) -> int | None:
        """How often the producer's name was opened; None where it has none, or is not open yet."""
        return None if self._name is None else self._name.epoch

    @property
    def buffered_bytes(self) -> int:
        """Memory of the messages that are not confirmed yet."""
        return self._accumulator.buffered_bytes

    @property
    def buffered_messages(self) -> int:
        """How many messages are not confirmed yet."""
        return self._accumulator.buffered_messages

    async def send(
        self,
        body: Any,
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        tags: Sequence[str] | None = None,
        timestamp_ms: int | None = None,
        partition: int | None = None,
        dedup_id: str | None = None,
        content_type: str | None = None,
        delay_seconds: float | None = None,
        deliver_at: DeliverAt | None = None,
        ttl_seconds: float | None = None,
    ) -> AsyncDelivery:
        """Hand a message over. Returns as soon as the buffer has it; `await` what is returned for the result. With
        `delay_seconds` or `deliver_at` the message is seen later, with `ttl_seconds` nobody is given it that long after
        it could be seen first.

        Raises BufferFull when there was no room for it within `send_timeout_ms`, InvalidArgument, MessageTooLarge,
        ClientClosed; KeyUnavailable where bodies are encrypted.
        """
        if self._placement is not None and partition is None:
            if not self._placement.partitions:
                self._placement.partitions = (await self._caller.perform(get_topic(self.topic))).partitions
            partition = self._placement.partition_of(key)
        if self._encryption is not None:
            await self._caller.make_ready_to_encrypt()
            body, content_type = self._encryption.encrypted(self.topic, key, body, content_type)
        part = encode(
            body,
            key,
            headers,
            tags,
            timestamp_ms,
            partition,
            dedup_id,
            content_type,
            delay_seconds,
            deliver_at,
            ttl_seconds,
        )
        accumulator = self._accumulator
        lane = accumulator.lane_of(key, partition)
        place = accumulator.add(part, lane, self._now_ms)
        if place is None:
            place = await self._add_when_there_is_room(part, lane)
        if accumulator.needs_attention:
            # The loop gets its turn here, or a program that only sends would fill the buffer before the first request.
            self._sender.pump()
            await asyncio.sleep(0)
        return AsyncDelivery(*place)

    async def flush(self, timeout_s: float | None = None) -> None:
        """Wait until everything that was handed over is delivered or has failed.

        Raises DeliveryFailed for failures since the last flush whose deliveries nobody has awaited or looked at, and
        DeadlineExceeded after `timeout_s` seconds (the deliveries go on).
        """
        await self._sender.flush(timeout_s)

    async def close(self) -> None:
        """Deliver what is buffered, within `close_timeout_ms`, and end. Raises DeliveryFailed as `flush` does; what
        could not be delivered in that time has failed with DeadlineExceeded."""
        await self._sender.close()

    async def _add_when_there_is_room(self, part: bytes, lane: int) -> tuple[Batch, int]:
        timeout_ms = self.settings.send_timeout_ms
        deadline_ms = self._now_ms() + timeout_ms
        while True:
            remaining_ms = deadline_ms - self._now_ms()
            if remaining_ms <= 0 or not await self._room_within(remaining_ms / 1000, len(part)):
                raise buffer_full(self._accumulator.buffered_bytes, timeout_ms)
            place = self._accumulator.add(part, lane, self._now_ms)
            if place is not None:
                return place

    async def _room_within(self, timeout_s: float, size_bytes: int) -> bool:
        future = asyncio.get_running_loop().create_future()
        self._waiting.append((future, size_bytes + MESSAGE_OVERHEAD_BYTES))
        self._sender.pump()
        try:
            await asyncio.wait_for(future, timeout_s)
        except TimeoutError:
            return False
        return True

    def _wake_senders(self) -> None:
        """As many as there is room for, those that wait longest first; the others would only find that out."""
        room_bytes = self.settings.buffer_bytes_max - self._accumulator.buffered_bytes
        while self._waiting and room_bytes > 0:
            future, size_bytes = self._waiting.popleft()
            if not future.done():
                future.set_result(None)
                room_bytes -= size_bytes

    def _now_ms(self) -> float:
        return asyncio.get_running_loop().time() * 1000
