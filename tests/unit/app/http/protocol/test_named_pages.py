"""What the protocol refuses by itself is told to pages, too, where their origin is named."""

from collections.abc import Callable

import pytest
import uvicorn
from uvicorn.server import ServerState

from app.configuration.server_settings import Settings
from app.http.application import create_server_app
from app.http.protocol.limited_protocol import LimitedHttpProtocol
from app.http.protocol.named_pages import NamedPages
from app.http.protocol.server_protocol import make_server_protocol
from app.http.protocol.web_guard import guard_of
from tests.support.http_protocol_client import MemoryTransport
from tests.support.manual_clock import settle
from tests.support.memory_gateway import MemoryWorld

SETTINGS = Settings(header_bytes_max=1024, url_bytes_max=256)
SHOP, OTHER = b"https://shop.example", b"https://other.example"
MOST = 4_000
"""Bytes that a head which is too large may have, and its sender is still told so."""
Connect = Callable[..., tuple[LimitedHttpProtocol, MemoryTransport]]


@pytest.fixture
def connect() -> Connect:
    application = create_server_app(MemoryWorld().gateway)

    def one(*origins: str) -> tuple[LimitedHttpProtocol, MemoryTransport]:
        pages = frozenset(origins)
        guard = guard_of(listens_on="127.0.0.1", allowed_hosts="", has_tokens=False, web_origins=pages)
        protocol_class = make_server_protocol(SETTINGS, guard, application.short_ways, pages=NamedPages(origins))
        config = uvicorn.Config(application.asgi, http=protocol_class, lifespan="off", log_config=None)
        config.load()
        made = config.http_protocol_class(config=config, server_state=ServerState(), app_state={})
        assert isinstance(made, LimitedHttpProtocol)
        transport = MemoryTransport()
        made.connection_made(transport)
        return made, transport

    return one


def head(origin: bytes, *, url: bytes = b"/topics", host: bytes = b"127.0.0.1", more: bytes = b"") -> bytes:
    """As browsers send it: the Origin far behind."""
    return b"GET " + url + b" HTTP/1.1\r\nhost: " + host + b"\r\n" + more + b"origin: " + origin + b"\r\n\r\n"


TOO_LARGE = [
    ({"url": b"/" + b"x" * 300}, 414),
    ({"more": b"a: " + b"x" * 1_100 + b"\r\n"}, 431),
    ({"more": b"a: bcd\r\n" * 250}, 431),
    ({"url": b"/" + b"x" * 300, "more": b"connection: upgrade\r\nupgrade: h2c\r\n"}, 414),
    ({"more": b"connection: upgrade\r\nupgrade: h2c\r\n" + b"a: " + b"x" * 1_100 + b"\r\n"}, 431),
]


@pytest.mark.parametrize(("parts", "status"), [*TOO_LARGE, ({"host": b"rebound.example"}, 421)])
@pytest.mark.parametrize("piece", [1, 7, 100_000])
async def test_a_named_page_may_read_it(connect: Connect, parts: dict[str, bytes], status: int, piece: int) -> None:
    for named, origin, told in (
        ((SHOP.decode(),), SHOP, SHOP),
        ((SHOP.decode(), "http://localhost:3000"), OTHER, None),
        ((), SHOP, None),
    ):
        protocol, transport = connect(*named)
        whole = head(origin, **parts)
        for first in range(0, len(whole), piece):
            protocol.data_received(whole[first : first + piece])
        await settle()
        assert transport.written.startswith(b"HTTP/1.1 %d " % status), transport.written
        assert transport.written.count(b"HTTP/1.1 ") == 1
        assert transport.is_closing()
        lines = transport.written.split(b"\r\n\r\n")[0].lower().split(b"\r\n")
        allowed = [line for line in lines if line.startswith(b"access-control-allow-origin")]
        assert allowed == ([] if told is None else [b"access-control-allow-origin: " + told])
        assert (b"vary: origin" in lines) == bool(named)


@pytest.mark.parametrize("begin", [b"GET /", b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n"])
async def test_nobody_is_listened_to_for_long(connect: Connect, begin: bytes) -> None:
    """Whoever sends a head without end is refused before it has come to where its Origin would be."""
    protocol, transport = connect(SHOP.decode())
    protocol.data_received(begin)
    sent = len(begin)
    part = b"x" * 10 if begin.endswith(b"/") else b"abc: def\r\n"
    while not transport.is_closing() and sent < 2 * MOST:
        protocol.data_received(part)
        sent += len(part)
    assert transport.is_closing()
    assert sent < MOST
    assert transport.written.startswith((b"HTTP/1.1 414 ", b"HTTP/1.1 431 "))


def test_every_page_where_that_is_said() -> None:
    assert NamedPages("*").may_read(None)["Access-Control-Allow-Origin"] == "*"
    assert not NamedPages()
