"""Coalescers for tests, with what a test does not care about filled in."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from acklog.wire.record import PlainRecord, Record
from app.gateway.batching.coalescer import Append, Choose, Coalescer, Destination, tell_all
from app.gateway.batching.flight import Flight
from storage.rpc.messages import ProduceResponse


class Appending(Protocol):
    """An append that a test writes as a coroutine."""

    def __call__(
        self, topic_id: str, partition: int, acks: int, records: list[Record], *, deadline_ms: int
    ) -> Awaitable[ProduceResponse]: ...


def coalescer_of(
    append: Appending,
    *,
    messages_max: int = 100,
    bytes_max: int = 100_000,
    in_flight_max: int = 2,
    any_in_flight_max: int = 2,
    wait_ms: int = 0,
    destination_of: Callable[[str, int], Destination] = lambda _topic, _partition: 0,
    choose: Choose = lambda _topic, _size_bytes, _is_busy: 0,
    deadline: Callable[[], int] = lambda: 0,
) -> Coalescer:
    """One whose batches `append` stores."""
    return Coalescer(
        _telling(append),
        messages_max=messages_max,
        bytes_max=bytes_max,
        in_flight_max=in_flight_max,
        any_in_flight_max=any_in_flight_max,
        wait_ms=wait_ms,
        destination_of=destination_of,
        choose=choose,
        place_anew=lambda _, waiting, error: tell_all(waiting, error),
        deadline=deadline,
    )


def _telling(append: Appending) -> Append:
    """Runs `append` as a task, and tells the flight how it ended."""
    tasks: set[asyncio.Task[None]] = set()

    def begin(flight: Flight, records: list[Record | PlainRecord]) -> None:
        whole = [Record(*each) if isinstance(each, tuple) else each for each in records]

        async def tell() -> None:
            try:
                response = await append(
                    flight.topic_id, flight.partition, flight.acks, whole, deadline_ms=flight.deadline_ms
                )
            except Exception as error:
                flight.failed(error)
            else:
                flight.stored(response)

        task = asyncio.get_running_loop().create_task(tell())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    return begin
