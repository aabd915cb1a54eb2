"""Gathers messages into batches and decides which may go. Without I/O; safe for threads.

Messages are spread over lanes: those of one key, or of one partition, share a lane, and of each lane one batch is on
its way at a time. So a batch that is tried again is never overtaken by a later one of the same key, whatever number of
partitions the topic has. Messages with neither go to the lane that has least to do, a batch at a time.

Keys are hashed to lanes as the server hashes them to partitions. Where the number of lanes divides that of partitions
(both are 8 by default), the messages of a partition come from one lane: a request goes to few partitions, and the
server has few parts to write and few keys to remember.
"""

from collections import deque
from collections.abc import Callable
from functools import lru_cache
from threading import Lock

from acklog.errors import ClientClosed
from acklog.producer.batch import MESSAGE_OVERHEAD_BYTES, Batch
from acklog.producer.producer_settings import ProducerSettings
from acklog.wire.partitioner import partition_for_key

KEYS_REMEMBERED_MAX = 4096


class _Lane:
    __slots__ = ("in_flight", "open", "sealed")

    def __init__(self) -> None:
        self.open: Batch | None = None
        self.sealed: deque[Batch] = deque()
        self.in_flight: Batch | None = None

    def batches(self) -> list[Batch]:
        return [batch for batch in (self.in_flight, *self.sealed, self.open) if batch is not None]

    def waiting_bytes(self) -> int:
        return sum(batch.size_bytes for batch in self.batches())


class Accumulator:
    """Times are in milliseconds, from any clock that only goes forward."""

    def __init__(self, settings: ProducerSettings) -> None:
        self.lock = Lock()
        self.needs_attention = False
        """Whether something has changed since `take_due` that it should be asked again for."""
        self.buffered_bytes = 0
        self._settings = settings
        self._room_bytes = settings.buffer_bytes_max - MESSAGE_OVERHEAD_BYTES
        self._batch_bytes_max = settings.batch_bytes_max
        self._last_index = settings.batch_messages_max - 1
        self._lanes = [_Lane() for _ in range(settings.requests_in_flight_max)]
        self._keyless = 0
        self._is_closed = False

        @lru_cache(maxsize=KEYS_REMEMBERED_MAX)
        def lane_of_key(key: str) -> int:
            return partition_for_key(key.encode(), settings.requests_in_flight_max)

        self._lane_of_key = lane_of_key

    def lane_of(self, key: str | None, partition: int | None) -> int:
        """Where messages of the key or partition go; -1: anywhere."""
        if partition is not None:
            return partition % len(self._lanes)
        if key is not None:
            return self._lane_of_key(key)
        return -1

    @property
    def buffered_messages(self) -> int:
        """How many messages are not decided yet."""
        with self.lock:
            return sum(len(batch.parts) for lane in self._lanes for batch in lane.batches())

    def add(self, part: bytes, lane_number: int, now_ms: Callable[[], float]) -> tuple[Batch, int] | None:
        """Take a message: its batch, and its index there. None when the buffer has no room for it. (One that is larger
        than the whole buffer is taken when the buffer is empty.) Raises ClientClosed."""
        size_bytes = len(part)
        with self.lock:
            if self.buffered_bytes + size_bytes > self._room_bytes and not self._has_room(size_bytes):
                return None
            lane = self._lanes[self._keyless if lane_number < 0 else lane_number]
            batch = lane.open
            if batch is None or batch.size_bytes + size_bytes > self._batch_bytes_max:
                batch, lane = self._open_for(size_bytes, lane_number, now_ms())
            parts = batch.parts
            index = len(parts)
            parts.append(part)
            batch.size_bytes += size_bytes + 1
            self.buffered_bytes += size_bytes + MESSAGE_OVERHEAD_BYTES
            if index == self._last_index:
                self._seal(lane)
            return batch, index

    def has_room(self, part: bytes) -> bool:
        """Whether `add` would take the message now. The lock must be held. Raises ClientClosed."""
        return self.buffered_bytes + len(part) <= self._room_bytes or self._has_room(len(part))

    def _has_room(self, size_bytes: int) -> bool:
        if self._is_closed:
            raise ClientClosed("the producer is closed")
        return not self.buffered_bytes

    def take_due(self, now_ms: float) -> list[Batch]:
        """The batches that go now."""
        due: list[Batch] = []
        with self.lock:
            for lane in self._lanes:
                if lane.in_flight is not None:
                    continue
                if not lane.sealed and lane.open is not None and now_ms >= lane.open.due_ms:
                    self._seal(lane)
                if lane.sealed:
                    lane.in_flight = lane.sealed.popleft()
                    due.append(lane.in_flight)
            self.needs_attention = False
        return due

    def next_due_ms(self) -> float | None:
        """When `take_due` has something by itself. None: not before the next message or result."""
        with self.lock:
            times = [lane.open.due_ms for lane in self._lanes if lane.in_flight is None and lane.open is not None]
        return min(times) if times else None

    def release(self, batch: Batch) -> None:
        """The batch is decided: its room is free, and its lane's next batch may go."""
        with self.lock:
            lane = self._lanes[batch.lane]
            if lane.in_flight is batch:
                lane.in_flight = None
            self.buffered_bytes -= batch.memory_bytes

    def seal_all(self) -> list[Batch]:
        """Nothing waits for more messages any longer. Every batch that is not decided yet."""
        undecided: list[Batch] = []
        with self.lock:
            for lane in self._lanes:
                self._seal(lane)
                if lane.in_flight is not None:
                    undecided.append(lane.in_flight)
                undecided += lane.sealed
        return undecided

    def close(self) -> None:
        """Take no more messages."""
        with self.lock:
            self._is_closed = True
            self._room_bytes = -1

    def take_unsent(self) -> list[Batch]:
        """Every batch that is not on its way, out of the accumulator."""
        unsent: list[Batch] = []
        with self.lock:
            for lane in self._lanes:
                self._seal(lane)
                unsent += lane.sealed
                lane.sealed.clear()
        return unsent

    def check_invariants(self) -> None:
        """Raises AssertionError. For tests."""
        with self.lock:
            batches = [batch for lane in self._lanes for batch in lane.batches()]
            assert self.buffered_bytes == sum(batch.memory_bytes for batch in batches)
            for number, lane in enumerate(self._lanes):
                assert all(batch.lane == number and batch.parts for batch in lane.batches())

    def _open_for(self, size_bytes: int, lane_number: int, now_ms: float) -> tuple[Batch, _Lane]:
        """An open batch with room for so many bytes, and its lane."""
        settings = self._settings
        while True:
            number = self._keyless if lane_number < 0 else lane_number
            lane = self._lanes[number]
            if lane.open is None:
                due_ms = now_ms + settings.linger_ms
                lane.open = Batch(number, due_ms, now_ms + settings.delivery_timeout_ms, self.lock)
                self.needs_attention = True
                return lane.open, lane
            if lane.open.size_bytes + size_bytes <= self._batch_bytes_max:
                return lane.open, lane
            self._seal(lane)

    def _seal(self, lane: _Lane) -> None:
        """Close the lane's open batch. Messages without a key go on in the lane with the least to do."""
        if lane.open is None:
            return
        lane.sealed.append(lane.open)
        lane.open = None
        self.needs_attention = True
        lanes = self._lanes
        if lane is lanes[self._keyless]:
            self._keyless = min(range(len(lanes)), key=lambda number: lanes[number].waiting_bytes())
