"""A mirror between two real servers. All three are killed, and the links between them cut, again and again."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from acklog import AsyncClient, OutgoingMessage
from acklog.errors import AcklogError
from tests.support.mirror_process import MirrorProcess, bodies_of
from tests.support.server_process import ServerProcess
from tests.support.tcp_proxy import TcpProxy

pytestmark = pytest.mark.integration

PARTITIONS = 3
MESSAGES_A_STEP = 400
RATE = "150000"
"""Bytes a second, so that something is under way whenever something is killed."""
WAIT_SECONDS = 60


class Side:
    """A server, and the link by which the mirror calls it."""

    def __init__(self, server: ServerProcess, link: TcpProxy) -> None:
        self.server = server
        self.link = link
        self.mirror_url = f"http://{link.endpoint}"

    async def restart(self) -> None:
        self.server.kill()
        await asyncio.to_thread(self.server.start)
        self.link.lead_to(self.server.port)


@asynccontextmanager
async def side(path: Path) -> AsyncIterator[Side]:
    with ServerProcess(path / "data", path / "log") as server:
        async with TcpProxy(server.port) as link:
            yield Side(server, link)


async def send(source: Side, first: int) -> None:
    async with AsyncClient(source.server.base_url) as client:
        messages = [
            OutgoingMessage(number, key=str(number % 17), headers={"h": "x" * 50}, dedup_id=str(number))
            for number in range(first, first + MESSAGES_A_STEP)
        ]
        await client.send_many("orders", messages)


async def copied_count(target: Side) -> int:
    try:
        async with AsyncClient(target.server.base_url) as client:
            states = (await client.topics.get("a.orders")).partition_states
            return sum(each.high_watermark or 0 for each in states)
    except AcklogError:
        return 0


async def until_copied(target: Side, count: int) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while await copied_count(target) < count:
            await asyncio.sleep(0.05)


@pytest.mark.timeout(600)
async def test_each_message_is_copied_once_whatever_is_killed(tmp_path: Path) -> None:
    async with side(tmp_path / "a") as source, side(tmp_path / "b") as target:
        async with AsyncClient(source.server.base_url) as client:
            await client.topics.create("orders", PARTITIONS)
        arguments = ("orders", "--prefix", "a.", "--rate", RATE)
        log_path = tmp_path / "mirror.log"

        def mirror(*more: str) -> MirrorProcess:
            return MirrorProcess(source.mirror_url, target.mirror_url, *arguments, *more, log_path=log_path)

        running = mirror()
        try:
            for step in range(8):
                await send(source, step * MESSAGES_A_STEP)
                await until_copied(target, step * MESSAGES_A_STEP + MESSAGES_A_STEP // 4)
                if step in {0, 4}:
                    running.kill()
                    running = mirror()
                elif step in {1, 5}:
                    await source.restart()
                elif step in {2, 6}:
                    await target.restart()
                elif step == 3:
                    for each in (source, target):
                        each.link.cut()
                        await asyncio.sleep(1)
                        each.link.mend()
                else:
                    successor = mirror()
                    assert await running.ended() == 1
                    running = successor
            running.process.send_signal(signal.SIGTERM)
            assert await running.ended() == 0
            assert await mirror("--once").ended() == 0
        finally:
            running.kill()
        async with AsyncClient(source.server.base_url) as here, AsyncClient(target.server.base_url) as there:
            for partition in range(PARTITIONS):
                sent = await bodies_of(here, "orders", partition)
                assert sent
                assert await bodies_of(there, "a.orders", partition) == sent


@pytest.mark.timeout(300)
async def test_a_consumer_that_moves_over_goes_on_where_it_was(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        source, target = [await stack.enter_async_context(side(tmp_path / name)) for name in "ab"]
        here, there = [await stack.enter_async_context(AsyncClient(each.server.base_url)) for each in (source, target)]
        await here.topics.create("orders", PARTITIONS)
        await send(source, 0)
        done: set[object] = set()
        while len(done) < MESSAGES_A_STEP // 2:
            received = await here.receive("orders", group="mail", max_messages=20)
            await here.ack([message.receipt for message in received])
            done.update(message.body for message in received)
        log_path = tmp_path / "mirror.log"
        arguments = ("orders", "--prefix", "a.", "--once")
        mirror = MirrorProcess(source.mirror_url, target.mirror_url, *arguments, log_path=log_path)
        assert await mirror.ended() == 0, log_path.read_text()
        rest: list[object] = []
        while received := (await there.receive("a.orders", group="mail", max_messages=100)).messages:
            await there.ack([message.receipt for message in received])
            rest += [message.body for message in received]
        assert sorted([*done, *rest], key=str) == sorted(range(MESSAGES_A_STEP), key=str)
