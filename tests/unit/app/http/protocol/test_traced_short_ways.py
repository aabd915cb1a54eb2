"""Short ways of a server that traces some requests."""

import pytest

from app.http.application import create_server_app
from app.http.exchange.http_services import HttpServices
from app.services.send import SendService
from tests.support.http_protocol_client import MemoryServer
from tests.support.manual_clock import settle
from tests.support.memory_gateway import MemoryWorld
from tests.support.recorded_spans import SAMPLED, UNSAMPLED, RecordedSpans
from tests.unit.app.http.protocol.test_single_sends import SETTINGS, post

DRAWN, NOT_DRAWN = 0.0, 0.9


async def sent(*chances: float, sample_per_mille: int = 500) -> tuple[RecordedSpans, MemoryServer, MemoryWorld]:
    """One plain send, to a topic that is there."""
    spans = RecordedSpans(sample_per_mille=sample_per_mille, chances=chances)
    world = MemoryWorld(SETTINGS, tracer=spans.tracer)
    await world.topic("orders")
    server = MemoryServer(create_server_app(world.gateway), SETTINGS)
    protocol, transport = server.connect()
    protocol.data_received(post())
    await settle()
    assert transport.written.startswith(b"HTTP/1.1 201 ")
    transport.closed.set()
    protocol.connection_lost(None)
    return spans, server, world


async def test_one_that_is_not_drawn_takes_the_short_way() -> None:
    spans, server, _ = await sent(NOT_DRAWN)
    assert (spans.names, server.asgi_requests, spans.chances.draws) == ([], 0, 1)


async def test_one_that_is_drawn_takes_the_long_way_and_is_drawn_for_once() -> None:
    spans, server, world = await sent(DRAWN, NOT_DRAWN)
    assert (spans.names, server.asgi_requests, spans.chances.draws) == (["send orders"], 1, 1)
    [record] = world.node.stored(world.metadata.topics()[0].id)
    assert record.headers is not None
    assert list(record.headers) == ["traceparent"]


async def test_without_a_tracer_everything_is_of_the_classes_that_know_nothing_of_traces() -> None:
    world = MemoryWorld(SETTINGS)
    application = create_server_app(world.gateway)
    assert {type(way).__name__ for way in application.short_ways.values()} == {
        "ShortReceives",
        "ShortSends",
        "ShortSettlements",
    }
    assert type(HttpServices(world.gateway).send) is SendService
    assert type(application.asgi).__name__ == "DirectCalls"


@pytest.mark.parametrize("sample_per_mille", [0, 1_000])
async def test_none_or_all(sample_per_mille: int) -> None:
    spans, server, _ = await sent(0.5, sample_per_mille=sample_per_mille)
    assert len(spans.names) == server.asgi_requests == sample_per_mille // 1_000


CALLS = {
    "receive orders": b"GET /messages?queue=orders HTTP/1.1\r\nhost: a\r\n%b\r\n",
    "ack": b'POST /ack HTTP/1.1\r\nhost: a\r\ncontent-length: 15\r\n%b\r\n{"receipt":"r"}',
    "send orders": b"POST /messages HTTP/1.1\r\nhost: a\r\ncontent-length: 42\r\n%b\r\n"
    b'{"queue":"orders","messages":[{"body":1}]}',
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    ("header", "chances", "asgi_requests", "recorded"),
    [
        (b"", (NOT_DRAWN,), 0, 0),
        (b"", (DRAWN, NOT_DRAWN), 1, 1),
        (b"traceparent: %b\r\n" % SAMPLED.encode(), (NOT_DRAWN,), 1, 1),
        (b"traceparent: %b\r\n" % UNSAMPLED.encode(), (DRAWN,), 1, 0),
    ],
)
async def test_what_is_traced_goes_through_the_application(
    name: str, header: bytes, chances: tuple[float, ...], asgi_requests: int, recorded: int
) -> None:
    spans = RecordedSpans(sample_per_mille=500, chances=chances)
    world = MemoryWorld(SETTINGS, tracer=spans.tracer)
    await world.topic("orders")
    server = MemoryServer(create_server_app(world.gateway), SETTINGS)
    protocol, transport = server.connect()
    protocol.data_received(CALLS[name] % header)
    await settle()
    assert transport.written.startswith(b"HTTP/1.1 ")
    assert (server.asgi_requests, len(spans.names)) == (asgi_requests, recorded)
    transport.closed.set()
    protocol.connection_lost(None)
