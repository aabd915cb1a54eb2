"""What a run takes place on: one server, or a whole cluster."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from acklog.client.address import headers_of
from acklog.client.aiohttp_transport import AiohttpTransport
from acklog.client.transport import Transport
from acklog.version import __version__
from app.local_cluster.server_process import ServerProcess, acklog_command, free_port

CONNECTIONS_MAX = 100


class Victim(Protocol):
    """What is killed, and started again."""

    async def find(self) -> str:
        """Who it is now, for people; "" where there is only one. `kill` and `start` are about that one."""
        ...

    async def kill(self) -> None: ...

    async def start(self) -> None:
        """Return once it is ready again. Raises ServerFailedError."""
        ...


class Scene(Protocol):
    @property
    def name(self) -> str:
        """What it is."""
        ...

    @property
    def url(self) -> str:
        """Where clients go, for people."""
        ...

    @property
    def promise(self) -> str:
        """What is said of the kills."""
        ...

    async def start(self) -> float:
        """Return once it is ready, with the seconds that took. Raises ServerFailedError."""
        ...

    async def stop(self) -> None: ...

    def transport(self) -> Transport:
        """For the SDK."""
        ...

    def victims(self) -> Sequence[Victim]:
        """In the order of the kills."""
        ...


def transport_to(url: str) -> Transport:
    return AiohttpTransport(url, headers_of(None, version=__version__), connections_max=CONNECTIONS_MAX)


class SingleServer:
    """`acklog serve`, with its data in `directory`. Its own only victim."""

    name = "a server"
    promise = "the server was killed in the middle of the work, and came back"

    def __init__(self, directory: Path, *, kills: int) -> None:
        port = free_port()
        command = acklog_command(port=port, data_dir=directory / "data")
        self._process = ServerProcess(command, port, directory / "server.log")
        self._kills = kills

    @property
    def url(self) -> str:
        return self._process.url

    async def start(self) -> float:
        return await self._process.start()

    async def stop(self) -> None:
        await self._process.stop()

    def transport(self) -> Transport:
        return transport_to(self.url)

    def victims(self) -> Sequence[Victim]:
        return [_OnlyServer(self._process)] * self._kills


@dataclass(frozen=True, slots=True)
class _OnlyServer:
    process: ServerProcess

    async def find(self) -> str:
        return ""

    async def kill(self) -> None:
        await self.process.kill()

    async def start(self) -> None:
        await self.process.start()
