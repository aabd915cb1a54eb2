"""What tails hold of large batches: no more than there is room for, whoever listens slowly."""

import asyncio
import json

import pytest

from acklog.wire.limits import BATCH_BYTES_MAX
from app.auth.principal import ANYONE
from app.calls.records import FirstOffset
from app.calls.send import Produce
from app.calls.tail import TailCommand
from app.http.exchange.http_services import HttpServices
from app.services import tails
from app.services.tail_memory import LARGE_BYTES_MAX, TailMemory
from app.services.tail_stream import PAGE_BYTES
from tests.support.manual_clock import settle
from tests.support.memory_gateway import MemoryWorld

LIMIT = 3 * PAGE_BYTES


def test_there_is_room_for_the_largest_batch() -> None:
    assert LARGE_BYTES_MAX >= BATCH_BYTES_MAX


async def test_at_the_limit_and_beyond_it() -> None:
    memory = TailMemory(10)
    with memory.hold() as first:
        assert first.grow_to(4)
        with memory.hold() as second:
            assert second.grow_to(6)
            assert not memory.hold().grow_to(1)
            assert memory.held_bytes == 10
        assert not first.grow_to(11)
        assert (memory.held_bytes, first.size_bytes) == (4, 4)
    with memory.hold() as alone:
        assert alone.grow_to(11), "what is larger than all room is said alone"
        assert not memory.hold().grow_to(1)
    assert memory.held_bytes == 0


async def test_who_waits_gets_room_in_order() -> None:
    memory = TailMemory(10)
    told: list[int] = []

    async def wait(number: int, size_bytes: int) -> None:
        with memory.hold() as hold:
            await hold.wait_for(size_bytes)
            told.append(number)
            await asyncio.sleep(0)

    with memory.hold() as hold:
        assert hold.grow_to(9)
        waiting = [asyncio.create_task(wait(number, size)) for number, size in enumerate((8, 1, 2))]
        await settle()
        assert told == [], "the small one does not overtake"
        assert not memory.hold().grow_to(1), "nor does who comes now"
        waiting[0].cancel()
        await settle()
        assert told == [1]
    await settle()
    assert (told, memory.held_bytes) == ([1, 2], 0)


async def test_whose_turn_came_when_it_was_cancelled_keeps_nothing() -> None:
    memory = TailMemory(10)
    with memory.hold() as hold:
        assert hold.grow_to(10)
        waiting = asyncio.create_task(memory.hold().wait_for(5))
        await settle()
    waiting.cancel()
    await settle()
    assert (waiting.cancelled(), memory.held_bytes) == (True, 0)


class SlowListener:
    """It takes nothing until it may."""

    def __init__(self) -> None:
        self.may = asyncio.Event()
        self.heard: list[str] = []

    async def say(self, piece: bytes) -> None:
        text = piece.decode()
        if "event: message" in text:
            await self.may.wait()
            data = next(line for line in text.splitlines() if line.startswith("data: "))
            self.heard.append(json.loads(data.removeprefix("data: "))["messageId"])


@pytest.mark.parametrize("streams", [1, 4])
async def test_many_slow_listeners_of_large_batches(monkeypatch: pytest.MonkeyPatch, streams: int) -> None:
    memory = TailMemory(LIMIT)
    monkeypatch.setattr(tails, "TailMemory", lambda: memory)
    world = MemoryWorld()
    services = HttpServices(world.gateway)
    await world.topic("orders", partitions=4)
    for number in range(4):
        text = json.dumps(f"{number}" * PAGE_BYTES).encode()
        await services.send.send(Produce("orders", [(text, f"key {number}")]), ANYONE)
    listeners = [SlowListener() for _ in range(streams)]
    running = []
    for listener in listeners:
        command = TailCommand(topic="orders", first=FirstOffset.EARLIEST, body_bytes_max=1)
        stream = await services.tails.begin(command, ANYONE)
        running.append(asyncio.create_task(stream.run(listener.say)))
    await settle(500)
    assert PAGE_BYTES < memory.held_bytes <= LIMIT, "a page is said, and others wait for room"
    for listener in listeners:
        listener.may.set()
    for _ in range(50):
        await settle(50)
        await world.clock.advance_ms(20)
    for listener in listeners:
        assert len(listener.heard) == len(set(listener.heard)) == 4, "each message, once"
    assert memory.held_bytes == 0, "while they wait for more they hold nothing"
    for each in running:
        each.cancel()
    await asyncio.gather(*running, return_exceptions=True)
