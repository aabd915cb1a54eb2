"""An embedded server on a real directory, in the test's own process: hundreds of starts in the time of a few."""

import asyncio
import contextlib
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from app.auth.tokens import TokenTable
from app.configuration.server_settings import Settings
from app.http.application import create_server_app
from app.processes.embedded import EmbeddedServer, start_embedded
from app.processes.embedded_store import open_store
from cluster.ports.runtime import SteadyClock, SystemEntropy
from storage.disk.real_disk import RealDisk
from storage.disk.thread_executor import ThreadExecutor
from storage.node.partition.node_settings import NodeSettings
from tests.support.http_protocol_client import MemoryServer, read_answer

COPIES_MAX = 100


class ServerInProcess:
    """Made by `served`."""

    def __init__(self, embedded: EmbeddedServer, directory: Path) -> None:
        self.embedded = embedded
        self.directory = directory
        self._server = MemoryServer(create_server_app(embedded.gateway), embedded.gateway.settings)

    async def request(self, method: str, target: str, document: object = None) -> tuple[int, Any]:
        """(status, JSON)."""
        body = b"" if document is None else json.dumps(document).encode()
        lines = [f"{method} {target} HTTP/1.1", "host: localhost", "content-type: application/json"]
        head = "\r\n".join([*lines, f"content-length: {len(body)}", "", ""])
        protocol, transport = self._server.connect()
        protocol.data_received(head.encode() + body)
        answer = await read_answer(method, transport)
        protocol.transport.close()
        protocol.connection_lost(None)
        return answer.status, json.loads(answer.body) if answer.body else None

    def killed_copy(self, target: Path) -> Path:
        """What a kill would leave now: every file as the page cache has it. The event loop stands still meanwhile, so
        that only what a thread has begun can change anything: then the copy is of two moments, and taken again."""
        for _ in range(COPIES_MAX):
            with contextlib.suppress(shutil.Error, FileNotFoundError):
                before = _state_of(self.directory)
                shutil.copytree(self.directory, target)
                if before == _state_of(self.directory):
                    return target
            shutil.rmtree(target, ignore_errors=True)
        raise AssertionError("the directory does not come to rest")


def _state_of(directory: Path) -> dict[Path, tuple[int, int]]:
    return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(directory.rglob("*"))}


@asynccontextmanager
async def served(
    directory: Path,
    node_settings: NodeSettings,
    *,
    settings: Settings | None = None,
    tokens: TokenTable | None = None,
) -> AsyncIterator[ServerInProcess]:
    """As `app.processes.server.serve` puts it together. Raises what makes a start impossible; stops in order."""
    disk = RealDisk(directory)
    io = ThreadExecutor(threads=2, name="io")
    sqlite = ThreadExecutor(threads=1, name="sqlite")
    try:
        disk.lock("lock")
        clock = SteadyClock()
        ballast_bytes = node_settings.log_store.ballast_bytes
        store = await open_store(str(directory), disk, io=io, blocking=sqlite, clock=clock, ballast_bytes=ballast_bytes)
        try:
            embedded = await start_embedded(
                store=store,
                disk=disk,
                io=io,
                clock=clock,
                entropy=SystemEntropy(),
                settings=settings or Settings(),
                tokens=tokens,
                node_settings=node_settings,
            )
        except BaseException:
            await store.close()
            raise
        try:
            yield ServerInProcess(embedded, directory)
        finally:
            await embedded.close()
            await asyncio.sleep(0)
    finally:
        io.close()
        sqlite.close()
        disk.close()
