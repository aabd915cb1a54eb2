"""HTTP without sockets: bytes into the server's own protocol class, bytes out of it."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from app.configuration.server_settings import Settings
from app.http.application import ServerApplication
from app.http.protocol.server_protocol import ServerProtocol
from tests.sim.process import Process, ProcessDiedError
from tests.support.http_protocol_client import HttpAnswer, MemoryServer, MemoryTransport, read_answer


class ConnectionLostError(Exception):
    """No whole answer came: the server died, or the client itself went away."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class HttpClient:
    """Talks to one server in one process, with a connection for each request."""

    def __init__(self, process: Process, application: ServerApplication, settings: Settings) -> None:
        self.process = process
        self._server = MemoryServer(application, settings)

    async def get(self, path: str, query: dict[str, str], *, leave_after_s: float | None = None) -> Answer:
        target = f"{path}?{urlencode(query)}" if query else path
        return await self._request("GET", target, b"", [], leave_after_s=leave_after_s)

    async def post(
        self,
        path: str,
        body: bytes,
        *,
        idempotency_key: str | None = None,
        more_headers: Sequence[str] = (),
        leave_after_s: float | None = None,
    ) -> Answer:
        headers = [*more_headers, *([] if idempotency_key is None else [f"idempotency-key: {idempotency_key}"])]
        return await self._request("POST", path, body, headers, leave_after_s=leave_after_s)

    async def request(self, method: str, path: str, body: bytes = b"", *, leave_after_s: float | None = None) -> Answer:
        return await self._request(method, path, body, [], leave_after_s=leave_after_s)

    async def _request(
        self, method: str, target: str, body: bytes, more_headers: list[str], *, leave_after_s: float | None
    ) -> Answer:
        """Raises ConnectionLostError. `leave_after_s` is the client's patience: it hangs up then."""
        if self.process.is_dead:
            raise ConnectionLostError("connection refused")
        lines = [f"{method} {target} HTTP/1.1", "host: sim", "content-type: application/json"]
        head = "\r\n".join([*lines, f"content-length: {len(body)}", *more_headers, "", ""])
        exchange = _Exchange(self._server, method, head.encode() + body)
        try:
            async with asyncio.timeout(leave_after_s):
                answer = await self.process.call(exchange.run())
        except TimeoutError as error:
            exchange.hang_up(self.process)
            raise ConnectionLostError("the client left") from error
        except ProcessDiedError as error:
            raise ConnectionLostError("the server died") from error
        except EOFError as error:
            raise ConnectionLostError("the server closed the connection") from error
        return Answer(answer.status, answer.body)


class _Exchange:
    """One request on a connection of its own."""

    def __init__(self, server: MemoryServer, method: str, data: bytes) -> None:
        self._server = server
        self._method = method
        self._data = data
        self._protocol: ServerProtocol | None = None

    async def run(self) -> HttpAnswer:
        """Within the process. Raises EOFError where the server closed without a whole answer."""
        protocol, transport = self._connect()
        protocol.data_received(self._data)
        answer = await read_answer(self._method, transport)
        self._lose_connection()
        return answer

    def hang_up(self, process: Process) -> None:
        """The client goes; the server hears of it as of a closed socket."""
        process.run(self._lose_connection)

    def _connect(self) -> tuple[ServerProtocol, MemoryTransport]:
        self._protocol, transport = self._server.connect()
        return self._protocol, transport

    def _lose_connection(self) -> None:
        if self._protocol is not None:
            self._protocol.transport.close()
            self._protocol.connection_lost(None)
            self._protocol = None
