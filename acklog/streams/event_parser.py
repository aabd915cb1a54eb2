"""Server-sent events out of bytes that come cut anywhere. Sans-IO.

As the standard has it: lines end with LF, CR or both, fields of one event come line by line, an empty line ends it, and
what begins with a colon is a comment.
"""

import re
from typing import NamedTuple

from acklog.errors import UnexpectedAnswer

EVENT_BYTES_MAX = 16 * 1024 * 1024
"""Of one event, with the line that is under way: as much as a request may have. The largest message needs a quarter."""
_LINE_END = re.compile(rb"\r\n|\n|\r")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class ServerSentEvent(NamedTuple):
    """`event_id` is the last that the stream has said up to here, "" for none. `data` is as it came."""

    name: str
    data: bytes
    event_id: str


class EventParser:
    """Of one connection. `last_id` is that of the connection before, which holds until another one is said."""

    def __init__(self, last_id: str = "", *, event_bytes_max: int = EVENT_BYTES_MAX) -> None:
        self._event_bytes_max = event_bytes_max
        self._line: list[bytes] = []
        self._line_bytes = 0
        self._event_bytes = 0
        self._skips_line_feed = False
        self._is_first_line = True
        self._name = ""
        self._data: list[bytes] = []
        self._id = last_id
        self.last_id = last_id
        """That of the last event that has come whole, be it one without data: a break goes on behind it."""

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """The events that end in this piece. Raises UnexpectedAnswer for one that is too large: nothing can be read
        from then on."""
        if not piece:
            return []
        if self._skips_line_feed and piece.startswith(b"\n"):
            piece = piece[1:]
        self._skips_line_feed = piece.endswith(b"\r")
        found: list[ServerSentEvent] = []
        first, *others = _LINE_END.split(piece)
        self._go_on(first)
        for part in others:
            event = self._end_line()
            if event is not None:
                found.append(event)
            self._go_on(part)
        return found

    def _go_on(self, part: bytes) -> None:
        if part:
            self._line.append(part)
            self._line_bytes += len(part)
        if self._event_bytes + self._line_bytes > self._event_bytes_max:
            raise UnexpectedAnswer(f"an event of the stream has more than {self._event_bytes_max} bytes")

    def _end_line(self) -> ServerSentEvent | None:
        line, self._line = b"".join(self._line), []
        self._event_bytes += self._line_bytes
        self._line_bytes = 0
        if self._is_first_line:
            self._is_first_line = False
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if not line:
            return self._end_event()
        name, _, value = line.partition(b":")
        self._take(name, value.removeprefix(b" "))
        return None

    def _take(self, name: bytes, value: bytes) -> None:
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._name = value.decode("utf-8", "replace")
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode("utf-8", "replace")

    def _end_event(self) -> ServerSentEvent | None:
        name, self._name = self._name, ""
        lines, self._data = self._data, []
        self._event_bytes = 0
        self.last_id = self._id
        return ServerSentEvent(name or "message", b"\n".join(lines), self.last_id) if lines else None
