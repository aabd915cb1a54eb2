"""Where the flights come from."""

import gzip
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from examples.flights.message import Message, parse_line

ENVIRONMENT_VARIABLE = "ACKLOG_FLIGHTS"
_HERE = Path(__file__).resolve().parent
_REPOSITORY = _HERE.parent.parent
SHARED_FILE = _REPOSITORY.parent / "shared" / "data" / "flights.ndjson.gz"
SAMPLE_FILE = _HERE / "sample.ndjson.gz"


def find_input() -> Path:
    """ACKLOG_FLIGHTS if it is set, else the whole year where it is beside the repository, else the sample of 2,000
    flights. Raises FileNotFoundError."""
    chosen = os.environ.get(ENVIRONMENT_VARIABLE)
    if chosen:
        path = Path(chosen)
        if not path.is_file():
            raise FileNotFoundError(f"{ENVIRONMENT_VARIABLE} names {path}, which is no file")
        return path
    return SHARED_FILE if SHARED_FILE.is_file() else SAMPLE_FILE


def count_messages(path: Path, limit: int | None) -> int:
    """How many messages `read_messages` will give."""
    with gzip.open(path, "rb") as lines:
        return sum(1 for _ in islice(lines, limit))


def read_messages(path: Path, limit: int | None) -> Iterator[Message]:
    """The first `limit` messages of the file (None: all), in order; only one is in memory at a time."""
    with gzip.open(path, "rb") as lines:
        for index, line in enumerate(islice(lines, limit)):
            yield parse_line(index, line.rstrip(b"\n"))
