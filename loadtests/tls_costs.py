"""What TLS costs: `python -m loadtests.tls_costs` starts a server that is called by http and one that is called by
https, and lets the same client work with them by turns; then it opens and closes connections."""

import argparse
import asyncio
import socket
import ssl
import tempfile
import time
from pathlib import Path

import uvloop
from rich.console import Console

from loadtests.http_connection import make_request
from loadtests.process_usage import usage_of
from loadtests.two_servers import Rate, Server, compare, make_topics
from tests.support.authority import OwnAuthority
from tests.support.server_process import ServerProcess

HANDSHAKE_CLIENTS = 4


async def measure(clear: Server, secure: Server, *, rounds: int, seconds: float) -> None:
    await compare(clear, secure, rounds=rounds, seconds=seconds)
    for resumed in (False, True):
        rate = await handshakes(secure, seconds, resumed=resumed)
        what = "resumed sessions" if resumed else "handshakes"
        Console().print(f"{what}: {rate.per_s:,.0f} a second, {rate.per_cpu_s:,.0f} a second of the server's processor")


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
        options = ("--pki", str(authority.directory))
        with (
            ServerProcess(directory / "clear", directory / "clear.log") as clear,
            ServerProcess(
                directory / "secure", directory / "secure.log", options=options, authority=authority.ca_file
            ) as secure,
        ):
            make_topics(clear)
            make_topics(secure)
            uvloop.run(
                measure(
                    Server("http", clear),
                    Server("https", secure, tls),
                    rounds=arguments.rounds,
                    seconds=arguments.seconds,
                )
            )


if __name__ == "__main__":
    main()
