"""The Service before the gateways: new connections go to pods that are ready, by news that are a little old; those that
there are stay where they are."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

from tests.integration.kubernetes.pod import Pod

NEWS_S = 0.5
"""How late every machine has heard of a pod that is not ready any more."""


class Service:
    """Made by `running_service`."""

    def __init__(self, pods: Callable[[], Iterable[Pod]], target_port: int) -> None:
        self._pods = pods
        self._target_port = target_port
        self._turn = itertools.count()
        self._endpoints = self._ready()
        self._streams: set[asyncio.StreamWriter] = set()
        self.url = ""
        self.refused = 0
        """Connections for which there was nobody."""

    async def follow(self) -> None:
        while True:
            seen = self._ready()
            await asyncio.sleep(NEWS_S)
            self._endpoints = seen

    def _ready(self) -> list[str]:
        return [pod.ip for pod in self._pods() if pod.is_ready and not pod.is_terminating]

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            host = self._endpoints[next(self._turn) % len(self._endpoints)]
            pod_reader, pod_writer = await asyncio.open_connection(host, self._target_port)
        except (ZeroDivisionError, OSError):
            self.refused += 1
            writer.transport.abort()
            return
        self._streams |= {writer, pod_writer}
        try:
            await asyncio.gather(_pass_on(reader, pod_writer), _pass_on(pod_reader, writer))
        finally:
            self._streams -= {writer, pod_writer}
            writer.close()
            pod_writer.close()

    def hang_up(self) -> None:
        for each in self._streams:
            each.transport.abort()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(OSError):
        writer.close()


@asynccontextmanager
async def running_service(
    pods: Callable[[], Iterable[Pod]], target_port: int, *, scheme: str
) -> AsyncIterator[Service]:
    """`scheme` is how its pods are called."""
    service = Service(pods, target_port)
    server = await asyncio.start_server(service.connected, "127.0.0.1", 0)
    service.url = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    following = asyncio.create_task(service.follow(), name="endpoints")
    try:
        yield service
    finally:
        following.cancel()
        server.close()
        service.hang_up()
