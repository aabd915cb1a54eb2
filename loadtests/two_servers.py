"""Two servers that differ in one thing, and the same client that works with them by turns.

Ratios within one run say something, the rates are this machine's. The client is a process of its own kind and pays for
what it does, too: on few processors it is what limits the rate. So the server's own processor time for each message is
shown beside it.
"""

import asyncio
import ssl
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from loadtests.http_connection import HttpConnection, connect
from loadtests.payloads import batch_bodies, posts, single_bodies
from loadtests.process_usage import usage_of
from tests.support.server_process import ServerProcess

BATCH_MESSAGES = 1_000
CONNECTIONS = 64
BATCH_CONNECTIONS = 4
PARTITIONS = 8
SINGLES, BATCHES = "singles", "batches"


class Rate(NamedTuple):
    """Per second, by the clock and by the server's processor."""

    per_s: float
    per_cpu_s: float


class Scenario(NamedTuple):
    """`each` is what one request counts for."""

    name: str
    requests: list[bytes]
    connections: int
    each: int


class Server(NamedTuple):
    """`tls` None: called by http."""

    name: str
    process: ServerProcess
    tls: ssl.SSLContext | None = None


def scenarios() -> list[Scenario]:
    return [
        Scenario(f"single sends, {CONNECTIONS} connections", posts(single_bodies(SINGLES)), CONNECTIONS, 1),
        Scenario(
            f"batches of {BATCH_MESSAGES:,} × 100 B",
            posts(batch_bodies(BATCHES, BATCH_MESSAGES)),
            BATCH_CONNECTIONS,
            BATCH_MESSAGES,
        ),
    ]


def make_topics(server: ServerProcess) -> None:
    for topic in (SINGLES, BATCHES):
        answer = server.request("PUT", f"/topics/{topic}", {"partitions": PARTITIONS})
        assert answer.status in {200, 201}, answer


async def compare(first: Server, second: Server, *, rounds: int, seconds: float) -> None:
    """Prints medians, and the median of the ratios of each round."""
    titles = [f"{first.name} /s", f"{second.name} /s", "ratio"]
    of_processor = [f"{first.name} /CPU s", f"{second.name} /CPU s", "ratio"]
    table = Table("what", *titles, *of_processor)
    for scenario in scenarios():
        found = [
            (await rate_of(first, scenario, seconds), await rate_of(second, scenario, seconds)) for _ in range(rounds)
        ]
        by_clock = _compared([(one.per_s, other.per_s) for one, other in found])
        by_processor = _compared([(one.per_cpu_s, other.per_cpu_s) for one, other in found])
        table.add_row(scenario.name, *by_clock, *by_processor)
    Console().print(table)


async def rate_of(server: Server, scenario: Scenario, seconds: float) -> Rate:
    connections = await connect(server.process.port, scenario.connections, tls=server.tls)
    loop = asyncio.get_running_loop()
    begun_s, used_s = loop.time(), usage_of(server.process.pid).cpu_s
    counts = await asyncio.gather(
        *(
            _send(connection, scenario.requests[at:] + scenario.requests[:at], begun_s + seconds)
            for at, connection in enumerate(connections)
        )
    )
    taken_s, used_s = loop.time() - begun_s, usage_of(server.process.pid).cpu_s - used_s
    for connection in connections:
        connection.close()
    done = sum(counts) * scenario.each
    return Rate(done / taken_s, done / used_s)


async def _send(connection: HttpConnection, requests: Sequence[bytes], end_s: float) -> int:
    loop = asyncio.get_running_loop()
    count = 0
    while loop.time() < end_s:
        answer = await connection.request(requests[count % len(requests)])
        assert answer.status == 201, answer.body[:300]
        count += 1
    return count


def _compared(pairs: list[tuple[float, float]]) -> tuple[str, str, str]:
    first, second = (statistics.median(each) for each in zip(*pairs, strict=True))
    ratio = statistics.median(after / before for before, after in pairs)
    return f"{first:,.0f}", f"{second:,.0f}", f"{ratio:.2f}"
