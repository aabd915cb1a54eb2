"""A listening socket whose connections are opened with whatever TLS is to be spoken by then, or in clear.

`asyncio.Server` takes one context for all its life, and either TLS or none. This one asks for the context at each
connection, so that certificates and authorities change without a new listener, and looks at the first byte, so that a
cluster can go from clear to TLS while it serves.
"""

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial

from cluster.tls.certificate_gate import CERTIFICATE_ENDED, CertificateGate

HANDSHAKE_BYTE = b"\x16"
"""What every TLS connection begins with (RFC 8446, 5.1), and no HTTP request and no frame of ours."""
_ACCEPTED_PER_TURN = 64
_NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_PAUSE_SECONDS = 1.0


class OpeningFailure(Enum):
    """Why a connection came to nothing; the values are labels."""

    CLEAR = "clear"  # it did not begin with TLS, and has to
    HANDSHAKE = "handshake"  # no common version, no certificate that is believed, or no TLS at all
    TIME = "time"
    ROOM = "room"


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsListenerSettings:
    takes_clear: bool
    """Whether those that do not speak TLS are served, too."""

    clear_answer: bytes = b""
    """What they are told where they are not."""

    opening_max: int = 1_000
    """Connections that are being opened. Beyond it none is accepted, until one is open or has to make room."""

    patience_ms: int = 2_000
    """How long one that is being opened keeps others waiting when there is no room."""

    handshake_timeout_ms: int = 10_000
    """From the connection on."""

    shutdown_timeout_ms: int = 5_000
    """How long the other end may take to agree that a connection ends."""


@dataclass(slots=True, eq=False)
class _Opening:
    """One that is not open yet: first its byte is awaited (`timer`), then its handshake (`task`)."""

    socket: socket.socket
    began_s: float
    timer: asyncio.TimerHandle | None = None
    task: asyncio.Task[None] | None = None


