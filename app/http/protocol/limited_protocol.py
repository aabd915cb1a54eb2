"""uvicorn's HTTP protocol with limits: on the time and bytes of headers, on URLs, on pipelining, on
connections, and on the time that a client may take to read.

A body's time and size are bounded where it is read (`app.http.exchange.request_body`).
"""

import asyncio
import re
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import httptools
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from acklog.wire.problems import ProblemCode
from app.auth.client_certificate import ClientCertificate, certificate_shown
from app.configuration.server_settings import Settings
from app.http.exchange.event_stream import CONNECTION
from app.http.exchange.request import CERTIFICATE
from app.http.protocol.named_pages import NamedPages
from app.http.protocol.web_guard import WebGuard
from app.http.protocol.whole_answer import whole_answer
from cluster.errors import ServerError

BUSY_RETRY_MS = 1000
REMEMBERED_HEAD_BYTES_MAX = 1024
"""Of headers that a connection remembers as good ones."""
_Head = tuple[str, bytes, bytes, list[tuple[bytes, bytes]]]
OnPageRefused = Callable[[str, ServerError], None]
"""Told the client's address, and why."""

_VERSIONS = frozenset({"1.0", "1.1"})
_OFFERS = frozenset({b"upgrade", b"http2-settings"})
_SINGLE = frozenset(
    {b"host", b"authorization", b"content-type", b"content-encoding", b"transfer-encoding", b"idempotency-key"}
    | {b"origin", b"sec-fetch-site"}
)
"""Headers that decide something by one value: of two, whoever stands between may have judged the other one."""
_HOST = re.compile(rb"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~%!$&'()*+,;=-]*)(?::[0-9]*)?")
"""RFC 9110, 7.2: a host and a port, without a user before it."""


