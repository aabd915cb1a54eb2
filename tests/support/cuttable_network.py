"""The links between the processes of a cluster, which a test can cut one by one.

In front of each server stands a proxy, whose address is the one that the server advertises. Who has opened a connection
is found out by the process that owns its other end, so the link from one process to another has a name: ("node 1",
"node 2"). As long as nobody listens behind a proxy it does not listen either: who dials is refused, as on a machine
whose process has ended, and not as by a link that is cut. A proxy runs in a thread with a loop of its own: a busy test
must not look like a slow network.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Self

from tests.support.socket_owners import owner_of

HOST = "127.0.0.1"
PATIENCE_S = 30
LOOK_S = 0.05
"""How often it is looked whether somebody listens again."""

_CHUNK_BYTES = 65536


class Cut(Enum):
    """What a cut link does. SILENT: bytes and new connections are kept, and go on when it is mended, as with a cable
    that was pulled out. RESET: connections break, and new ones break at once. THERE and BACK are silent in one
    direction only: what the side that connected says, or what it is answered. A new connection needs both."""

    SILENT = "silent"
    RESET = "reset"
    THERE = "there"
    BACK = "back"


Link = tuple[str, str]
"""Who connects, and to whom."""


@dataclass(eq=False, slots=True)
class _Front:
    """A proxy: the port that it is reached on, and the one behind it. `server` is None while nobody is there."""

    target: str
    target_port: int
    port: int
    server: asyncio.Server | None = None


@dataclass(eq=False, slots=True)
class _Connection:
    link: Link
    writers: list[asyncio.StreamWriter]
    there: asyncio.Event = field(default_factory=asyncio.Event)
    back: asyncio.Event = field(default_factory=asyncio.Event)

    async def until_open(self) -> None:
        while not (self.there.is_set() and self.back.is_set()):
            await self.there.wait()
            await self.back.wait()

    def break_off(self) -> None:
        for writer in self.writers:
            writer.transport.abort()
        self.there.set()
        self.back.set()


class CuttableNetwork:
    """A context manager. `processes` tells the name of each process that matters, by its pid."""

    def __init__(self, processes: Callable[[], Mapping[int, str]]) -> None:
        self._processes = processes
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="network", daemon=True)
        self._fronts: list[_Front] = []
        self._cuts: dict[Link, Cut] = {}
        self._connections: set[_Connection] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(PATIENCE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_S)
        self._loop.close()

    def listen(self, target: str, target_port: int, port: int) -> str:
        """A proxy on `port` in front of a server on `target_port`; returns its address."""
        front = _Front(target, target_port, port)
        asyncio.run_coroutine_threadsafe(self._listen(front), self._loop).result(PATIENCE_S)
        self._fronts.append(front)
        return f"{HOST}:{port}"

    # --- cutting -------------------------------------------------------------------------------------------------

    def cut(self, links: Iterable[Link], how: Cut = Cut.SILENT) -> None:
        """Returns when it is so."""
        self._change({**self._cuts, **dict.fromkeys(links, how)})

    def mend(self) -> None:
        """All links."""
        self._change({})

    def _change(self, cuts: dict[Link, Cut]) -> None:
        async def apply() -> None:
            self._cuts = cuts
            for connection in list(self._connections):
                self._apply(connection)

        asyncio.run_coroutine_threadsafe(apply(), self._loop).result(PATIENCE_S)

    def _apply(self, connection: _Connection) -> None:
        how = self._cuts.get(connection.link)
        if how is Cut.RESET:
            connection.break_off()
            return
        for direction, event in ((Cut.THERE, connection.there), (Cut.BACK, connection.back)):
            if how in {Cut.SILENT, direction}:
                event.clear()
            else:
                event.set()

    # --- forwarding ----------------------------------------------------------------------------------------------

    async def _listen(self, front: _Front) -> None:
        async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            try:
                await self._forward(reader, writer, front)
            finally:
                self._tasks.discard(task)

        front.server = await asyncio.start_server(forward, HOST, front.port)

    async def _listen_again(self, front: _Front) -> None:
        """Once somebody listens behind it."""
        while front.server is None:
            await asyncio.sleep(LOOK_S)
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection(HOST, front.target_port)
                writer.close()
                await self._listen(front)

    def _stop_listening(self, front: _Front) -> None:
        server, front.server = front.server, None
        if server is not None:
            server.close()
            task = self._loop.create_task(self._listen_again(front))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, front: _Front) -> None:
        processes = self._processes()
        near, far = writer.get_extra_info("peername"), writer.get_extra_info("sockname")
        pid = owner_of(near[1], far[1], processes)
        connection = _Connection((processes.get(pid or 0, "a stranger"), front.target), [writer])
        self._connections.add(connection)
        try:
            self._apply(connection)
            await connection.until_open()
            if self._cuts.get(connection.link) is not None:
                return
            far_reader, far_writer = await asyncio.open_connection(HOST, front.target_port)
            connection.writers.append(far_writer)
            self._apply(connection)
            await asyncio.gather(
                _pump(reader, far_writer, connection.there), _pump(far_reader, writer, connection.back)
            )
        except ConnectionRefusedError:
            self._stop_listening(front)
        except OSError:
            pass  # the connection ends, which is what is seen of it
        finally:
            connection.break_off()
            self._connections.discard(connection)

    async def _close(self) -> None:
        for front in self._fronts:
            if front.server is not None:
                front.server.close()
        for connection in list(self._connections):
            connection.break_off()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_open: asyncio.Event) -> None:
    """What was read before a cut is kept, too. One end's end is the other's, after what was said before."""
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK_BYTES):
            await is_open.wait()
            writer.write(data)
            await writer.drain()
        await is_open.wait()
    writer.close()
