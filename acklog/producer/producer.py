"""The producer for threads: any number of them may send, an event loop in a thread of its own delivers."""

import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from acklog.client import at_exit
from acklog.client.background import Background
from acklog.client.caller import Caller
from acklog.client.catalog_calls import get_topic
from acklog.client.delivery_time import DeliverAt
from acklog.client.message_calls import Acks
from acklog.producer.accumulator import Accumulator
from acklog.producer.batch import Batch
from acklog.producer.delivery import Delivery
from acklog.producer.encoding import RequestMaker, encode
from acklog.producer.placement import Partitioner, Placement
from acklog.producer.producer_name import ProducerName
from acklog.producer.producer_settings import ProducerSettings
from acklog.producer.sender import Sender, buffer_full
from acklog.runtime import fraction, monotonic_ms, unique_name


class Producer:
    """Sends messages to one topic in batches. Made by `client.producer(topic)`; close it, or use it as a context
    manager. What is buffered when the program ends is sent then, too.

    Without a `partitioner` the server places messages as Kafka would: by murmur2 of the key, without a key evenly.
    `partitioner(topic, key, partitions)` returns the partition; the topic has to exist then, and how many partitions it
    has is asked once. In a process that is forked off, the producer begins anew: what the parent has buffered, the
    parent sends.

    With a `name` it is the one that sends under it: opening the name (at the start of a `with` block, by `open`, or
    else with the first request) fences whoever had it before, whose sends fail with ProducerFenced from then on, also
    those that were under way. What it does not say is which of those are stored.
    """

    def __init__(
        self,
        topic: str,
        background: Background,
        caller: Callable[[], Caller],
        settings: ProducerSettings,
        *,
        name: str | None = None,
        acks: Acks = None,
        partitioner: Partitioner | None = None,
    ) -> None:
        self.topic = topic
        self.settings = settings
        self._background = background
        self._caller = caller
        self._name = name
        self._acks = acks
        self._placement = None if partitioner is None else Placement(topic, partitioner)
        self._begin()
        self._exit_number = at_exit.close_at_exit(self)

    def _begin(self) -> None:
        settings = self.settings
        self._generation = self._background.generation
        self._accumulator = Accumulator(settings)
        self._room = threading.Condition(self._accumulator.lock)
        producer_id, caller, name = unique_name(), self._caller(), self._name
        self._encryption = caller.body_encryption
        requests = RequestMaker(self.topic, producer_id=producer_id, acks=self._acks, compression=settings.compression)
        self._opening = None if name is None else ProducerName(self.topic, name, caller, instance=producer_id)
        self._sender = Sender(
            self._accumulator,
            caller.transport,
            requests,
            settings,
            on_room=self._wake_senders,
            chance=fraction,
            name=self._opening,
        )

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def open(self) -> None:
        """Take over the producer's name, if it has one and this was not done yet. Raises AcklogError."""
        self._begin_after_fork()
        opening = self._opening
        if opening is not None:
            self._background.run(opening.open)

    @property
    def epoch(self) -> int | None:
        """How often the producer's name was opened; None where it has none, or is not open yet."""
        return None if self._opening is None else self._opening.epoch

    @property
    def buffered_bytes(self) -> int:
        """Memory of the messages that are not confirmed yet."""
        return self._accumulator.buffered_bytes

    @property
    def buffered_messages(self) -> int:
        """How many messages are not confirmed yet."""
        return self._accumulator.buffered_messages

    def send(
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
    ) -> Delivery:
        """Hand a message over. Returns as soon as the buffer has it; `result()` of what is returned waits for the
        result. With `delay_seconds` or `deliver_at` the message is seen later, with `ttl_seconds` nobody is given it
        that long after it could be seen first.

        Raises BufferFull when there was no room for it within `send_timeout_ms`, InvalidArgument, MessageTooLarge,
        ClientClosed; KeyUnavailable where bodies are encrypted.
        """
        self._begin_after_fork()
        if self._placement is not None and partition is None:
            if not self._placement.partitions:
                self._placement.partitions = self._partitions()
            partition = self._placement.partition_of(key)
        if self._encryption is not None:
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
        place = accumulator.add(part, lane, monotonic_ms)
        if place is None:
            place = self._add_when_there_is_room(part, lane)
        if accumulator.needs_attention:
            accumulator.needs_attention = False
            self._background.call_soon(self._sender.pump)
        return Delivery(*place)

    def flush(self, timeout_s: float | None = None) -> None:
        """Wait until everything that was handed over is delivered or has failed.

        Raises DeliveryFailed for failures since the last flush whose deliveries nobody has waited for or looked at,
        and DeadlineExceeded after `timeout_s` seconds (the deliveries go on).
        """
        self._begin_after_fork()
        self._background.run(lambda: self._sender.flush(timeout_s))

    def close(self) -> None:
        """Deliver what is buffered, within `close_timeout_ms`, and end. Raises DeliveryFailed as `flush` does; what
        could not be delivered in that time has failed with DeadlineExceeded."""
        at_exit.closed(self._exit_number)
        self._begin_after_fork()
        self._background.run(lambda: self._sender.close())

    def _begin_after_fork(self) -> None:
        if self._generation != self._background.generation:
            self._begin()

    def _partitions(self) -> int:
        return self._background.run(lambda: self._caller().perform(get_topic(self.topic))).partitions

    def _add_when_there_is_room(self, part: bytes, lane: int) -> tuple[Batch, int]:
        timeout_ms = self.settings.send_timeout_ms
        deadline_ms = monotonic_ms() + timeout_ms
        self._background.call_soon(self._sender.pump)
        while True:
            remaining_ms = deadline_ms - monotonic_ms()
            if remaining_ms <= 0:
                raise buffer_full(self._accumulator.buffered_bytes, timeout_ms)
            place = self._accumulator.add(part, lane, monotonic_ms)
            if place is not None:
                return place
            with self._room:
                # Waked too early is no harm; a wake-up between the two steps would be missed, so it is asked again.
                if not self._accumulator.has_room(part):
                    self._room.wait(remaining_ms / 1000)

    def _wake_senders(self) -> None:
        with self._room:
            self._room.notify_all()
