"""What TLS costs: `python -m loadtests.tls_costs` starts a server that is called by http and one that is called by
https, and lets the same client work with them by turns. Ratios within one run say something, the rates are this
machine's.

The client is a process of its own kind and pays for TLS, too: on few processors it is what limits the rate. So the
server's own processor time for each message is shown beside it.
"""

import argparse
import asyncio
import socket
import ssl
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import uvloop
from rich.console import Console
from rich.table import Table

from loadtests.http_connection import HttpConnection, connect, make_request
from loadtests.payloads import batch_bodies, posts, single_bodies
from loadtests.process_usage import usage_of
from tests.support.authority import OwnAuthority
from tests.support.server_process import ServerProcess

BATCH_MESSAGES = 1_000
CONNECTIONS = 64
BATCH_CONNECTIONS = 4
HANDSHAKE_CLIENTS = 4
PARTITIONS = 8


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
    process: ServerProcess
    tls: ssl.SSLContext | None


def scenarios() -> list[Scenario]:
    return [
        Scenario(f"single sends, {CONNECTIONS} connections", posts(single_bodies("singles")), CONNECTIONS, 1),
        Scenario(
            f"batches of {BATCH_MESSAGES:,} × 100 B",
            posts(batch_bodies("batches", BATCH_MESSAGES)),
            BATCH_CONNECTIONS,
            BATCH_MESSAGES,
        ),
    ]


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


async def handshakes(server: Server, seconds: float, *, resumed: bool) -> Rate:
    """Connections that are opened, asked one question, and closed."""
    loop = asyncio.get_running_loop()
    begun_s, used_s = loop.time(), usage_of(server.process.pid).cpu_s
    assert server.tls is not None
    counts = await asyncio.gather(
        *(
            asyncio.to_thread(_shake_hands, server.process.port, server.tls, seconds, resumed)
            for _ in range(HANDSHAKE_CLIENTS)
        )
    )
    done = sum(counts)
    return Rate(done / (loop.time() - begun_s), done / (usage_of(server.process.pid).cpu_s - used_s))


def _shake_hands(port: int, tls: ssl.SSLContext, seconds: float, resumed: bool) -> int:
    """With sockets: asyncio has no way to take a session up again."""
    question = make_request("GET", "/healthz")
    session: ssl.SSLSession | None = None
    end_s, count = time.monotonic() + seconds, 0
    while time.monotonic() < end_s:
        with (
            socket.create_connection(("127.0.0.1", port)) as plain,
            tls.wrap_socket(plain, server_hostname="127.0.0.1", session=session) as connection,
        ):
            connection.sendall(question)
            connection.recv(65_536)
            if resumed:
                session = connection.session
                assert count == 0 or connection.session_reused
        count += 1
    return count


async def compare(clear: Server, secure: Server, *, rounds: int, seconds: float) -> None:
    console = Console()
    table = Table("what", "http /s", "https /s", "ratio", "http /CPU s", "https /CPU s", "ratio")
    for scenario in scenarios():
        found = [
            (await rate_of(clear, scenario, seconds), await rate_of(secure, scenario, seconds)) for _ in range(rounds)
        ]
        table.add_row(scenario.name, *_compared([(a.per_s, b.per_s) for a, b in found]), *_compared(_by_cpu(found)))
    console.print(table)
    for resumed in (False, True):
        rate = await handshakes(secure, seconds, resumed=resumed)
        what = "resumed sessions" if resumed else "handshakes"
        console.print(f"{what}: {rate.per_s:,.0f} a second, {rate.per_cpu_s:,.0f} a second of the server's processor")


def _by_cpu(found: list[tuple[Rate, Rate]]) -> list[tuple[float, float]]:
    return [(clear.per_cpu_s, secure.per_cpu_s) for clear, secure in found]


def _compared(pairs: list[tuple[float, float]]) -> tuple[str, str, str]:
    """Medians, and the median of the ratios of each round."""
    clear, secure = (statistics.median(each) for each in zip(*pairs, strict=True))
    ratio = statistics.median(after / before for before, after in pairs)
    return f"{clear:,.0f}", f"{secure:,.0f}", f"{ratio:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each turn")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        authority = OwnAuthority(directory / "pki")
        authority.issue("server")
        tls = ssl.create_default_context(cafile=str(authority.ca_file))
        with (
            ServerProcess(directory / "clear", directory / "clear.log") as clear,
            ServerProcess(
                directory / "secure",
                directory / "secure.log",
                options=("--pki", str(authority.directory)),
                authority=authority.ca_file,
            ) as secure,
        ):
            for server in (clear, secure):
                for topic in ("singles", "batches"):
                    answer = server.request("PUT", f"/topics/{topic}", {"partitions": PARTITIONS})
                    assert answer.status in {200, 201}, answer
            uvloop.run(
                compare(Server(clear, None), Server(secure, tls), rounds=arguments.rounds, seconds=arguments.seconds)
            )


if __name__ == "__main__":
    main()
