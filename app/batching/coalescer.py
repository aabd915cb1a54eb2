"""Single plain messages of one turn of the event loop share a batch per partition.

What comes in while nothing is under way goes out by the end of the turn. While batches are under way to a leader, what
comes in for any of its partitions waits until they have come back, and then goes out together, as the next wave: a
batch and a round of the disk cost as much as a dozen messages do, so load makes them larger instead of more. This is
the group commit of databases; it needs no rate to be configured, and one client alone never waits. A wave that is slow
to come back holds the next one up for `wait_ms` only, and a partition with `in_flight_max` batches under way keeps
nobody waiting but its own messages.

A message completes when its batch does; a failure of the batch is the failure of each of its messages.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Protocol

from acklog.wire.record import Record
from cluster.errors import AcklogError
from storage.rpc.messages import ProduceResponse
from storage.rpc.node_api import ProduceWaiter

RECORD_OVERHEAD_BYTES = 192  # of a record's framing, timestamp and content type


class Append(Protocol):
    """Begins to store one batch; `waiter` is told in a later turn what became of it."""

    def __call__(
        self,
        topic_id: str,
        partition: int,
        acks: int,
        records: list[Record],
        waiter: ProduceWaiter,
        *,
        deadline_ms: int,
    ) -> None: ...


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


@dataclass(slots=True)
class _Wave:
    """What goes to one leader: the places with messages to go out next, and how many batches are under way. `timer`
    runs while the former wait for the latter."""

    leader: int
    places: dict[Place, None] = field(default_factory=dict)
    in_flight: int = 0
    timer: asyncio.TimerHandle | None = None


class _Flight:
    """A batch under way. `ended` is called before its messages are told."""

    __slots__ = ("_ended", "_waiting")

    def __init__(self, waiting: list[Waiter], ended: Callable[[], None]) -> None:
        self._waiting = waiting
        self._ended = ended

    def done(self) -> bool:
        return False

    def set_result(self, response: ProduceResponse, /) -> None:
        self._ended()
        epoch, offset = response.leader_epoch, response.base_offset
        step = 1 if offset >= 0 else 0
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(Placed(epoch, offset))
            offset += step

    def set_exception(self, error: BaseException, /) -> None:
        self._ended()
        for waiter in self._waiting:
            if not waiter.done():
                _fail(waiter, error)


class Coalescer:
    """`leader_of` says which node leads a topic's partition (any number where none does), `deadline()` until when a
    message that comes now has to be stored. `on_flush` is told of a topic whose messages went out, or would have, were
    there not `in_flight_max` batches of their partition under way."""

    def __init__(
        self,
        append: Append,
        *,
        messages_max: int,
        bytes_max: int,
        in_flight_max: int,
        wait_ms: int,
        leader_of: Callable[[str, int], int],
        deadline: Callable[[], int],
        on_flush: Callable[[str], None],
    ) -> None:
        self._append = append
        self._messages_max = messages_max
        self._bytes_max = bytes_max
        self._in_flight_max = in_flight_max
        self._wait_seconds = wait_ms / 1000
        self._leader_of = leader_of
        self._deadline = deadline
        self._on_flush = on_flush
        self._lanes: dict[Place, _Lane] = {}
        self._waves: dict[int, _Wave] = {}
        self._due: dict[int, _Wave] = {}

    @property
    def places(self) -> int:
        """For how many places messages wait, or are under way."""
        return len(self._lanes)

    @property
    def waves(self) -> int:
        """To how many leaders messages wait, or are under way."""
        return len(self._waves)

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
        wave = self._wave_to(self._leader_of(topic_id, partition))
        if lane.pending is not None and lane.pending.size_bytes + size > self._bytes_max:
            self._send(place, lane, lane.pending, wave)
        pending = lane.pending
        if pending is None:
            pending = lane.pending = _Pending(self._deadline())
        pending.records.append(record)
        pending.waiting.append(waiter)
        pending.size_bytes += size
        if len(pending.records) >= self._messages_max:
            self._send(place, lane, pending, wave)
            return
        wave.places[place] = None
        if wave.timer is None:
            self._look_at(wave)

    def _wave_to(self, leader: int) -> _Wave:
        wave = self._waves.get(leader)
        if wave is None:
            wave = self._waves[leader] = _Wave(leader)
        return wave

    def _look_at(self, wave: _Wave) -> None:
        """At the end of the turn."""
        if not self._due:
            asyncio.get_running_loop().call_soon(self._look)
        self._due[wave.leader] = wave

    def _look(self) -> None:
        due, self._due = self._due, {}
        for wave in due.values():
            if not wave.in_flight:
                self._go(wave)
            elif wave.places and wave.timer is None:
                wave.timer = asyncio.get_running_loop().call_later(self._wait_seconds, self._go, wave)

    def _go(self, wave: _Wave) -> None:
        if wave.timer is not None:
            wave.timer.cancel()
            wave.timer = None
        places, wave.places = wave.places, {}
        for place in places:
            lane = self._lanes.get(place)
            if lane is None or lane.pending is None:
                continue  # it was full, and went out
            if lane.in_flight < self._in_flight_max:
                self._send(place, lane, lane.pending, wave)
            else:
                self._on_flush(place[0])
        self._forget_if_idle(wave)

    def _send(self, place: Place, lane: _Lane, pending: _Pending, wave: _Wave) -> None:
        lane.pending = None
        lane.in_flight += 1
        wave.in_flight += 1
        self._on_flush(place[0])
        topic_id, partition, acks = place
        flight = _Flight(pending.waiting, partial(self._ended, place, lane, wave))
        try:
            self._append(topic_id, partition, acks, pending.records, flight, deadline_ms=pending.deadline_ms)
        except Exception as error:  # nobody else would tell who waits
            asyncio.get_running_loop().call_soon(flight.set_exception, error)

    def _ended(self, place: Place, lane: _Lane, wave: _Wave) -> None:
        """What waited for a batch of its partition to end goes out; so does the next wave, where this was the last
        batch of the one before."""
        lane.in_flight -= 1
        wave.in_flight -= 1
        if lane.pending is not None and place not in wave.places:
            self._send(place, lane, lane.pending, wave)
        elif lane.pending is None and not lane.in_flight:
            del self._lanes[place]
        if wave.places and not wave.in_flight:
            self._look_at(wave)
        else:
            self._forget_if_idle(wave)

    def _forget_if_idle(self, wave: _Wave) -> None:
        if not wave.in_flight and not wave.places and self._waves.get(wave.leader) is wave:
            del self._waves[wave.leader]


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


def _fail(waiter: Waiter, error: BaseException) -> None:
    if isinstance(error, asyncio.CancelledError):
        waiter.cancel()
    elif isinstance(error, AcklogError):
        # One exception object raised in many tasks would collect all of their tracebacks.
        waiter.set_exception(
            AcklogError(error.code, error.detail, field=error.field, retry_after_ms=error.retry_after_ms)
        )
    else:
        waiter.set_exception(error)
