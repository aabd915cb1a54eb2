"""Single plain messages of one turn of the event loop share a batch per partition.

Nothing waits for company alone: what has come in by the end of the turn goes out together. Only while a few batches of
the same partition are under way it waits for one of them, so that a partition that is slow to answer gets fewer and
larger batches instead of more and more small ones: each costs every replica as much as dozens of messages do.

A message completes when its batch does; a failure of the batch is the failure of each of its messages.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from acklog.wire.record import Record
from cluster.errors import AcklogError
from storage.rpc.messages import ProduceResponse

RECORD_OVERHEAD_BYTES = 192  # of a record's framing, timestamp and content type


class Append(Protocol):
    """Stores one batch. Raises AcklogError."""

    def __call__(
        self, topic_id: str, partition: int, acks: int, records: list[Record], *, deadline_ms: int
    ) -> Awaitable[ProduceResponse]: ...


Place = tuple[str, int, int]
"""Topic id, partition, acks."""


class Placed(NamedTuple):
    """Where a message was stored; `offset` is -1 where `acks` 0 asked for no offset."""

    epoch: int
    offset: int


class Waiter(Protocol):
    """Who is told how it went: a future is one. Exactly one of the other three is called, unless it is `done`."""

    def done(self) -> bool: ...

    def set_result(self, result: Placed, /) -> None: ...

    def set_exception(self, exception: BaseException, /) -> None: ...

    def cancel(self) -> bool: ...


@dataclass(slots=True)
class _Pending:
    """`deadline_ms` is that of its first message."""

    deadline_ms: int
    records: list[Record] = field(default_factory=list)
    waiting: list[Waiter] = field(default_factory=list)
    size_bytes: int = 0


@dataclass(slots=True)
class _Lane:
    """One place's messages: those that wait, and how many batches are under way."""

    pending: _Pending | None = None
    in_flight: int = 0


class Coalescer:
    """`deadline()` says until when a message that comes now has to be stored. `on_flush` is told of a topic whose
    messages went out, or would have, were there not `in_flight_max` batches of their partition under way."""

    def __init__(
        self,
        append: Append,
        *,
        messages_max: int,
        bytes_max: int,
        in_flight_max: int,
        deadline: Callable[[], int],
        on_flush: Callable[[str], None],
    ) -> None:
        self._append = append
        self._messages_max = messages_max
        self._bytes_max = bytes_max
        self._in_flight_max = in_flight_max
        self._deadline = deadline
        self._on_flush = on_flush
        self._lanes: dict[Place, _Lane] = {}
        self._touched: dict[Place, None] = {}
        self._is_scheduled = False
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def places(self) -> int:
        """For how many places messages wait, or are under way."""
        return len(self._lanes)

    def add(self, topic_id: str, partition: int, acks: int, record: Record) -> "asyncio.Future[Placed]":
        """Where the message is, once it is durable as `acks` asks; fails with AcklogError."""
        future: asyncio.Future[Placed] = asyncio.get_running_loop().create_future()
        self.enqueue(topic_id, partition, acks, record, future)
        return future

    def enqueue(self, topic_id: str, partition: int, acks: int, record: Record, waiter: Waiter) -> None:
        """As `add`, for a waiter of the caller's own."""
        place = (topic_id, partition, acks)
        size = _size_of(record)
        lane = self._lanes.get(place)
        if lane is None:
            lane = self._lanes[place] = _Lane()
        if lane.pending is not None and lane.pending.size_bytes + size > self._bytes_max:
            self._send(place, lane, lane.pending)
        pending = lane.pending
        if pending is None:
            pending = lane.pending = _Pending(self._deadline())
        pending.records.append(record)
        pending.waiting.append(waiter)
        pending.size_bytes += size
        if len(pending.records) >= self._messages_max:
            self._send(place, lane, pending)
            return
        self._touched[place] = None
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._is_scheduled = False
        touched, self._touched = self._touched, {}
        for place in touched:
            lane = self._lanes.get(place)
            if lane is None or lane.pending is None:
                continue  # it was full, and went out
            if lane.in_flight < self._in_flight_max:
                self._send(place, lane, lane.pending)
            else:
                self._on_flush(place[0])

    def _send(self, place: Place, lane: _Lane, pending: _Pending) -> None:
        lane.pending = None
        lane.in_flight += 1
        self._on_flush(place[0])
        task = asyncio.get_running_loop().create_task(self._store(place, lane, pending))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _store(self, place: Place, lane: _Lane, pending: _Pending) -> None:
        topic_id, partition, acks = place
        try:
            answer = await self._append(topic_id, partition, acks, pending.records, deadline_ms=pending.deadline_ms)
        except AcklogError as error:
            _fail(pending, error)
            return
        except BaseException as error:
            _fail(pending, error)
            raise
        finally:
            self._ended(place, lane)
        offset = answer.base_offset
        step = 1 if offset >= 0 else 0
        for waiter in pending.waiting:
            if not waiter.done():
                waiter.set_result(Placed(answer.leader_epoch, offset))
            offset += step

    def _ended(self, place: Place, lane: _Lane) -> None:
        """What waited for a batch to end goes out."""
        lane.in_flight -= 1
        if lane.pending is not None and place not in self._touched:
            self._send(place, lane, lane.pending)
        elif lane.pending is None and not lane.in_flight:
            del self._lanes[place]


def _size_of(record: Record) -> int:
    """About the record's bytes in a batch, never less for what a message's limits leave unbounded together."""
    size = len(record.body) + RECORD_OVERHEAD_BYTES
    if record.key is not None:
        size += 4 * len(record.key)
    if record.headers is not None:
        size += sum(4 * (len(name) + len(value)) + 4 for name, value in record.headers.items())
    if record.tags is not None:
        size += sum(4 * len(tag) + 2 for tag in record.tags)
    return size


def _fail(pending: _Pending, error: BaseException) -> None:
    for waiter in pending.waiting:
        if waiter.done():
            continue
        if isinstance(error, asyncio.CancelledError):
            waiter.cancel()
        elif isinstance(error, AcklogError):
            # One exception object raised in many tasks would collect all of their tracebacks.
            waiter.set_exception(
                AcklogError(error.code, error.detail, field=error.field, retry_after_ms=error.retry_after_ms)
            )
        else:
            waiter.set_exception(error)
