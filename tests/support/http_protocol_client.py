"""The server's HTTP protocol class without sockets: bytes in, bytes out, and a client that speaks through it."""

import asyncio
from typing import Any, NamedTuple

import h11
import httpx2
import uvicorn
from uvicorn.server import ServerState

from app.configuration.server_settings import Settings
from app.http.application import ServerApplication
from app.http.protocol.server_protocol import ServerProtocol, make_server_protocol
from app.http.protocol.web_guard import WebGuard
from tests.support.manual_clock import settle


class MemoryTransport(asyncio.Transport):
    """Remembers what was written. `certificate` is what the client has shown, as `ssl` tells it."""

    def __init__(self, certificate: dict[str, Any] | None = None) -> None:
        super().__init__()
        self._certificate = certificate
        self.written = b""
        self.closed = asyncio.Event()
        self.aborted = asyncio.Event()
        self.has_news = asyncio.Event()

    def write(self, data: Any) -> None:
        self.written += bytes(data)
        self.has_news.set()

    def close(self) -> None:
        self.closed.set()
        self.has_news.set()

    def abort(self) -> None:
        self.aborted.set()
        self.has_news.set()

    def is_closing(self) -> bool:
        return self.closed.is_set()

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._certificate if name == "peercert" else default


class MemoryServer:
    """Connections to one application; `asgi_requests` counts those that went through ASGI."""

    def __init__(self, application: ServerApplication, settings: Settings, guard: WebGuard | None = None) -> None:
        self.asgi_requests = 0
        self.state = ServerState()
        self.state.default_headers = [(b"date", b"Sat, 21 Nov 2026 12:00:00 GMT")]

        async def counted(scope: Any, receive: Any, send: Any) -> None:
            self.asgi_requests += 1
            await application.asgi(scope, receive, send)

        protocol_class = make_server_protocol(
            settings,
            guard,
            application.short_ways,
            on_page_refused=application.on_page_refused,
        )
        self._config = uvicorn.Config(counted, http=protocol_class, lifespan="off", ws="none", log_config=None)
        self._config.load()

    def connect(self, certificate: dict[str, Any] | None = None) -> tuple[ServerProtocol, MemoryTransport]:
        make: Any = self._config.http_protocol_class
        protocol = make(config=self._config, server_state=self.state, app_state={})
        assert isinstance(protocol, ServerProtocol)
        transport = MemoryTransport(certificate)
        protocol.connection_made(transport)
        return protocol, transport


class ProtocolTransport(httpx2.AsyncBaseTransport):
    """For `httpx2.AsyncClient`: every request on a connection of its own, through the real protocol class."""

    def __init__(self, server: MemoryServer) -> None:
        self._server = server

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        lines = [b"%b %b HTTP/1.1" % (request.method.encode(), request.url.raw_path)]
        lines += [b"%b: %b" % header for header in request.headers.raw]
        protocol, transport = self._server.connect()
        protocol.data_received(b"\r\n".join(lines) + b"\r\n\r\n")
        sending = asyncio.create_task(_send_body(request, protocol, transport))
        try:
            answer = await read_answer(request.method, transport)
        except EOFError as error:
            raise httpx2.RemoteProtocolError(str(error)) from error
        finally:
            sending.cancel()
            transport.closed.set()
            protocol.connection_lost(None)
            await settle()
        return httpx2.Response(answer.status, headers=answer.headers, content=answer.body)


async def _send_body(request: httpx2.Request, protocol: ServerProtocol, transport: MemoryTransport) -> None:
    is_chunked = request.headers.get("transfer-encoding") == "chunked"
    assert isinstance(request.stream, httpx2.AsyncByteStream)
    async for part in request.stream:
        if transport.is_closing():
            return
        if part:
            protocol.data_received(b"%x\r\n%b\r\n" % (len(part), part) if is_chunked else part)
        await asyncio.sleep(0)
    if is_chunked and not transport.is_closing():
        protocol.data_received(b"0\r\n\r\n")


class HttpAnswer(NamedTuple):
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


async def read_answer(method: str, transport: MemoryTransport) -> HttpAnswer:
    """The answer to one request. Raises EOFError where the server closes the connection before its end."""
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method=method, target="/", headers=[("host", "gateway")]))
    connection.send(h11.EndOfMessage())
    taken = 0
    head: h11.Response | None = None
    body = b""
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            while taken == len(transport.written):
                if transport.is_closing():
                    raise EOFError("the server closed the connection without an answer")
                transport.has_news.clear()
                await transport.has_news.wait()
            connection.receive_data(transport.written[taken:])
            taken = len(transport.written)
        elif isinstance(event, h11.Response):
            head = event
        elif isinstance(event, h11.Data):
            body += bytes(event.data)
        elif isinstance(event, h11.EndOfMessage):
            assert head is not None
            return HttpAnswer(head.status_code, list(head.headers), body)
