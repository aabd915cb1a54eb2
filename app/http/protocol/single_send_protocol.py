"""The HTTP protocol of the server: single sends, and what else has a short way, straight from the parser; everything
else through the application.

Requests are recognised before an ASGI scope is built for them (the hot path of the design). One that turns out to be
something else, or wrong, when its body is there is given to the application as if nothing had happened.
"""

import asyncio
from collections.abc import Callable, Mapping
from http import HTTPStatus

from app.configuration.server_settings import Settings
from app.http.exchange.bytes_in_flight import Hold
from app.http.exchange.caller_refusal import CALLER, CallerRefusal
from app.http.protocol.limited_protocol import LimitedHttpProtocol, OnPageRefused
from app.http.protocol.named_pages import NamedPages
from app.http.protocol.short_way import Begin, ShortRequest, ShortWay
from app.http.protocol.single_sends import METHOD, ROUTE, Headers, SingleSends
from app.http.protocol.web_guard import WebGuard
from cluster.errors import ServerError

_URL = ROUTE.encode()
_METHOD = METHOD.encode()


class _NobodyWaits:
    """In the place of an event: no application waits for the request's bytes."""

    def set(self) -> None: ...


class _Cycle:
    """A single send in uvicorn's bookkeeping of the connection, where a `RequestResponseCycle` stands otherwise."""

    __slots__ = ("_protocol", "disconnected", "keep_alive", "more_body", "response_complete")
    message_event = _NobodyWaits()

    def __init__(self, protocol: "SingleSendProtocol", *, keep_alive: bool) -> None:
        self._protocol = protocol
        self.keep_alive = keep_alive
        self.disconnected = False
        self.more_body = False
        self.response_complete = False

    def write(self, status: int, headers: Headers, body: bytes) -> None:
        self.response_complete = True
        if not self.disconnected and not self._protocol.transport.is_closing():
            self._protocol.write_answer(self, status, headers, body)

    def drop(self) -> None:
        self.response_complete = True
        if not self.disconnected:
            self._protocol.transport.close()


