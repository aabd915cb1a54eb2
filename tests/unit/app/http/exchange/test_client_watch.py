"""The watch over a request's client leaves the request itself as it is."""

import asyncio
from typing import Any

import pytest
from starlette.requests import Request

from app.gateway.shutdown import Shutdown
from app.http.exchange.caller_standing import CallerStanding
from app.http.exchange.client_watch import ClientWatch
from app.http.exchange.http_services import HttpServices
from app.http.exchange.request import RequestHeaders
from tests.support.memory_gateway import MemoryWorld


def standing() -> CallerStanding:
    """Of a server that asks nobody who they are."""
    services = HttpServices(MemoryWorld().gateway)
    return CallerStanding(RequestHeaders(Request({"type": "http", "headers": []})), services.callers)


async def test_a_request_that_is_cancelled_as_its_watch_ends_is_cancelled() -> None:
    begun = asyncio.Event()

    async def receive() -> Any:
        begun.set()
        await asyncio.Event().wait()

    async def request() -> None:
        async with ClientWatch(receive, Shutdown(), standing()):
            await begun.wait()
            asyncio.get_running_loop().call_soon(task.cancel)  # while it waits for the watch to end

    task = asyncio.get_running_loop().create_task(request())
    with pytest.raises(asyncio.CancelledError):
        await task
