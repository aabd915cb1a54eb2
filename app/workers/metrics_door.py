"""Where the other processes of a server get one's metrics: whoever dials gets the text, and is hung up on."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

import structlog

from app.workers.worker_names import metrics_socket
from storage.rpc.socket_directory import SocketDirectory, is_own_user

_log = structlog.get_logger(__name__)

Exposition = Callable[[], Awaitable[bytes]]


class MetricsDoor:
    """Made by `open`; `close` it at the end."""

    def __init__(self, exposition: Exposition) -> None:
        """For `open` only."""
        self._exposition = exposition
        self._server: asyncio.Server | None = None
        self._visits: dict[asyncio.Task[None], None] = {}

    @classmethod
    async def open(cls, directory: SocketDirectory, worker: str, exposition: Exposition) -> "MetricsDoor":
        """Raises OSError."""
        door = cls(exposition)
        listening = directory.listen(metrics_socket(worker))
        door._server = await asyncio.get_running_loop().create_unix_server(lambda: _Visit(door), sock=listening)
        return door

    def visited(self, transport: asyncio.Transport) -> None:
        visit = asyncio.get_running_loop().create_task(self._tell(transport), name="metrics")
        self._visits[visit] = None
        visit.add_done_callback(self._visits.pop)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        visits = list(self._visits)
        for visit in visits:
            visit.cancel()
        await asyncio.gather(*visits, return_exceptions=True)

    async def _tell(self, transport: asyncio.Transport) -> None:
        try:
            transport.write(await self._exposition())
        except Exception:
            _log.exception("metrics_not_told")
            transport.abort()  # a text that ends early would look whole
            return
        transport.close()


class _Visit(asyncio.Protocol):
    def __init__(self, door: MetricsDoor) -> None:
        self._door = door

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if is_own_user(transport.get_extra_info("socket")):
            self._door.visited(cast(asyncio.Transport, transport))
        else:
            transport.close()
