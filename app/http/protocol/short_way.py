"""Calls that need no scope, no middleware and no response that is sent in messages: from the parser to the services.

Each is an encoder before the same services as the application's endpoints. Whatever a short way does not take is left
to the application, as if nobody had looked at it.
"""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, NamedTuple, Protocol

from app.http.exchange.bytes_in_flight import Hold
from app.http.exchange.caller_refusal import CallerRefusal
from app.http.protocol.request_head import Headers, RequestHead


class Answer(Protocol):
    """Where the answer to one request goes. One of `write`, `write_in_pieces` and `drop` is called, once."""

    @property
    def is_gone(self) -> bool:
        """Nobody will read it."""
        ...

    def on_gone(self, listener: Callable[[], None] | None) -> None:
        """Call it when the client goes; None: nobody is to be told any more."""
        ...

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """In a task that an orderly stop waits for."""
        ...

    def write(self, status: int, headers: Headers, body: bytes) -> None: ...

    async def write_in_pieces(self, status: int, headers: Headers, body: bytes, *, timeout_ms: int) -> bool:
        """Whether the client was there until the last piece was handed over; it is waited for with each."""
        ...

    def drop(self) -> None:
        """There will be none: the server is being stopped."""


Begin = Callable[[bytes, Hold, Answer], bool]
"""Given the whole body: the answer comes later, and the hold is given back then. False where it is for the application
to answer: nothing has happened."""


class ShortRequest(NamedTuple):
    """`hold` is what the body is counted in as it comes."""

    hold: Hold
    begin: Begin


class ShortWay(Protocol):
    def takes(self, head: RequestHead) -> ShortRequest | CallerRefusal | None:
        """By its head alone. That somebody is not let in is returned, so that it is not found out again."""
        ...


ShortWays = Mapping[tuple[bytes, bytes], ShortWay]
"""By method and path."""

ASK_FOR_MORE = frozenset(
    {
        b"transfer-encoding",
        b"content-encoding",
        b"origin",  # a page's, whose browser wants to know by the answer who may read it
    }
)
"""Headers of requests that no short way takes."""


def length_of(by_name: dict[bytes, bytes], *, bytes_max: int) -> int | None:
    """The body's, as the head says it; None where it does not, or where it is none or beyond the limit."""
    text = by_name.get(b"content-length", b"")
    if not text.isdigit() or len(text) > 8:
        return None
    length = int(text)
    return length if 0 < length <= bytes_max else None
