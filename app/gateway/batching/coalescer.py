"""Single plain messages of one turn of the event loop share a batch per partition.

What comes in while nothing is under way goes out by the end of the turn. While batches are under way to a leader, what
comes in for any of its partitions waits until they have come back, and then goes out together, as the next wave: a
batch and a round of the disk cost as much as a dozen messages do, so load makes them larger instead of more. This is
the group commit of databases; it needs no rate to be configured, and one client alone never waits. A wave that is slow
to come back holds the next one up for `wait_ms` only, and a partition with `in_flight_max` batches under way keeps
nobody waiting but the messages that have to go there.

Which partition messages without a key go to is chosen when their batch goes out. So they make one batch, where
spreading them would make one per leader at a time, each with a round of the disk on every replica (KIP-480, taken
further).

A message completes when its batch does; a failure of the batch is the failure of each of its messages, unless the
batch met a change of its topic's partitions: then each is placed anew, once.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, cast

from acklog.wire.record import PlainRecord, Record
from app.calls.send import Records
from app.calls.send_result import Placed
from app.gateway.batching.flight import Flight, MappingOverError
from cluster.errors import ServerError
from storage.rpc.messages import ANY_MAPPING, ProduceResponse

RECORD_OVERHEAD_BYTES = 192  # of a record's framing, timestamp and content type


class Append(Protocol):
    """Begins to store one batch of these records."""

    def __call__(self, flight: Flight, records: list[Record | PlainRecord], /) -> None: ...


class Choose(Protocol):
    """The partition of a batch of so many bytes; one that `is_busy` only where all are. Raises ServerError where the
    topic is gone."""

    def __call__(self, topic_id: str, size_bytes: int, is_busy: Callable[[int], bool], /) -> int: ...


class PlaceAnew(Protocol):
    """Sees to it that messages come to where they belong now (`Coalescer.send_anew`), or are told the error."""

    def __call__(self, flight: Flight, waiting: "list[Waiter]", error: MappingOverError, /) -> None: ...


ANY_PARTITION = -1
"""Of messages without a key."""

Place = tuple[str, int, int, int]
"""Topic id, partition or ANY_PARTITION, acks, and the mapping that put the messages there, or ANY_MAPPING."""


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
    records: list[Record | PlainRecord] = field(default_factory=list)
    waiting: list[Waiter] = field(default_factory=list)
    size_bytes: int = 0


@dataclass(slots=True)
class _Lane:
    """One place's messages: those that wait, and how many batches are under way."""

    in_flight_max: int
    pending: _Pending | None = None
    in_flight: int = 0


Destination = int | str
"""A node's number, or the id of a topic any of whose partitions will do."""


@dataclass(slots=True)
class _Wave:
    """What goes to one destination: the places with messages to go out next, and how many batches are under way.
    `timer` runs while the former wait for the latter."""

    destination: Destination
    places: dict[Place, None] = field(default_factory=dict)
    in_flight: int = 0
    timer: asyncio.TimerHandle | None = None


class _Flight(Flight):
    """`ended` is called before the messages are told. Where there is `place_anew`, they are its to see to when their
    mapping is over."""

    __slots__ = ("_place_anew", "_waiting", "ended")

    def __init__(
        self,
        topic_id: str,
        partition: int,
        acks: int,
        mapping: int,
        deadline_ms: int,
        waiting: list[Waiter],
        ended: Callable[[], None],
        place_anew: PlaceAnew | None,
    ) -> None:
        super().__init__(topic_id, partition, acks, deadline_ms, mapping)
        self._waiting = waiting
        self.ended = ended
        self._place_anew = place_anew

    def stored(self, response: ProduceResponse) -> None:
        self.ended()
        partition, epoch, offset = self.partition, response.leader_epoch, response.base_offset
        step = 1 if offset >= 0 else 0
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(Placed(partition, epoch, offset))
            offset += step

    def failed(self, error: BaseException) -> None:
        self.ended()
        if self._place_anew is not None and isinstance(error, MappingOverError):
            self._place_anew(self, self._waiting, error)
        else:
            tell_all(self._waiting, error)