class SingleSendProtocol(LimitedHttpProtocol):
    """`single_sends` and `short_ways` (by URL) are set by `make_server_protocol`."""

    single_sends: SingleSends
    short_ways: Mapping[bytes, ShortWay]
    _defaults: tuple[list[tuple[bytes, bytes]], bytes] = ([], b"")

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)
        self._single_hold: Hold | None = None
        self._single_begin: Begin = self.single_sends.begin
        self._single_body: bytes | bytearray = b""

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_single()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        # The scope is built when it is needed, in `_begin_ordinary`.
        self.begin_head()
        self.url = b""
        self.headers = []
        self.expect_100_continue = False

    def on_headers_complete(self) -> None:
        if self.is_offered_upgrade():
            return
        headers = dict(self.headers)
        self.judge_head(headers)
        if self._is_refused:
            return
        taken = self._taken(headers) if self.parser.get_method() == _METHOD and self._may_begin() else None
        if isinstance(taken, ShortRequest):
            self.end_head()
            self._single_hold, self._single_begin = taken
            return
        self._begin_ordinary(taken)

    def _taken(self, headers: dict[bytes, bytes]) -> ShortRequest | CallerRefusal | None:
        if self.url == _URL:
            taken = self.single_sends.takes(headers, self.certificate)
            return ShortRequest(taken, self.single_sends.begin) if isinstance(taken, Hold) else taken
        way = self.short_ways.get(self.url)
        return None if way is None else way.takes(self.headers, headers, self.certificate)

    def on_body(self, body: bytes) -> None:
        if self._single_hold is None:
            super().on_body(body)
        elif not self._is_refused:
            self._single_body = _joined(self._single_body, body) if self._single_body else body

    def on_message_complete(self) -> None:
        hold = self._single_hold
        if hold is None:
            super().on_message_complete()
            return
        if self._is_refused:
            return
        self._stop_timer()
        cycle = _Cycle(self, keep_alive=self.parser.should_keep_alive())
        body = bytes(self._single_body)
        try:
            hold.take_whole(len(body))
            is_taken = self._single_begin(body, hold, cycle)
        except ServerError:
            is_taken = False
        if is_taken:
            self._single_hold, self._single_body = None, b""
            self.cycle = self._running = cycle  # type: ignore[assignment]
        else:
            self._leave_to_application(hold)
            super().on_message_complete()

    def write_answer(self, cycle: _Cycle, status: int, headers: Headers, body: bytes) -> None:
        """The answer to the single send that `cycle` stands for."""
        phrase = HTTPStatus(status).phrase.encode()
        lines = [b"HTTP/1.1 %d %b%b" % (status, phrase, self._default_head())]
        lines += [b"%b: %b" % header for header in headers]
        if not cycle.keep_alive:
            lines.append(b"connection: close")
        self.transport.write(b"\r\n".join(lines) + b"\r\n\r\n" + body)
        if not cycle.keep_alive:
            self.transport.close()
        self.on_response_complete()

    def is_body_due(self) -> bool:
        return self._single_hold is not None

    def count_body(self) -> None:
        hold = self._single_hold
        assert hold is not None, "a body is due"
        if self._is_refused:
            return
        try:
            hold.grow_to(len(self._single_body))
        except ServerError:
            self._leave_to_application(hold)

    def _may_begin(self) -> bool:
        """Whether nothing else is going on, so that the answer can be written when it is there."""
        return (
            (self.cycle is None or self.cycle.response_complete)
            and not self.expect_100_continue
            and not self.flow.write_paused
            and self.parser.get_http_version() == "1.1"
            and not self.transport.is_closing()
        )

    def _leave_to_application(self, hold: Hold) -> None:
        """What has come of the request so far is for it, as if nothing had happened."""
        hold.release()
        body, self._single_body = self._single_body, b""
        self._single_hold = None
        self._begin_ordinary()
        super().on_body(bytes(body))

    def _begin_ordinary(self, refusal: CallerRefusal | None = None) -> None:
        url, headers, expect_100_continue = self.url, self.headers, self.expect_100_continue
        self.build_scope()
        if refusal is not None:
            self.scope[CALLER] = refusal  # type: ignore[literal-required]
        self.url, self.expect_100_continue = url, expect_100_continue
        self.headers.extend(headers)
        self.begin_request()

    def _forget_single(self) -> None:
        if self._single_hold is not None:
            self._single_hold.release()
            self._single_hold = None

    def _default_head(self) -> bytes:
        """What uvicorn puts before every answer's headers (the date), put together once per renewal."""
        headers = self.server_state.default_headers
        if SingleSendProtocol._defaults[0] is not headers:
            lines = b"".join([b"\r\n%b: %b" % header for header in headers])
            SingleSendProtocol._defaults = (headers, lines)
        return SingleSendProtocol._defaults[1]


def _joined(begin: bytes | bytearray, rest: bytes) -> bytes | bytearray:
    """Nearly always a body is one piece; one that comes byte by byte must not be copied for each."""
    if isinstance(begin, bytes):
        begin = bytearray(begin)
    begin += rest
    return begin


def make_server_protocol(
    settings: Settings,
    single_sends: SingleSends,
    guard: WebGuard | None = None,
    *,
    pages: NamedPages | None = None,
    short_ways: Mapping[bytes, ShortWay] | None = None,
    on_connections: Callable[[int], None] = lambda _count: None,
    on_page_refused: OnPageRefused = lambda _address, _fault: None,
) -> type[asyncio.Protocol]:
    """The protocol class for `uvicorn.Config(http=...)`. `short_ways` are by URL. `on_connections` is told how many are
    open, and `on_page_refused` of what the guard keeps out."""
    attributes: dict[str, object] = {"settings": settings, "single_sends": single_sends, "guard": guard}
    attributes["pages"] = pages or NamedPages()
    attributes["short_ways"] = short_ways or {}
    attributes["on_connections"] = staticmethod(on_connections)
    attributes["on_page_refused"] = staticmethod(on_page_refused)
    return type("ServerHttpProtocol", (SingleSendProtocol,), attributes)
