"""The servers under load: Acklog, and the bare ones that show the limits."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from examples.server_process import ServerProcess, acklog_command, free_port
from loadtests.http_connection import HttpConnection, connect, make_request
from loadtests.load import LoadFailedError
from loadtests.plan import Cpus


@asynccontextmanager
async def acklog_server(directory: Path, cpus: Cpus) -> AsyncIterator[ServerProcess]:
    port = free_port()
    command = acklog_command(port=port, data_dir=directory / "data")
    server = ServerProcess(command, port, directory / "acklog.log", cpus=cpus.server)
    async with _running(server):
        yield server


@asynccontextmanager
async def bare_server(kind: str, directory: Path, cpus: Cpus) -> AsyncIterator[ServerProcess]:
    """`kind`: fastapi or asgi."""
    port = free_port()
    command = [sys.executable, "-m", "loadtests.bare_servers", kind, "--port", str(port)]
    server = ServerProcess(command, port, directory / f"{kind}.log", cpus=cpus.server)
    async with _running(server):
        yield server


@asynccontextmanager
async def _running(server: ServerProcess) -> AsyncIterator[None]:
    try:
        await server.start()
        yield
    finally:
        await server.stop()


@asynccontextmanager
async def connected(server: ServerProcess, count: int) -> AsyncIterator[list[HttpConnection]]:
    connections = await connect(server.port, count)
    try:
        yield connections
    finally:
        for connection in connections:
            connection.close()


async def create_topic(server: ServerProcess, name: str, partitions: int) -> None:
    """Raises LoadFailedError."""
    async with connected(server, 1) as connections:
        body = msgspec.json.encode({"partitions": partitions})
        answer = await connections[0].request(make_request("PUT", f"/topics/{name}", body))
    if answer.status not in (200, 201):
        raise LoadFailedError(f"the topic {name} was not created: {answer.status} {answer.body[:300]!r}")
