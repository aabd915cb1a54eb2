"""The HTTP protocol of the server: calls that have a short way straight from the parser, everything else through the
application.

Requests are recognised before an ASGI scope is built for them (the hot path of the design). One that turns out to be
something else when its body is there is given to the application as if nothing had happened.
"""

import asyncio
from collections.abc import Callable

from app.configuration.server_settings import Settings
from app.http.exchange.bytes_in_flight import Hold
from app.http.exchange.caller_refusal import CALLER, CallerRefusal
from app.http.protocol.limited_protocol import LimitedHttpProtocol, OnPageRefused
from app.http.protocol.named_pages import NamedPages
from app.http.protocol.request_head import HttpPeer, RequestHead
from app.http.protocol.short_cycle import ShortCycle
from app.http.protocol.short_way import Begin, ShortRequest, ShortWays
from app.http.protocol.web_guard import WebGuard
from cluster.errors import ServerError


def _nothing_begun(_body: bytes, _hold: Hold, _answer: object) -> bool:
    return False


class ServerProtocol(LimitedHttpProtocol):
    """`short_ways` is set by `make_server_protocol`."""

    short_ways: ShortWays

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)
        self._short_hold: Hold | None = None
        self._short_begin: Begin = _nothing_begun
        self._short_body: bytes | bytearray = b""
        self._connection = HttpPeer(None, None, "http", None)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._connection = HttpPeer(self.client, self.server, self.scheme or "http", self.certificate)

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_short()
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
        taken = self._taken(headers) if self._may_begin() else None
        if isinstance(taken, ShortRequest):
            self.end_head()
            self._short_hold, self._short_begin = taken
            return
        self._begin_ordinary(taken)

    def _taken(self, by_name: dict[bytes, bytes]) -> ShortRequest | CallerRefusal | None:
        path, _, query = self.url.partition(b"?")
        method = self.parser.get_method()
        way = self.short_ways.get((method, path))
        if way is None or b"#" in query:
            return None
        return way.takes(RequestHead(method, path, query, self.headers, by_name, self._connection))

    def on_body(self, body: bytes) -> None:
        if self._short_hold is None:
            super().on_body(body)
        elif not self._is_refused:
            self._short_body = _joined(self._short_body, body) if self._short_body else body

    def on_message_complete(self) -> None:
        hold = self._short_hold
        if hold is None:
            super().on_message_complete()
            return
        if self._is_refused:
            return
        self._stop_timer()
        cycle = ShortCycle(self, keep_alive=self.parser.should_keep_alive())
        body = bytes(self._short_body)
        try:
            hold.take_whole(len(body))
            is_taken = self._short_begin(body, hold, cycle)
        except ServerError:
            is_taken = False
        if is_taken:
            self._short_hold, self._short_body = None, b""
            self.cycle = self._running = cycle  # type: ignore[assignment]
        else:
            self._leave_to_application(hold)
            super().on_message_complete()

    def is_body_due(self) -> bool:
        return self._short_hold is not None

    def count_body(self) -> None:
        hold = self._short_hold
        assert hold is not None, "a body is due"
        if self._is_refused:
            return
        try:
            hold.grow_to(len(self._short_body))
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
        body, self._short_body = self._short_body, b""
        self._short_hold = None
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

    def _forget_short(self) -> None:
        if self._short_hold is not None:
            self._short_hold.release()
            self._short_hold = None


def _joined(begin: bytes | bytearray, rest: bytes) -> bytes | bytearray:
    """Nearly always a body is one piece; one that comes byte by byte must not be copied for each."""
    if isinstance(begin, bytes):
        begin = bytearray(begin)
    begin += rest
    return begin


def make_server_protocol(
    settings: Settings,
    guard: WebGuard | None = None,
    short_ways: ShortWays | None = None,
    *,
    pages: NamedPages | None = None,
    on_connections: Callable[[int], None] = lambda _count: None,
    on_page_refused: OnPageRefused = lambda _address, _fault: None,
) -> type[asyncio.Protocol]:
    """The protocol class for `uvicorn.Config(http=...)`. `on_connections` is told how many are open, and
    `on_page_refused` of what the guard keeps out."""
    attributes: dict[str, object] = {"settings": settings, "guard": guard}
    attributes["pages"] = pages or NamedPages()
    attributes["short_ways"] = short_ways or {}
    attributes["on_connections"] = staticmethod(on_connections)
    attributes["on_page_refused"] = staticmethod(on_page_refused)
    return type("ServerHttpProtocol", (ServerProtocol,), attributes)
