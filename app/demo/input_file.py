"""Where the flights come from: a sample that is installed with this package, or a file of the user's."""

import gzip
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import islice
from pathlib import Path
from typing import IO, cast

import msgspec

from app.demo.message import DemoMessage, check_line, parse_line

SAMPLE = files("app.demo") / "sample.ndjson.gz"
SAMPLE_MESSAGES = 20_000  # what is sent of the sample when nobody says how many: 10 laps


class InputError(ValueError):
    """The input cannot be read, or does not hold messages."""


class FlightFile:
    """Lines of JSON with `body`, and perhaps `key` and `tags`; packed by gzip where the name ends in `.gz`."""

    def __init__(self, source: Traversable) -> None:
        self.name = source.name
        self._source = source

    @classmethod
    def at(cls, path: str) -> "FlightFile":
        """Raises InputError where there is no file."""
        if not Path(path).is_file():
            raise InputError(f"there is no file {path}")
        return cls(Path(path))

    def count(self) -> int:
        """How many messages it holds; every line is looked at. Raises InputError."""
        count = 0
        with self._open() as lines:
            for line in self._read(lines):
                count += 1
                try:
                    check_line(line)
                except msgspec.DecodeError as error:
                    raise self._no_message(count, error) from error
        if not count:
            raise InputError(f"{self.name} is empty")
        return count

    def messages(self, limit: int) -> Iterator[DemoMessage]:
        """`limit` messages in the order of the file, which is begun again at its end. Raises InputError."""
        index = 0
        lap = 0
        while index < limit:
            lap += 1
            with self._open() as lines:
                for number, line in enumerate(islice(self._read(lines), limit - index), start=1):
                    try:
                        message = parse_line(index, line, lap=lap)
                    except msgspec.DecodeError as error:
                        raise self._no_message(number, error) from error
                    yield message
                    index += 1

    def _read(self, lines: IO[bytes]) -> Iterator[bytes]:
        try:
            for line in lines:
                yield line.rstrip(b"\r\n")
        except (OSError, EOFError) as error:
            raise InputError(f"{self.name} cannot be read: {error}") from error

    def _no_message(self, number: int, error: msgspec.DecodeError) -> InputError:
        return InputError(f"line {number} of {self.name} is not a message: {error}")

    def _open(self) -> IO[bytes]:
        try:
            opened = self._source.open("rb")
        except OSError as error:
            raise InputError(f"{self.name} cannot be read: {error.strerror or error}") from error
        return cast(IO[bytes], gzip.open(opened)) if self.name.endswith(".gz") else opened
