"""What uvicorn puts before every answer's headers (the date), put together once per renewal."""

from uvicorn.server import ServerState


class DefaultHead:
    """Of one server at a time."""

    def __init__(self) -> None:
        self._headers: list[tuple[bytes, bytes]] = []
        self._lines = b""

    def lines_of(self, state: ServerState) -> bytes:
        """Each with what ends the one before it."""
        if self._headers is not state.default_headers:
            self._headers = state.default_headers
            self._lines = b"".join([b"\r\n%b: %b" % header for header in self._headers])
        return self._lines
