"""Requests by aiohttp. It is imported with the first request: it takes longer than all the rest of the SDK."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING

from acklog.client.aiohttp_stream import AiohttpStream
from acklog.client.call import Request, Response
from acklog.client.tls_failures import tls_failure_of
from acklog.errors import (
    CannotConnect,
    ConnectionFailed,
    DeadlineExceeded,
    InvalidArgument,
    TlsFailed,
    UnexpectedAnswer,
)

if TYPE_CHECKING:
    from ssl import SSLContext

    from aiohttp import ClientResponse, ClientSession

KEEP_ALIVE_S = 60  # below the server's 75 s: a connection is never used while the other side is closing it
ANSWER_BYTES_MAX = 64 * 1024 * 1024
EVENT_STREAM = "text/event-stream"
_MAY_WANT_CERTIFICATE = (
    "it may want to know by a certificate who calls (certificate_file and key_file, --certificate-file and --key-file)"
)


class AiohttpTransport:
    """`authorization` gives the header of that name for each request, where it changes.

    `tls` gives what new connections are made with; None: the system's authorities, and no certificate of ours. Where it
    gives something else than before, no request goes by the connections of before any more."""

    def __init__(
        self,
        base_url: str,
        headers: dict[str, str],
        *,
        connections_max: int,
        authorization: Callable[[], str] | None = None,
        tls: "Callable[[], SSLContext] | None" = None,
    ) -> None:
        self._base_url = base_url
        self._headers = headers
        self._connections_max = connections_max
        self._authorization = authorization
        self._tls = tls
        self._session: ClientSession | None = None
        self._streams: ClientSession | None = None
        self._streams_open = 0
        self._has_answered = False

    async def perform(self, request: Request, *, timeout_s: float) -> Response:
        import aiohttp
        from yarl import URL

        session = self._session = self._session or self._opened()
        with self._told(timeout_s):
            async with session.request(
                request.method,
                URL(self._base_url + request.target, encoded=True),
                data=request.body or None,
                headers=self._headers_of(request),
                timeout=aiohttp.ClientTimeout(total=timeout_s),
                allow_redirects=False,
                ssl=True if self._tls is None else self._tls(),
            ) as answer:
                self._has_answered = True
                return await _whole(answer)

    async def open_stream(self, request: Request, *, timeout_s: float) -> AiohttpStream | Response:
        import aiohttp
        from yarl import URL

        if self._streams_open >= self._connections_max:
            detail = f"{self._streams_open} streams are open: there may be as many as connections_max says"
            raise InvalidArgument(detail, field="connections_max")
        with self._told(timeout_s), ExitStack() as closing:
            self._streams_open += 1
            closing.callback(self._one_less)
            async with asyncio.timeout(timeout_s):
                # Streams have connections of their own, or calls would find none that is free.
                session = self._streams = self._streams or self._opened()
                answer = await session.request(
                    request.method,
                    URL(self._base_url + request.target, encoded=True),
                    headers=self._headers_of(request),
                    timeout=aiohttp.ClientTimeout(total=None),
                    allow_redirects=False,
                    ssl=True if self._tls is None else self._tls(),
                )
                closing.callback(answer.close)
                self._has_answered = True
                if answer.status != HTTPStatus.OK or answer.content_type != EVENT_STREAM:
                    return await _whole(answer)
            return AiohttpStream(answer, failure_of=self._failure_of, closing=closing.pop_all())

    async def close(self) -> None:
        sessions, self._session, self._streams = (self._session, self._streams), None, None
        for session in sessions:
            if session is not None:
                await session.close()

    @contextmanager
    def _told(self, timeout_s: float) -> Iterator[None]:
        """What goes wrong within is raised as the SDK has it."""
        import aiohttp

        try:
            yield
        except TimeoutError as error:
            raise DeadlineExceeded(f"no answer from {self._base_url} within {timeout_s:g} s") from error
        except (aiohttp.ClientError, OSError) as error:
            raise self._failure_of(error) from error

    def _one_less(self) -> None:
        self._streams_open -= 1

    def _headers_of(self, request: Request) -> Mapping[str, str]:
        """Raises InvalidArgument."""
        if self._authorization is None:
            return request.headers
        return {**request.headers, "Authorization": self._authorization()}

    def _failure_of(self, error: Exception) -> ConnectionFailed:
        import aiohttp

        tls_failure = tls_failure_of(error, url=self._base_url)
        if tls_failure is not None:
            return tls_failure
        is_reset = isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, ConnectionResetError)
        if is_reset and self._base_url.startswith("https:"):
            return TlsFailed(f"{self._base_url} ended the connection while TLS began: {_MAY_WANT_CERTIFICATE}")
        if isinstance(error, aiohttp.ClientConnectorError):
            detail = f"cannot connect to {self._base_url}: {error.strerror or error}; is the server running?"
            return CannotConnect(detail)
        detail = f"the connection to {self._base_url} failed: {error or repr(error)}"
        return ConnectionFailed(detail if self._has_answered else f"{detail}; {self._first_guess()}")

    def _first_guess(self) -> str:
        """Of a server that has never answered: it may have understood nothing, or not whom it talks to."""
        if self._base_url.startswith("https:"):
            return _MAY_WANT_CERTIFICATE
        return f"does it speak TLS? Then it is called by https{self._base_url.removeprefix('http')}"

    def _opened(self) -> "ClientSession":
        import aiohttp

        connector = aiohttp.TCPConnector(limit=self._connections_max, keepalive_timeout=KEEP_ALIVE_S)
        # A server's own retry loop has the last word about when to try again, and cookies are nobody's business here.
        return aiohttp.ClientSession(connector=connector, headers=self._headers, cookie_jar=aiohttp.DummyCookieJar())


async def _whole(answer: "ClientResponse") -> Response:
    body = await _read(answer)
    return Response(answer.status, body, {name.lower(): value for name, value in answer.headers.items()})


async def _read(answer: "ClientResponse") -> bytes:
    """The whole body, never more than ANSWER_BYTES_MAX of it."""
    if answer.content_length is not None and answer.content_length <= ANSWER_BYTES_MAX:
        return await answer.read()
    parts: list[bytes] = []
    size_bytes = 0
    async for part in answer.content.iter_any():
        size_bytes += len(part)
        if size_bytes > ANSWER_BYTES_MAX:
            detail = f"the answer has more than {ANSWER_BYTES_MAX} bytes"
            raise UnexpectedAnswer(detail, status=answer.status)
        parts.append(part)
    return b"".join(parts)
