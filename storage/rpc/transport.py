"""The transport port: ordered byte streams between processes, with back-pressure in both directions.

Callbacks run on the event loop and must not block. A stream keeps order and loses nothing until it ends; an end may
come at any moment, and says nothing about which of the written bytes arrived.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from cluster.tls.peer_identity import PeerIdentity
from storage.rpc.framing import Buffer


class StreamHandler(Protocol):
    """Whoever uses a stream. No callback comes after `stream_ended`."""

    def stream_began(self, stream: "Stream") -> None: ...

    def bytes_received(self, data: bytes) -> None: ...

    def writing_paused(self) -> None:
        """The peer reads too slowly: write no more than what must be written."""
        ...

    def writing_resumed(self) -> None: ...

    def stream_ended(self, error: Exception | None) -> None:
        """Closed by either side (None), or broken."""
        ...


class Stream(Protocol):
    @property
    def peer(self) -> str:
        """Who is at the other end, for people."""
        ...

    @property
    def identity(self) -> PeerIdentity | None:
        """Who the other end has proved to be; None where nobody proves anything."""
        ...

    def write(self, buffers: Sequence[Buffer]) -> None:
        """Send the buffers, one behind the other. They must not change any more. Ignored after the end."""
        ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def close(self) -> None:
        """End the stream after what was written; `stream_ended` follows."""
        ...

    def abort(self) -> None:
        """End the stream now; `stream_ended` follows."""
        ...


class Listener(Protocol):
    @property
    def address(self) -> str:
        """Where to dial; has the real port where 0 was asked for."""
        ...

    async def close(self) -> None:
        """Accept no more; streams that exist go on."""
        ...


class NodeTransport(Protocol):
    async def dial(self, address: str, handler: StreamHandler) -> None:
        """Returns after `stream_began`; raises OSError when nobody answers at the address."""
        ...

    async def listen(self, address: str, accept: Callable[[], StreamHandler]) -> Listener:
        """Make a handler with `accept` for every stream that is dialled; raises OSError."""
        ...
