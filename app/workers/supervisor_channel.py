"""A worker's end of the channel to its supervisor, which alone it heeds: signals mean nothing to it.

A signal to all processes of a server at once, as some service managers send it, would else stop the storage while
gateways still finish what is under way. A supervisor that is gone closes the channel, which ends its workers.
"""

import asyncio
import socket
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import partial

import msgspec
import uvloop

STOP, RELOAD = b"S", b"R"


class Served(msgspec.Struct):
    """What a worker tells once it serves. `port` is a gateway's; `failure` is what keeps the storage from serving all
    the same."""

    port: int = 0
    failure: str | None = None


class SupervisorChannel:
    """For the worker's event loop: what it calls is done there."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._stop: Callable[[], None] = lambda: None
        self._was_told_to_reload = False
        self._reload: Callable[[], None] = self._reload_later

    def run(self, serving: Coroutine[None, None, None]) -> None:
        """On an event loop of its own (uvloop). A stop ends it at once, until it heeds them itself."""
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._cancelled_by_stop(serving))

    def tell_served(self, served: Served) -> None:
        self._channel.sendall(msgspec.json.encode(served) + b"\n")

    @contextmanager
    def heeding(self, *, stop: Callable[[], None], reload: Callable[[], None]) -> Iterator[None]:
        """While the worker serves. Behind it both mean nothing: it is about to end."""
        self._stop, self._reload = stop, reload
        if self._was_told_to_reload:
            reload()
        try:
            yield
        finally:
            self._stop = self._reload = lambda: None

    def _reload_later(self) -> None:
        """While it starts: it may have begun with what was in force before."""
        self._was_told_to_reload = True

    async def _cancelled_by_stop(self, serving: Coroutine[None, None, None]) -> None:
        process = asyncio.create_task(serving, name="worker")
        self._stop = partial(_give_up, process)
        self._channel.setblocking(False)
        loop = asyncio.get_running_loop()
        loop.add_reader(self._channel.fileno(), self._readable)
        try:
            await process
        except asyncio.CancelledError:
            pass  # it was told to end before it served
        finally:
            loop.remove_reader(self._channel.fileno())

    def _readable(self) -> None:
        try:
            told = self._channel.recv(64)
        except BlockingIOError:
            return
        except OSError:
            told = b""
        if not told:
            asyncio.get_running_loop().remove_reader(self._channel.fileno())
        if not told or STOP in told:
            self._stop()
        elif RELOAD in told:
            self._reload()


def _give_up(process: asyncio.Task[None]) -> None:
    process.cancel()
