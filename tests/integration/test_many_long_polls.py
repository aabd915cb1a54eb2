"""Ten thousand consumers that wait: what they cost, whether others notice, and that a stop answers all of them."""

import asyncio
import json
import re
import resource
import time

import pytest

from tests.integration.conftest import ServerMaker
from tests.integration.test_slow_clients import waiting_requests
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

POLLS = 10_000
POLLS_WAITING_MIN = 9_500  # the others are between two polls
FILES_NEEDED = POLLS + 1000
MEMORY_BYTES_MAX = 400 * 1024 * 1024
ROUND_TRIP_SECONDS_MAX = 1.0
CONNECTING_AT_ONCE = 200
POLL = b"GET /messages?queue=idle&group=g%d&waitSeconds=20 HTTP/1.1\r\nHost: localhost\r\n\r\n"
GROUPS = 50


@pytest.fixture
def many_files() -> None:
    """The right to open as many files as there are connections, for this process and those that it starts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= FILES_NEEDED:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES_NEEDED, max(hard, FILES_NEEDED)))
    except (ValueError, OSError) as error:
        pytest.skip(f"{FILES_NEEDED} open files are not allowed here (limit {hard}): {error}")


@pytest.mark.usefixtures("many_files")
async def test_ten_thousand_idle_long_polls(make_server: ServerMaker) -> None:
    server = await asyncio.to_thread(make_server().start)
    await asyncio.to_thread(prepare, server)
    before = server.resident_bytes()
    gate = asyncio.Semaphore(CONNECTING_AT_ONCE)
    polls = [asyncio.create_task(poll_until_the_end(server, number, gate)) for number in range(POLLS)]

    def most_wait() -> bool:
        return waiting_requests(server) >= POLLS_WAITING_MIN

    await asyncio.to_thread(wait_until, most_wait, seconds=90, what="the polls wait at the same time")
    grown = server.resident_bytes() - before
    slowest = await asyncio.to_thread(slowest_round_trip, server)
    server.terminate()
    reasons = await asyncio.gather(*polls)
    assert reasons == ["SHUTTING_DOWN"] * POLLS
    assert await asyncio.to_thread(server.wait) == 0
    assert grown < MEMORY_BYTES_MAX
    assert slowest < ROUND_TRIP_SECONDS_MAX


def prepare(server: ServerProcess) -> None:
    """The topic, the groups, and everything else that is made on first use."""
    server.request("PUT", "/topics/idle", {"partitions": 8})
    for number in range(GROUPS):
        server.receive("idle", f"g{number}")
    slowest_round_trip(server)


def slowest_round_trip(server: ServerProcess) -> float:
    """Seconds of the slowest of some sends and receives on a busy topic of its own."""
    slowest = 0.0
    for number in range(20):
        began = time.monotonic()
        server.send("busy", number)
        (message,) = server.receive("busy", waitSeconds=5)
        slowest = max(slowest, time.monotonic() - began)
        assert server.ack(message["receipt"]).status == 200
    return slowest


async def poll_until_the_end(server: ServerProcess, number: int, gate: asyncio.Semaphore) -> str:
    """Poll again and again on one connection, as a consumer does; the reason of the first empty answer that is not
    simply that there was nothing."""
    async with gate:
        reader, writer = await asyncio.open_connection(server.host, server.port, limit=4096)
    try:
        while True:
            writer.write(POLL % (number % GROUPS))
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            length = re.search(rb"content-length: ([0-9]+)", head)
            assert length is not None
            document = json.loads(await reader.readexactly(int(length[1])))
            assert document["messages"] == []
            if document["reason"] != "EMPTY":
                return str(document["reason"])
    finally:
        writer.close()
