"""What ends a stream."""

import asyncio
import json
from typing import Any, cast

from app.auth.tokens import parse_token_table
from app.gateway.metrics import Metrics
from app.http.application import create_server_app
from app.http.exchange.observation import STREAM, ObservedApplication
from tests.support.manual_clock import settle
from tests.support.memory_gateway import MemoryWorld

TOKEN = "a-watcher-of-topics-0123456789"


def table(*actions: str) -> Any:
    entry = {"name": "few", "token": TOKEN, "rights": [{"allow": list(actions), "topics": ["orders"]}]}
    return parse_token_table(json.dumps({"tokens": [entry]}).encode())


class Request:
    """A tail of `orders`, whose client reads all and says nothing."""

    def __init__(self, app: Any) -> None:
        self.body = b""
        self.status = 0
        self.gone = asyncio.Event()
        headers = [(b"authorization", f"Bearer {TOKEN}".encode())]
        path = "/topics/orders/tail"
        scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b""}
        scope |= {"headers": headers, "http_version": "1.1", "scheme": "http", "client": ("127.0.0.1", 1)}
        self.task = asyncio.get_running_loop().create_task(app(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        self.status = message.get("status", self.status)
        self.body += message.get("body", b"")


async def test_a_stream_ends_when_what_its_token_may_do_changes() -> None:
    world = MemoryWorld(tokens=table("receive"))
    await world.topic("orders", partitions=1)
    request = Request(create_server_app(world.gateway).asgi)
    await settle()
    assert request.status == 200
    assert request.body.startswith(b":\n\nevent: position\n")
    assert not request.task.done()
    assert world.gateway.tokens is not None
    world.gateway.tokens.adopt(table("receive", "look"))
    await settle()
    assert request.body.endswith(b'event: end\ndata: {"reason":"rights","code":"FORBIDDEN"}\n\n')
    assert request.task.done()


async def test_a_client_that_is_gone_ends_its_stream() -> None:
    world = MemoryWorld(tokens=table("receive"))
    await world.topic("orders", partitions=1)
    request = Request(create_server_app(world.gateway).asgi)
    await settle()
    request.gone.set()
    await settle()
    assert request.task.done()
    assert b"event: end" not in request.body


async def test_a_stream_is_counted_when_it_begins() -> None:
    """A request of hours would be told of by no metric until it ends, and then as one that took hours."""
    counted: list[tuple[str, str, int]] = []

    class Figures:
        def count_request(self, route: str, method: str, status: int, _seconds: float) -> None:
            counted.append((route, method, status))

    async def stream(scope: Any, receive: Any, send: Any) -> None:
        scope[STREAM] = True
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await receive()

    async def send(_message: Any) -> None: ...

    ended = asyncio.Event()
    observed = ObservedApplication(stream, metrics=cast(Metrics, Figures()), on_refused=lambda *_: None)
    task = asyncio.get_running_loop().create_task(observed({"type": "http", "method": "GET"}, ended.wait, send))  # type: ignore[arg-type]
    await settle()
    assert counted == [("other", "GET", 200)]
    ended.set()
    await task
    assert counted == [("other", "GET", 200)]