class Coalescer:
    """`destination_of` says with what a topic's partition shares its waves, `choose` where a batch goes that may go to
    any partition, `place_anew` sees to a batch whose mapping is over, `deadline()` is until when a message that comes
    now has to be stored. `any_in_flight_max` is of batches of a topic that could go anywhere."""

    def __init__(
        self,
        append: Append,
        *,
        messages_max: int,
        bytes_max: int,
        in_flight_max: int,
        any_in_flight_max: int,
        wait_ms: int,
        destination_of: Callable[[str, int], Destination],
        choose: Choose,
        place_anew: PlaceAnew,
        deadline: Callable[[], int],
    ) -> None:
        self._append = append
        self._messages_max = messages_max
        self._bytes_max = bytes_max
        self._in_flight_max = in_flight_max
        self._any_in_flight_max = any_in_flight_max
        self._wait_seconds = wait_ms / 1000
        self._destination_of = destination_of
        self._choose = choose
        self._place_anew = place_anew
        self._deadline = deadline
        self._lanes: dict[Place, _Lane] = {}
        self._chosen: dict[tuple[str, int], int] = {}  # how many batches that could go anywhere each partition has
        self._waves: dict[Destination, _Wave] = {}
        self._due: dict[Destination, _Wave] = {}

    @property
    def places(self) -> int:
        """For how many places messages wait, or are under way."""
        return len(self._lanes)

    @property
    def waves(self) -> int:
        """To how many destinations messages wait, or are under way."""
        return len(self._waves)

    def add(
        self, topic_id: str, partition: int, acks: int, record: Record | PlainRecord, mapping: int = ANY_MAPPING
    ) -> "asyncio.Future[Placed]":
        """Where the message is, once it is durable as `acks` asks; fails with ServerError."""
        future: asyncio.Future[Placed] = asyncio.get_running_loop().create_future()
        self.enqueue(topic_id, partition, acks, record, future, mapping)
        return future

    def enqueue(
        self,
        topic_id: str,
        partition: int,
        acks: int,
        record: Record | PlainRecord,
        waiter: Waiter,
        mapping: int = ANY_MAPPING,
    ) -> None:
        """As `add`, for a waiter of the caller's own."""
        place = (topic_id, partition, acks, mapping)
        size = _size_of(record)
        lane = self._lanes.get(place)
        if lane is None:
            in_flight_max = self._any_in_flight_max if partition == ANY_PARTITION else self._in_flight_max
            lane = self._lanes[place] = _Lane(in_flight_max)
        wave = self._wave_to(self._destination_of(topic_id, partition))
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

    def send_anew(
        self, flight: Flight, records: list[Record | PlainRecord], waiting: list[Waiter], partition: int, mapping: int
    ) -> None:
        """Messages of a flight whose mapping is over, to where `mapping` puts them: beside the waves, as they have
        waited for one, and for the last time."""
        place = flight.topic_id, partition, flight.acks, mapping
        self._append(_Flight(*place, flight.deadline_ms, waiting, _nothing, None), records)

    def _wave_to(self, destination: Destination) -> _Wave:
        wave = self._waves.get(destination)
        if wave is None:
            wave = self._waves[destination] = _Wave(destination)
        return wave

    def _look_at(self, wave: _Wave) -> None:
        """At the end of the turn."""
        if not self._due:
            asyncio.get_running_loop().call_soon(self._look)
        self._due[wave.destination] = wave

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
            if lane.in_flight < lane.in_flight_max:
                self._send(place, lane, lane.pending, wave)
        self._forget_if_idle(wave)

    def _send(self, place: Place, lane: _Lane, pending: _Pending, wave: _Wave) -> None:
        lane.pending = None
        lane.in_flight += 1
        wave.in_flight += 1
        topic_id, partition, _, _ = place
        ended = partial(self._ended, place, lane, wave)
        flight = _Flight(*place, pending.deadline_ms, pending.waiting, ended, self._place_anew)
        try:
            if partition == ANY_PARTITION:
                flight.partition = self._choose_any(topic_id, pending.size_bytes)
                flight.ended = partial(self._ended_anywhere, (topic_id, flight.partition), ended)
            self._append(flight, pending.records)
        except Exception as error:  # nobody else would tell who waits
            asyncio.get_running_loop().call_soon(flight.failed, error)

    def _choose_any(self, topic_id: str, size_bytes: int) -> int:
        """Not where `in_flight_max` such batches are under way already: one that hangs, behind a leader that is silent
        or has too few replicas, must not draw the others after it."""

        def is_busy(partition: int) -> bool:
            return self._chosen.get((topic_id, partition), 0) >= self._in_flight_max

        chosen = self._choose(topic_id, size_bytes, is_busy)
        self._chosen[topic_id, chosen] = self._chosen.get((topic_id, chosen), 0) + 1
        return chosen

    def _ended_anywhere(self, chosen: tuple[str, int], ended: Callable[[], None]) -> None:
        self._chosen[chosen] -= 1
        if not self._chosen[chosen]:
            del self._chosen[chosen]
        ended()

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
        if not wave.in_flight and not wave.places and self._waves.get(wave.destination) is wave:
            del self._waves[wave.destination]


def of_one_form(records: list[Record | PlainRecord]) -> Records:
    """Plain ones stay plain where all are."""
    if len(set(map(type, records))) == 1:
        return cast("Records", records)
    return [Record(*each) if isinstance(each, tuple) else each for each in records]


def _size_of(record: Record | PlainRecord) -> int:
    """About the record's bytes in a batch, never less for what a message's limits leave unbounded together."""
    if isinstance(record, tuple):
        body, key = record
        return len(body) + RECORD_OVERHEAD_BYTES + (0 if key is None else 4 * len(key))
    size = len(record.body) + RECORD_OVERHEAD_BYTES
    if record.key is not None:
        size += 4 * len(record.key)
    if record.headers is not None:
        size += sum(4 * (len(name) + len(value)) + 4 for name, value in record.headers.items())
    if record.tags is not None:
        size += sum(4 * len(tag) + 2 for tag in record.tags)
    return size


def tell_all(waiting: list[Waiter], error: BaseException) -> None:
    for waiter in waiting:
        if not waiter.done():
            _fail(waiter, error)


def _nothing() -> None:
    """It is in no wave."""


def _fail(waiter: Waiter, error: BaseException) -> None:
    if isinstance(error, asyncio.CancelledError):
        waiter.cancel()
    elif isinstance(error, ServerError):
        # One exception object raised in many tasks would collect all of their tracebacks.
        waiter.set_exception(
            ServerError(error.code, error.detail, field=error.field, retry_after_ms=error.retry_after_ms)
        )
    else:
        waiter.set_exception(error)