class TlsListener:
    """`asyncio.Server`, as far as uvicorn uses one. It serves once it is made. `on_refused` hears of every connection
    that came to nothing, and why; `now_ms` is the time since 1970, by which certificates end."""

    def __init__(
        self,
        listener: socket.socket,
        make_protocol: Callable[[], asyncio.Protocol],
        *,
        context: Callable[[], ssl.SSLContext],
        now_ms: Callable[[], int],
        settings: TlsListenerSettings,
        on_refused: Callable[[OpeningFailure, str], None],
    ) -> None:
        listener.setblocking(False)
        self.sockets = [listener]
        self._listener = listener
        self._make_protocol = make_protocol
        self._context = context
        self._now_ms = now_ms
        self._settings = settings
        self._on_refused = on_refused
        self._loop = asyncio.get_running_loop()
        self._opening: dict[_Opening, None] = {}
        self._resuming: asyncio.TimerHandle | None = None
        self._is_accepting = False
        self._is_closed = False
        self._accept_again()

    def close(self) -> None:
        """Accept no more, and let go of what is not open yet. Connections that are go on."""
        self._is_closed = True
        self._stop_accepting()
        if self._resuming is not None:
            self._resuming.cancel()
        for each in list(self._opening):
            self._let_go(each)
        self._listener.close()

    async def wait_closed(self) -> None:
        """Nothing is left to wait for after `close`."""

    # --- accepting ---

    def _accept_again(self) -> None:
        self._resuming = None
        if not self._is_accepting and not self._is_closed:
            self._is_accepting = True
            self._loop.add_reader(self._listener.fileno(), self._accept)

    def _stop_accepting(self) -> None:
        if self._is_accepting:
            self._is_accepting = False
            self._loop.remove_reader(self._listener.fileno())

    def _pause(self, seconds: float) -> None:
        self._stop_accepting()
        if self._resuming is None:
            self._resuming = self._loop.call_later(seconds, self._accept_again)

    def _accept(self) -> None:
        if self._is_full() and not self._make_room():
            return
        for _ in range(_ACCEPTED_PER_TURN):
            if self._is_full():
                return  # somebody may be waiting or not: if so, this is called again
            try:
                accepted, _address = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _NO_ROOM:
                    raise
                self._pause(_PAUSE_SECONDS)
                return
            self._begin(accepted)

    def _is_full(self) -> bool:
        return len(self._opening) >= self._settings.opening_max

    def _make_room(self) -> bool:
        """Let go of the one that has been at it longest, if that is long. Else nobody is accepted for as long as it has
        left: who comes in a crowd is not slow for it."""
        oldest = next(iter(self._opening))
        left_s = oldest.began_s + self._settings.patience_ms / 1000 - self._loop.time()
        if left_s > 0:
            self._pause(left_s)
            return False
        self._refuse(oldest, OpeningFailure.ROOM, "others waited for its place")
        return True

    # --- opening ---

    def _begin(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        seconds = self._settings.handshake_timeout_ms / 1000
        opening = _Opening(accepted, self._loop.time())
        opening.timer = self._loop.call_later(seconds, self._is_late, opening)
        self._opening[opening] = None
        self._loop.add_reader(accepted.fileno(), self._look, opening)

    def _is_late(self, opening: _Opening) -> None:
        self._refuse(opening, OpeningFailure.TIME, "it did not begin in time")

    def _look(self, opening: _Opening) -> None:
        try:
            first = opening.socket.recv(1, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            first = b""
        if not first:
            self._let_go(opening)  # whoever looks whether somebody listens, and says nothing
            return
        self._loop.remove_reader(opening.socket.fileno())
        _stop(opening.timer)
        if first == HANDSHAKE_BYTE:
            opening.task = self._loop.create_task(self._open(opening, self._context()), name="tls handshake")
        elif self._settings.takes_clear:
            opening.task = self._loop.create_task(self._open(opening, None), name="connection in clear")
        else:
            self._refuse(opening, OpeningFailure.CLEAR, "it speaks no TLS")

    async def _open(self, opening: _Opening, context: ssl.SSLContext | None) -> None:
        settings = self._settings
        try:
            if context is None:
                await self._loop.connect_accepted_socket(self._make_protocol, opening.socket)
            else:
                await self._loop.connect_accepted_socket(
                    self._make_gate,
                    opening.socket,
                    ssl=context,
                    ssl_handshake_timeout=settings.handshake_timeout_ms / 1000,
                    ssl_shutdown_timeout=settings.shutdown_timeout_ms / 1000,
                )
        except (TimeoutError, ConnectionAbortedError):  # as the event loops put it
            self._on_refused(OpeningFailure.TIME, "its handshake did not end in time")
        except ssl.SSLError as error:
            self._on_refused(OpeningFailure.HANDSHAKE, (error.reason or str(error)).lower().replace("_", " "))
        except OSError as error:
            self._on_refused(OpeningFailure.HANDSHAKE, error.strerror or str(error) or "the other end hung up")
        finally:
            self._opening.pop(opening, None)
            self._has_room()

    def _make_gate(self) -> CertificateGate:
        on_ended = partial(self._on_refused, OpeningFailure.HANDSHAKE, CERTIFICATE_ENDED)
        return CertificateGate(self._make_protocol, now_ms=self._now_ms, on_ended=on_ended)

    def _refuse(self, opening: _Opening, refusal: OpeningFailure, why: str) -> None:
        if refusal is OpeningFailure.CLEAR and self._settings.clear_answer:
            _say_last(opening.socket, self._settings.clear_answer)
        self._let_go(opening)
        self._on_refused(refusal, why)

    def _let_go(self, opening: _Opening) -> None:
        if self._opening.pop(opening, self) is self:
            return
        _stop(opening.timer)
        if opening.task is not None:
            opening.task.cancel()  # the socket is the transport's by now, which closes it
        else:
            self._loop.remove_reader(opening.socket.fileno())
            opening.socket.close()
        self._has_room()

    def _has_room(self) -> None:
        if self._resuming is not None and not self._is_full():
            self._resuming.cancel()
            self._accept_again()


def _stop(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


def _say_last(last: socket.socket, answer: bytes) -> None:
    """What it has sent is read, as far as it is there: to close a socket with something unread resets the connection,
    and takes the answer with it (RFC 9112, 9.6)."""
    try:
        last.recv(65_536)
        last.send(answer)
        last.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # it has gone
