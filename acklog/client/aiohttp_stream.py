"""An answer of aiohttp's that goes on until it is closed."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from acklog.errors import ConnectionFailed

if TYPE_CHECKING:
    from aiohttp import ClientResponse


class AiohttpStream:
    """`closing` gives back all that it holds. Little is read ahead: who does not read is soon not sent anything."""

    def __init__(
        self, answer: "ClientResponse", *, failure_of: Callable[[Exception], ConnectionFailed], closing: ExitStack
    ) -> None:
        self._answer = answer
        self._failure_of = failure_of
        self._closing = closing

    async def read(self) -> bytes:
        import aiohttp

        try:
            return await self._answer.content.readany()
        except (aiohttp.ClientError, OSError) as error:
            raise self._failure_of(error) from error

    def close(self) -> None:
        self._closing.close()
