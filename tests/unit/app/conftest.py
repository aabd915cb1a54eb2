from collections.abc import AsyncIterator, Callable

import httpx2
import pytest
from fastapi import FastAPI

from app.app import create_app
from tests.support.memory_gateway import MemoryWorld


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


@pytest.fixture
def app(world: MemoryWorld) -> FastAPI:
    return create_app(world.gateway)


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx2.AsyncClient]:
    async with client_of(app) as client:
        yield client


@pytest.fixture
def serve() -> Callable[[MemoryWorld], httpx2.AsyncClient]:
    """A client of a world made in the test, for settings of its own."""
    return lambda world: client_of(create_app(world.gateway))


def client_of(app: FastAPI) -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    return httpx2.AsyncClient(transport=transport, base_url="http://gateway")
