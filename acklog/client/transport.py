"""What carries a request to a server and brings the answer back."""

from typing import Protocol

from acklog.client.call import Request, Response


class Transport(Protocol):
    """Keeps connections; any number of requests may be on their way."""

    async def perform(self, request: Request, *, timeout_s: float) -> Response:
        """The answer, whatever its status. Raises CannotConnect, ConnectionFailed, DeadlineExceeded, UnexpectedAnswer
        (an answer that is too large)."""
        ...

    async def close(self) -> None: ...
