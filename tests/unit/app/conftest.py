from collections.abc import AsyncIterator, Callable

import httpx2
import pytest
from starlette.types import ASGIApp

from app.app import create_app, create_server_app
from app.dependencies import Gateway
from tests.support.memory_gateway import MemoryWorld


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


Create = Callable[[Gateway], ASGIApp]


@pytest.fixture(params=[create_app, create_server_app], ids=["framework", "direct"])
def create(request: pytest.FixtureRequest) -> Create:
    """The application alone, and as a server runs it: they must not differ."""
    chosen: Create = request.param
    return chosen


@pytest.fixture
def app(world: MemoryWorld, create: Create) -> ASGIApp:
    return create(world.gateway)


@pytest.fixture
async def client(app: ASGIApp) -> AsyncIterator[httpx2.AsyncClient]:
    async with client_of(app) as client:
        yield client


@pytest.fixture
def serve(create: Create) -> Callable[[MemoryWorld], httpx2.AsyncClient]:
    """A client of a world made in the test, for settings of its own."""
    return lambda world: client_of(create(world.gateway))


def client_of(app: ASGIApp) -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    return httpx2.AsyncClient(transport=transport, base_url="http://gateway")
