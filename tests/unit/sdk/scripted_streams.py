"""A server that has a stream for each connection, as a test wrote it down."""

import asyncio
from collections.abc import Sequence

from acklog.client.call import Request, Response
from acklog.errors import AcklogError

SILENCE = object()
"""Nothing more comes, and nobody hangs up."""
Piece = bytes | AcklogError | object


class ScriptedAnswer:
    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = list(pieces)
        self.is_closed = False

    async def read(self) -> bytes:
        await asyncio.sleep(0)
        if not self._pieces:
            return b""
        piece = self._pieces[0]
        if piece is SILENCE:
            await asyncio.Event().wait()
        self._pieces.pop(0)
        if isinstance(piece, AcklogError):
            raise piece
        assert isinstance(piece, bytes)
        return piece

    def close(self) -> None:
        self.is_closed = True


class ScriptedStreams:
    """Each connection is an answer that is no stream, a failure, or the pieces of a stream. When all have been used,
    the last one comes again and again."""

    def __init__(self, *connections: Response | AcklogError | Sequence[Piece]) -> None:
        self.connections = list(connections)
        self.requests: list[Request] = []
        self.times_s: list[float] = []
        self.answers: list[ScriptedAnswer] = []

    @property
    def ids(self) -> list[str]:
        """Behind which each connection was to go on."""
        return [request.headers.get("Last-Event-ID", "") for request in self.requests]

    async def perform(self, request: Request, *, timeout_s: float) -> Response:
        raise AssertionError("a stream was asked for")

    async def open_stream(self, request: Request, *, timeout_s: float) -> ScriptedAnswer | Response:
        self.requests.append(request)
        self.times_s.append(asyncio.get_running_loop().time())
        connection = self.connections.pop(0) if len(self.connections) > 1 else self.connections[0]
        if isinstance(connection, AcklogError):
            raise connection
        if isinstance(connection, Response):
            return connection
        self.answers.append(ScriptedAnswer(connection))
        return self.answers[-1]

    async def close(self) -> None:
        pass
