"""Single sends of a server that traces some of them."""

import pytest

from app.http.application import create_server_app
from app.http.protocol.single_sends import SingleSends
from app.http.protocol.traced_single_sends import TracedSingleSends
from app.services.send import SendService
from tests.support.http_protocol_client import MemoryServer
from tests.support.manual_clock import settle
from tests.support.memory_gateway import MemoryWorld
from tests.support.recorded_spans import RecordedSpans
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
    application = create_server_app(MemoryWorld(SETTINGS).gateway)
    assert type(application.single_sends) is SingleSends
    assert type(application.single_sends._send) is SendService
    assert type(application.asgi).__name__ == "DirectCalls"


@pytest.mark.parametrize("sample_per_mille", [0, 1_000])
async def test_none_or_all(sample_per_mille: int) -> None:
    spans, server, _ = await sent(0.5, sample_per_mille=sample_per_mille)
    assert len(spans.names) == server.asgi_requests == sample_per_mille // 1_000


def test_the_short_way_of_both_differs_in_who_is_taken_only() -> None:
    assert {name for name in vars(TracedSingleSends) if not name.startswith("__")} == {"takes"}
