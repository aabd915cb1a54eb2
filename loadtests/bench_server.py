"""The servers under load: Acklog, and the bare ones that show the limits."""

import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from examples.server_process import ServerProcess, acklog_command, free_port
from loadtests.http_connection import Answer, HttpConnection, connect, make_request
from loadtests.load import LoadFailedError
from loadtests.plan import Cpus


@dataclass(frozen=True, slots=True)
class Servers:
    """All of them run at the same time, so that they can be measured by turns; only one at a time has anything to
    do."""

    acklog: ServerProcess
    fastapi: ServerProcess
    asgi: ServerProcess
    protocol: ServerProcess


@asynccontextmanager
async def all_servers(directory: Path, cpus: Cpus) -> AsyncIterator[Servers]:
    async with AsyncExitStack() as stack:
        bare = {
            kind: await stack.enter_async_context(_bare_server(kind, directory, cpus))
            for kind in ("fastapi", "asgi", "protocol")
        }
        yield Servers(acklog=await stack.enter_async_context(acklog_server(directory, cpus)), **bare)


@asynccontextmanager
async def acklog_server(directory: Path, cpus: Cpus) -> AsyncIterator[ServerProcess]:
    port = free_port()
    command = acklog_command(port=port, data_dir=directory / "data")
    server = ServerProcess(command, port, directory / "acklog.log", cpus=cpus.server)
    async with _running(server):
        yield server


@asynccontextmanager
async def _bare_server(kind: str, directory: Path, cpus: Cpus) -> AsyncIterator[ServerProcess]:
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
    body = msgspec.json.encode({"partitions": partitions})
    await ask_once(server, make_request("PUT", f"/topics/{name}", body))


async def put_answer(server: ServerProcess, name: str, content: bytes, *, status: int = 200) -> None:
    """What the bare FastAPI shall answer at `/answers/NAME`. Raises LoadFailedError."""
    await ask_once(server, make_request("PUT", f"/answers/{name}?status={status}", content))


async def ask_once(server: ServerProcess, request: bytes) -> Answer:
    """One request, outside of anything measured. Raises LoadFailedError for all but a success."""
    async with connected(server, 1) as connections:
        answer = await connections[0].request(request)
    if answer.status not in (200, 201):
        line = request.partition(b"\r\n")[0].decode()
        raise LoadFailedError(f"{line}: {answer.status} {answer.body[:300]!r}")
    return answer
