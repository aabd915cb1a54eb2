"""Lines of standard input, with their numbers and a limit to their length."""

from collections.abc import Iterator
from typing import IO, NamedTuple

LINE_BYTES_MAX = 4 * 1024 * 1024


class InputLine(NamedTuple):
    """`content` is without the line break. A line beyond the limit `is_too_long`, and has no content."""

    number: int
    content: bytes
    is_too_long: bool = False


def input_lines(stream: IO[str], *, line_bytes_max: int = LINE_BYTES_MAX) -> Iterator[InputLine]:
    """Every line that is not blank, as soon as it is there. Never holds more than one line."""
    buffer = getattr(stream, "buffer", None)
    read_line = buffer.readline if buffer is not None else lambda size: stream.readline(size).encode()
    number = 0
    while True:
        content: bytes = read_line(line_bytes_max + 1)
        if not content:
            return
        number += 1
        if len(content) > line_bytes_max and not content.endswith(b"\n"):
            while content and not content.endswith(b"\n"):
                content = read_line(line_bytes_max)
            yield InputLine(number, b"", is_too_long=True)
            continue
        content = content.rstrip(b"\r\n")
        if content.strip():
            yield InputLine(number, content)
