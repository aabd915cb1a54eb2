"""Requests by aiohttp. It is imported with the first request: it takes longer than all the rest of the SDK."""

from typing import TYPE_CHECKING

from acklog.client.call import Request, Response
from acklog.errors import CannotConnect, ConnectionFailed, DeadlineExceeded, UnexpectedAnswer

if TYPE_CHECKING:
    from ssl import SSLContext

    from aiohttp import ClientResponse, ClientSession

KEEP_ALIVE_S = 60  # below the server's 75 s: a connection is never used while the other side is closing it
ANSWER_BYTES_MAX = 64 * 1024 * 1024


class AiohttpTransport:
    """`tls` is for servers behind a proxy with a certificate of its own; None: the system's authorities."""

    def __init__(
        self, base_url: str, headers: dict[str, str], *, connections_max: int, tls: "SSLContext | None" = None
    ) -> None:
        self._base_url = base_url
        self._headers = headers
        self._connections_max = connections_max
        self._tls = tls
        self._session: ClientSession | None = None

    async def perform(self, request: Request, *, timeout_s: float) -> Response:
        import aiohttp
        from yarl import URL

        session = self._session or self._open()
        try:
            async with session.request(
                request.method,
                URL(self._base_url + request.target, encoded=True),
                data=request.body or None,
                headers=request.headers,
                timeout=aiohttp.ClientTimeout(total=timeout_s),
                allow_redirects=False,
            ) as answer:
                body = await _read(answer)
                return Response(answer.status, body, {name.lower(): value for name, value in answer.headers.items()})
        except TimeoutError as error:
            raise DeadlineExceeded(f"no answer from {self._base_url} within {timeout_s:g} s") from error
        except aiohttp.ClientConnectorError as error:
            detail = f"cannot connect to {self._base_url}: {error.strerror or error}; is the server running?"
            raise CannotConnect(detail) from error
        except (aiohttp.ClientError, OSError) as error:
            raise ConnectionFailed(f"the connection to {self._base_url} failed: {error or repr(error)}") from error

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _open(self) -> "ClientSession":
        import aiohttp

        connector = aiohttp.TCPConnector(
            limit=self._connections_max, keepalive_timeout=KEEP_ALIVE_S, ssl=True if self._tls is None else self._tls
        )
        # A server's own retry loop has the last word about when to try again, and cookies are nobody's business here.
        self._session = aiohttp.ClientSession(
            connector=connector, headers=self._headers, cookie_jar=aiohttp.DummyCookieJar()
        )
        return self._session


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
