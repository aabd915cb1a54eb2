from collections.abc import AsyncIterator, Callable

import httpx2
import pytest
from starlette.types import ASGIApp

from app.http.application import create_app, create_server_app
from tests.support.http_protocol_client import MemoryServer, ProtocolTransport
from tests.support.memory_gateway import MemoryWorld


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


Connect = Callable[[MemoryWorld], httpx2.AsyncClient]


def _through_the_framework(world: MemoryWorld) -> httpx2.AsyncClient:
    return client_of(create_app(world.gateway))


def _through_direct_calls(world: MemoryWorld) -> httpx2.AsyncClient:
    return client_of(create_server_app(world.gateway).asgi)


def _through_the_protocol(world: MemoryWorld) -> httpx2.AsyncClient:
    server = MemoryServer(create_server_app(world.gateway), world.gateway.settings)
    return httpx2.AsyncClient(transport=ProtocolTransport(server), base_url="http://gateway")


@pytest.fixture(
    params=[_through_the_framework, _through_direct_calls, _through_the_protocol],
    ids=["framework", "direct", "protocol"],
)
def serve(request: pytest.FixtureRequest) -> Connect:
    """A client of the application alone, as ASGI in a server, and through the server's protocol: they must not
    differ."""
    chosen: Connect = request.param
    return chosen


@pytest.fixture
async def client(world: MemoryWorld, serve: Connect) -> AsyncIterator[httpx2.AsyncClient]:
    async with serve(world) as client:
        yield client


@pytest.fixture(params=[create_app, lambda gateway: create_server_app(gateway).asgi], ids=["framework", "direct"])
def app(request: pytest.FixtureRequest, world: MemoryWorld) -> ASGIApp:
    """For tests that play the server themselves."""
    application: ASGIApp = request.param(world.gateway)
    return application


def client_of(app: ASGIApp) -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    return httpx2.AsyncClient(transport=transport, base_url="http://gateway")
