"""The streams of the command's process, and its end. It knows nothing of what the command does."""

import io
import os
import sys
from typing import Any, NoReturn, TextIO

from acklog.command.exit_codes import ExitCode


def make_tolerant() -> None:
    """Of both streams: what they cannot encode is replaced."""
    sys.stdout, sys.stderr = _tolerant(sys.stdout), _tolerant(sys.stderr)


def _tolerant(stream: TextIO) -> TextIO:
    """The stream with what it cannot encode replaced, and buffered: PYTHONUNBUFFERED, common in containers, means a
    system call per line, and text that a pipe took only a part of would be lost without an error."""
    if isinstance(stream, io.TextIOWrapper):
        raw: Any = stream.buffer
        if isinstance(raw, io.RawIOBase):
            return io.TextIOWrapper(
                io.BufferedWriter(raw), encoding=stream.encoding, errors="replace", line_buffering=stream.isatty()
            )
        stream.reconfigure(errors="replace")
    return stream


def end(exit_code: int) -> NoReturn:
    if exit_code == ExitCode.READER_GONE:
        # What is still buffered has no reader: without this the interpreter would complain about it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(exit_code)