class LimitedHttpProtocol(HttpToolsProtocol):
    """`settings` is set by `make_http_protocol`: uvicorn makes one of these per connection itself."""

    settings: Settings

    guard: WebGuard | None = None

    pages: NamedPages = NamedPages()

    on_connections: Callable[[int], None] = staticmethod(lambda _count: None)
    """Told how many are open, as often as that changes."""

    on_page_refused: OnPageRefused = staticmethod(lambda _address, _fault: None)
    """Told of requests that the guard keeps out."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.certificate: ClientCertificate | None = None
        self._header_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._running: RequestResponseCycle | None = None
        self._is_refused = False
        self._last_word: ServerError | None = None
        self._good_head: _Head | None = None
        self._has_sent = False
        self._is_in_head = False
        self._head_fault: ServerError | None = None
        self._is_offered_upgrade = False
        self._received = b""
        self._unread = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.certificate = certificate_shown(transport.get_extra_info("peercert"))
        self.on_connections(len(self.connections))
        if len(self.connections) > self.settings.connections_max:
            detail = f"the server has {self.settings.connections_max} open connections, the limit"
            self._refuse(ServerError(ProblemCode.TOO_MANY_CONNECTIONS, detail, retry_after_ms=BUSY_RETRY_MS))
            return
        # A pool may open connections ahead of its needs: until the first byte one is idle, not slow.
        self._timer = self.loop.call_later(self.settings.keep_alive_ms / 1000, self._is_unused)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._stop_write_timer()
        # uvicorn tells only the request that came in last. The one that is being answered must know, too (it may hold
        # leases), and those behind it must not be begun.
        self.pipeline.clear()
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()
        super().connection_lost(exc)
        self.on_connections(len(self.connections))

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(self.settings.write_timeout_ms / 1000, self._reader_is_late)

    def resume_writing(self) -> None:
        self._stop_write_timer()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        if not self._has_sent:
            self._has_sent = True
            self._stop_timer()  # of a connection that was not used
        self._received = data
        super().data_received(data)
        while self._unread:
            self._received, self._unread = self._unread, b""
            super().data_received(self._received)
        self._received = b""
        if self._is_refused:
            return
        if self.is_body_due():
            self.count_body()
        if self._timer is None:
            self._bound_the_rest()
        if len(self.pipeline) > self.settings.pipelined_requests_max:
            # Reading was paused at the first queued request: these came in one piece, so the client does not wait.
            while len(self.pipeline) > self.settings.pipelined_requests_max:
                self.pipeline.popleft()
            self.cycle = self.pipeline[0][0]
            detail = f"at most {self.settings.pipelined_requests_max} requests may wait on one connection"
            self._refuse(ServerError(ProblemCode.TOO_MANY_CONNECTIONS, detail, retry_after_ms=BUSY_RETRY_MS))

    def eof_received(self) -> None:
        """The client sends no more, which ends the connection; it may still read."""
        if self.is_body_due() or (self.cycle is not None and self.cycle.more_body):
            self._refuse(ServerError(ProblemCode.BODY_INCOMPLETE, "the body is shorter than its head says"))

    def _bound_the_rest(self) -> None:
        """After what came in: what still has to come must do so in time. (A timer per request that comes in one piece
        would be made and cancelled in vain.)"""
        if self.is_body_due():
            self._timer = self.loop.call_later(self.settings.body_timeout_ms / 1000, self._body_is_late)
        elif self._is_in_head or self._is_idle():
            # Idle: uvicorn has stopped its keep-alive timer, but bytes such as empty lines begin no request.
            self._start_timer()

    def is_body_due(self) -> bool:
        """Whether the protocol itself waits for a body; the application bounds what it reads."""
        return False

    def count_body(self) -> None:
        """Called when a part of the body has come that is due, and the rest has not."""

    def on_message_begin(self) -> None:
        self.build_scope()
        self.begin_head()

    def build_scope(self) -> None:
        super().on_message_begin()
        self.scope[CONNECTION] = self.transport  # type: ignore[literal-required]
        if self.certificate is not None:
            self.scope[CERTIFICATE] = self.certificate  # type: ignore[literal-required]

    def begin_head(self) -> None:
        self._header_bytes = 0
        self._is_in_head = True
        self._head_fault = None

    def end_head(self) -> None:
        self._is_in_head = False
        if self._timer is not None:
            self._stop_timer()

    def on_url(self, url: bytes) -> None:
        if self._head_fault is not None:
            self._count_head(len(url))
            return
        super().on_url(url)
        if len(self.url) > self.settings.url_bytes_max:
            detail = f"path and query have more than {self.settings.url_bytes_max} bytes"
            self._refuse_head(ServerError(ProblemCode.URI_TOO_LONG, detail))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count_head(len(name) + len(value))
        is_kept = self._head_fault is None or name.lower() == b"origin"
        if self._is_in_head and is_kept and not self._is_refused:
            super().on_header(name, value)
        # else a trailer, behind the body: it was judged by the head, and whoever stands before us has judged that.

    def _count_head(self, size_bytes: int) -> None:
        self._header_bytes += size_bytes
        most = self.settings.header_bytes_max
        if self._head_fault is not None and self._header_bytes > 2 * most:
            self._refuse(self._head_fault)
        elif self._head_fault is None and self._header_bytes > most:
            self._refuse_head(ServerError(ProblemCode.HEADERS_TOO_LARGE, f"the headers have more than {most} bytes"))

    def _refuse_head(self, fault: ServerError) -> None:
        """A page can read why only if its origin is known, which browsers send far behind in the head: where pages are
        named, what follows is looked through for that, and kept no more than what came before the limit."""
        if self.pages and self._is_in_head:
            self._head_fault = fault
        else:
            self._refuse(fault)

    def on_headers_complete(self) -> None:
        if self.is_offered_upgrade():
            return
        self.judge_head(dict(self.headers))
        if not self._is_refused:
            self.begin_request()

    def begin_request(self) -> None:
        """The head is whole and good: the application gets the request."""
        self.end_head()
        super().on_headers_complete()

    def is_offered_upgrade(self) -> bool:
        """Whether the parser takes what follows the head for another protocol, and the request's body for none. Nobody
        has to take such an offer (RFC 9110, 7.8), and some clients make it with every first request: the request is
        read anew without it."""
        if self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT" and self._head_fault is None:
            self._is_offered_upgrade = True
        return self._is_offered_upgrade

    def _should_upgrade(self) -> bool:
        return False

    def _unsupported_upgrade_warning(self) -> None:
        """uvicorn calls it while it handles the parser's exception."""
        offer = sys.exception()
        if self._is_offered_upgrade and isinstance(offer, httptools.HttpParserUpgrade):
            head = without_upgrade(self.parser.get_method(), self.url, self.parser.get_http_version(), self.headers)
            self._unread = head + self._received[offer.args[0] :]
            self._is_offered_upgrade = False
            self.parser = httptools.HttpRequestParser(self)

    def judge_head(self, headers: dict[bytes, bytes]) -> None:
        """Refuse what is not of a version that is spoken here, or for another host than this one (RFC 9112, 3.2).

        `headers` are the last of each lower-case name: `self.headers` has them all."""
        if self._head_fault is not None:
            self._refuse(self._head_fault)
            return
        version = self.parser.get_http_version()
        method = self.parser.get_method()
        if (version, method, self.url, self.headers) == self._good_head:
            return  # most clients say the same with every request
        host = headers.get(b"host")
        if version not in _VERSIONS:
            self._refuse(ServerError(ProblemCode.MALFORMED_HTTP, f"HTTP/{version} is not spoken here, HTTP/1.1 is"))
        elif host is None and version == "1.1":
            self._refuse(ServerError(ProblemCode.MALFORMED_HTTP, "a request has exactly one Host header", field="Host"))
        elif len(headers) < len(self.headers) and (name := self._repeated()):
            detail = f"a request has at most one header {name}"
            self._refuse(ServerError(ProblemCode.MALFORMED_HTTP, detail, field=name))
        elif headers.get(b"transfer-encoding", b"chunked").strip().lower() != b"chunked":
            detail = "the only transfer coding is chunked: what is packed says so by Content-Encoding"
            self._refuse(ServerError(ProblemCode.UNSUPPORTED_MEDIA_TYPE, detail, field="Transfer-Encoding"))
        elif host is not None and not _HOST.fullmatch(host):
            detail = "the header Host is not a host with or without a port"
            self._refuse(ServerError(ProblemCode.MALFORMED_HTTP, detail, field="Host"))
        elif (fault := self._fault_of_page(method, headers)) is not None:
            self.on_page_refused(self.client[0] if self.client else "", fault)
            self._refuse(fault)
        elif self._header_bytes <= REMEMBERED_HEAD_BYTES_MAX:
            self._good_head = version, method, self.url, list(self.headers)

    def _fault_of_page(self, method: bytes, headers: dict[bytes, bytes]) -> ServerError | None:
        if self.guard is None:
            return None
        host, origin, fetch_site = headers.get(b"host"), headers.get(b"origin"), headers.get(b"sec-fetch-site")
        return self.guard.fault(method, self.url, host=host, origin=origin, fetch_site=fetch_site)

    def _repeated(self) -> str:
        """A header that stands more than once in the head and must not; "" where there is none."""
        counts = Counter([name for name, _ in self.headers])
        return next((name.decode().title() for name in sorted(_SINGLE) if counts[name] > 1), "")

    def on_body(self, body: bytes) -> None:
        if not self._is_refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if self._is_refused or self._is_offered_upgrade:
            return
        super().on_message_complete()
        if self.cycle.response_complete:
            self._stop_timer()  # of a body that was not wanted any more

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._last_word is not None:
            self._say_last_word()
        elif self.cycle.more_body and self.cycle.response_complete and not self.transport.is_closing():
            # Answered before the body was there, as 408 and 413 are: what still comes in is dropped, for a while.
            self._unset_keepalive_if_required()
            self._start_timer()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def _is_idle(self) -> bool:
        is_answered = self.cycle is None or self.cycle.response_complete
        return is_answered and not self.transport.is_closing() and self.timeout_keep_alive_task is None

    def _start_timer(self) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(self.settings.header_timeout_ms / 1000, self._is_late)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _is_unused(self) -> None:
        self._timer = None
        self.transport.close()

    def _reader_is_late(self) -> None:
        """Closing would wait for ever for a client that does not read, and keep what it has not read."""
        self._write_timer = None
        self.transport.abort()

    def _is_late(self) -> None:
        self._timer = None
        detail = f"the headers did not arrive within {self.settings.header_timeout_ms} ms"
        is_answer_wanted = self.cycle is None or not self.cycle.more_body
        self._refuse(ServerError(ProblemCode.REQUEST_TIMEOUT, detail), is_answer_wanted=is_answer_wanted)

    def _body_is_late(self) -> None:
        self._timer = None
        detail = f"the body did not arrive within {self.settings.body_timeout_ms} ms"
        self._refuse(ServerError(ProblemCode.REQUEST_TIMEOUT, detail))

    def send_400_response(self, msg: str) -> None:
        """uvicorn calls it for bytes that are not HTTP."""
        self._refuse(ServerError(ProblemCode.MALFORMED_HTTP, "what was sent is not HTTP/1.1"))

    def _refuse(self, error: ServerError, *, is_answer_wanted: bool = True) -> None:
        """Answer, behind the answers to all that came before, and close: what follows cannot be trusted any more."""
        if self._is_refused or self.transport.is_closing():
            return
        self._is_refused = True
        self._stop_timer()
        if is_answer_wanted:
            self._last_word = error
        if self.cycle is not None and self.cycle.more_body:
            self._give_up(self.cycle)
        self._say_last_word()

    def _give_up(self, cycle: RequestResponseCycle) -> None:
        """It is this request whose body is wrong. It is told that its client is gone; if it has begun to answer, no
        other answer can be given."""
        if self.pipeline and self.pipeline[0][0] is cycle:
            self.pipeline.popleft()
        elif cycle.response_started or cycle.response_complete:
            self._last_word = None
        cycle.disconnected = True
        cycle.message_event.set()
        if self._running is cycle:
            self._running = None

    def _say_last_word(self) -> None:
        """Once all that came before is answered; where there is none, the connection ends at once."""
        if self._last_word is not None:
            is_answering = self._running is not None and not self._running.response_complete
            if is_answering or self.pipeline or self.transport.is_closing():
                return
            self.transport.write(whole_answer(self._last_word, self.pages.may_read(self.headers)))
        self.transport.close()


def without_upgrade(method: bytes, url: bytes, version: str, headers: list[tuple[bytes, bytes]]) -> bytes:
    """The head of a request, without the offer to go on in another protocol."""
    lines = [b"%b %b HTTP/%b" % (method, url, version.encode())]
    for name, value in headers:
        if name == b"connection":
            kept = [each.strip() for each in value.split(b",") if each.strip().lower() not in _OFFERS]
            value = b", ".join(kept)
        if value and name not in _OFFERS:
            lines.append(b"%b: %b" % (name, value))
    return b"\r\n".join(lines) + b"\r\n\r\n"


def make_http_protocol(settings: Settings, guard: WebGuard | None = None) -> type[asyncio.Protocol]:
    """The protocol class for `uvicorn.Config(http=...)` around any application."""
    return type("GatewayHttpProtocol", (LimitedHttpProtocol,), {"settings": settings, "guard": guard})
