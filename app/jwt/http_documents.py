"""Small documents by HTTP from an issuer: one connection each, with nothing kept between them."""

import ssl
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from app.jwt.key_source import KeySourceError

if TYPE_CHECKING:
    from aiohttp import ClientResponse

_READ_BYTES = 16 * 1024
_OK = 200
_Result = TypeVar("_Result")


class OffTheLoop(Protocol):
    """Has a function called where it may block."""

    def __call__(self, function: Callable[[], _Result], /) -> Awaitable[_Result]: ...


class HttpDocuments:
    """`DocumentFetch`. `ca_file` "": whom the system trusts. The file is read each time, so that it may change."""

    def __init__(self, *, ca_file: str, timeout_ms: int, in_thread: OffTheLoop) -> None:
        self._ca_file = ca_file
        self._timeout_ms = timeout_ms
        self._in_thread = in_thread

    async def __call__(self, url: str, *, bytes_max: int) -> bytes:
        import aiohttp  # with the first issuer: most servers have none

        timeout = aiohttp.ClientTimeout(total=self._timeout_ms / 1000)
        try:
            context = await self._in_thread(self._context)
            async with (
                aiohttp.ClientSession(timeout=timeout, auto_decompress=False, trust_env=False) as session,
                session.get(
                    url,
                    ssl=context,
                    allow_redirects=False,
                    headers={"Accept": "application/json", "Accept-Encoding": "identity"},
                ) as answer,
            ):
                return await _content(answer, url, bytes_max)
        except TimeoutError:
            raise KeySourceError(f"{url} does not answer within {self._timeout_ms} ms") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise KeySourceError(f"{url} cannot be read: {error or type(error).__name__}") from None

    def _context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self._ca_file or None)


async def _content(answer: "ClientResponse", url: str, bytes_max: int) -> bytes:
    """Raises KeySourceError."""
    if answer.status != _OK:
        detail = ", and redirections are not followed" if 300 <= answer.status < 400 else ""
        raise KeySourceError(f"{url} answers {answer.status}{detail}")
    content = bytearray()
    async for part in answer.content.iter_chunked(_READ_BYTES):
        content += part
        if len(content) > bytes_max:
            raise KeySourceError(f"{url} has more than {bytes_max} bytes")
    return bytes(content)
