"""What carries a request to a server and brings the answer back."""

from typing import Protocol, runtime_checkable

from acklog.client.call import Request, Response


class Transport(Protocol):
    """Keeps connections; any number of requests may be on their way."""

    async def perform(self, request: Request, *, timeout_s: float) -> Response:
        """The answer, whatever its status. Raises CannotConnect, ConnectionFailed, DeadlineExceeded, UnexpectedAnswer
        (an answer that is too large)."""
        ...

    async def close(self) -> None: ...


class StreamAnswer(Protocol):
    """An answer that goes on until it is closed."""

    async def read(self) -> bytes:
        """The next bytes, as many as are there, at least one; none: it is over. A read that is cancelled has taken
        nothing. Raises ConnectionFailed."""
        ...

    def close(self) -> None:
        """May be called again."""
        ...


@runtime_checkable
class StreamTransport(Protocol):
    """A transport that also carries streams."""

    async def open_stream(self, request: Request, *, timeout_s: float) -> "StreamAnswer | Response":
        """The stream once its head is there, or the whole answer of a server that has none to give. `timeout_s` is for
        that; a stream itself has no deadline. Raises as `Transport.perform` does, and InvalidArgument for more streams
        than it carries."""
        ...
