"""HTTP without sockets: calls the gateway's ASGI application as uvicorn would."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.types import ASGIApp, Message

from tests.sim.process import Process, ProcessDiedError


class ConnectionLostError(Exception):
    """No whole answer came: the server died, or the client itself went away."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class AsgiClient:
    """Talks to one application in one process."""

    def __init__(self, process: Process, app: ASGIApp) -> None:
        self.process = process
        self._app = app

    async def get(self, path: str, query: dict[str, str], *, leave_after_s: float | None = None) -> Answer:
        return await self._request("GET", path, query, b"", [], leave_after_s=leave_after_s)

    async def post(
        self,
        path: str,
        body: bytes,
        *,
        idempotency_key: str | None = None,
        leave_after_s: float | None = None,
    ) -> Answer:
        headers = [] if idempotency_key is None else [(b"idempotency-key", idempotency_key.encode())]
        return await self._request("POST", path, {}, body, headers, leave_after_s=leave_after_s)

    async def _request(
        self,
        method: str,
        path: str,
        query: dict[str, str],
        body: bytes,
        more_headers: list[tuple[bytes, bytes]],
        *,
        leave_after_s: float | None,
    ) -> Answer:
        """Raises ConnectionLostError. `leave_after_s` is the client's patience: it hangs up then."""
        if self.process.is_dead:
            raise ConnectionLostError("connection refused")
        exchange = _Exchange(body)
        headers = [(b"host", b"sim"), (b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": urlencode(query).encode(),
            "root_path": "",
            "headers": headers + more_headers,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 2),
            "state": {},
        }
        run = asyncio.create_task(self._run(exchange, scope))
        try:
            async with asyncio.timeout(leave_after_s):
                return await exchange.answer
        except TimeoutError as error:
            raise ConnectionLostError("the client left") from error
        finally:
            exchange.hang_up()
            exchange.background = run

    async def _run(self, exchange: "_Exchange", scope: dict[str, Any]) -> None:
        try:
            await self.process.call(self._serve(exchange, scope))
        except ProcessDiedError:
            exchange.fail(ConnectionLostError("the server died"))
        else:
            exchange.fail(ConnectionLostError("the application did not answer"))

    async def _serve(self, exchange: "_Exchange", scope: dict[str, Any]) -> None:
        await self._app(scope, exchange.receive, exchange.send)


class _Exchange:
    """One request and its answer. A client that has gone is silently written to, as uvicorn does it."""

    def __init__(self, body: bytes) -> None:
        loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[Answer] = loop.create_future()
        self.background: asyncio.Task[None] | None = None
        self._gone: asyncio.Future[None] = loop.create_future()
        self._unread: bytes | None = body
        self._status = 0
        self._chunks: list[bytes] = []

    async def receive(self) -> Message:
        if self._unread is not None:
            body, self._unread = self._unread, None
            return {"type": "http.request", "body": body, "more_body": False}
        await asyncio.shield(self._gone)
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            return
        self._chunks.append(message.get("body", b""))
        if not message.get("more_body") and not self.answer.done():
            self.answer.set_result(Answer(self._status, b"".join(self._chunks)))

    def hang_up(self) -> None:
        if not self._gone.done():
            self._gone.set_result(None)
        if not self.answer.done():
            self.answer.cancel()

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)
