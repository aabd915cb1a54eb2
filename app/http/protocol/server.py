"""uvicorn with an orderly start and an orderly stop: what every process of Acklog that answers HTTP runs."""

import asyncio
import signal
import socket
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import uvicorn
from uvicorn.server import HANDLED_SIGNALS

from acklog.wire.problems import ProblemCode
from app.configuration.setting_error import SettingsError
from app.http.protocol.whole_answer import whole_answer
from cluster.errors import ServerError
from cluster.tls.current_context import CurrentContext
from cluster.tls.tls_listener import OpeningFailure, TlsListener, TlsListenerSettings

BACKLOG = 4096
CLEAR_REFUSED = ServerError(
    ProblemCode.TLS_REQUIRED,
    "this port speaks TLS: call it by https://, with --ca-file where the authority is a private one",
)


@dataclass(frozen=True, slots=True)
class HttpTls:
    """What connections are opened with. `on_refused` hears of those that came to nothing."""

    context: CurrentContext
    now_ms: Callable[[], int]
    settings: TlsListenerSettings
    on_refused: Callable[[OpeningFailure, str], None]


class HttpServer(uvicorn.Server):
    """`on_listening` is told the port. A stop (SIGINT, SIGTERM, `stop`) awaits `before_stop` while requests are still
    taken, finishes what is under way, and awaits `after_stop`."""

    def __init__(
        self,
        config: uvicorn.Config,
        *,
        on_listening: Callable[[int], None],
        before_stop: Callable[[], Awaitable[None]],
        after_stop: Callable[[], Awaitable[None]],
        tls: HttpTls | None = None,
    ) -> None:
        """`tls` None: in clear."""
        super().__init__(config)
        self.servers: list[Any] = []
        self._tls = tls
        self._on_listening = on_listening
        self._before_stop = before_stop
        self._after_stop = after_stop

    def stop(self) -> None:
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Raises SettingsError where the address is taken by now, after `after_stop`: two processes that start at once
        may both bind it, and only one of them can listen. uvloop would say nothing of it."""
        try:
            for listener in sockets or ():
                listener.listen(self.config.backlog)
        except OSError as error:
            await self._after_stop()
            host, port = listener.getsockname()[:2]
            detail = f"{error.strerror or error}. Another process has taken it since this one began to start."
            raise SettingsError(f"Cannot listen on {host}:{port}: {detail}") from None
        await super().startup(sockets if self._tls is None else [])
        if self._tls is not None:
            self.servers = [self._secure(listener, self._tls) for listener in sockets or ()]
        if self.started:
            self._on_listening(int(self.servers[0].sockets[0].getsockname()[1]))

    def _secure(self, listener: socket.socket, tls: HttpTls) -> Any:
        """In the place of the `asyncio.Server` that uvicorn would make."""
        settings = replace(tls.settings, clear_answer=whole_answer(CLEAR_REFUSED))
        return TlsListener(
            listener,
            self._make_protocol,
            context=lambda: tls.context.context,
            now_ms=tls.now_ms,
            settings=settings,
            on_refused=tls.on_refused,
        )

    def _make_protocol(self) -> asyncio.Protocol:
        make: Any = self.config.http_protocol_class
        protocol: asyncio.Protocol = make(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return protocol

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._before_stop()
        await super().shutdown(sockets)
        if self.force_exit:
            # A second SIGINT ends the wait for who is connected. uvicorn would leave out the application's end, too.
            await self.lifespan.shutdown()
        await self._after_stop()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """uvicorn's raises the signal once more behind an orderly stop, which would make the exit code a failure."""
        handlers = {number: signal.signal(number, self.handle_exit) for number in HANDLED_SIGNALS}
        try:
            yield
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)


def bind(host: str, port: int, *, what_to_do: str) -> socket.socket:
    """The listening address, taken before anything is touched. Raises SettingsError."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise SettingsError(f"Cannot listen on {host}:{port}: {error.strerror or error}. {what_to_do}") from None
    return listener


def url_of(host: str, port: int, *, scheme: str = "http") -> str:
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
