"""What a run needs beside storage: the server's log, and who writes and reads files of a table."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from pyspark_acklog.export.compaction import Join
from pyspark_acklog.export.layout import TableLayout
from pyspark_acklog.export.plan import Plan
from pyspark_acklog.export.spans import Gap, Span


class LogBounds(NamedTuple):
    """A partition when it was asked: what is below `log_start` is gone, what is below `high_watermark` stays."""

    partition: int
    log_start: int
    high_watermark: int


class TopicBounds(NamedTuple):
    """A topic when it was asked. `closed` are those of its partitions that take no new messages (decommissioned),
    `gone` those that are there no more."""

    topic_id: str
    partitions: tuple[LogBounds, ...]
    closed: tuple[int, ...] = ()
    gone: tuple[int, ...] = ()


class Figures(NamedTuple):
    """Of rows, in whatever order: `checksum` as in a manifest, as a number."""

    rows: int
    value_bytes: int
    checksum: int


def total(figures: Iterable[Figures]) -> Figures:
    """Of all the rows together."""
    rows, value_bytes, checksum = 0, 0, 0
    for each in figures:
        rows, value_bytes, checksum = rows + each.rows, value_bytes + each.value_bytes, checksum ^ each.checksum
    return Figures(rows, value_bytes, checksum)


class FoundFile(NamedTuple):
    """A file that was written and read again. `path` is below the table's root; `directory` is what the layout makes
    of its rows (`date=2026-11-21`); `piece` is the number of the plan's piece, or of the join."""

    path: str
    directory: str
    piece: int
    size_bytes: int
    figures: Figures


class Found(NamedTuple):
    """Files with the offsets that are in them, as they were read. `twice`: offsets with more than one row."""

    files: tuple[FoundFile, ...]
    seen: tuple[Span, ...]
    twice: tuple[Span, ...]


class Log(Protocol):
    """The server. Every method raises SparkSourceError."""

    def bounds(self, topic: str) -> TopicBounds:
        """Where the topic's partitions begin and end now. Raises NoTopicError."""
        ...

    def explain(self, topic: str, missing: Sequence[Span]) -> list[Gap]:
        """Why offsets are missing. Raises UnexplainedGapError for those that the server has."""
        ...


class Workshop(Protocol):
    """Writes and reads the files: Spark. Every method raises SparkSourceError."""

    def row_bytes(self, topic: str, span: Span, layout: TableLayout) -> float:
        """How many bytes a row is going to take in a file, by a sample of the span."""
        ...

    def write(self, plan: Plan, directory: str) -> Figures:
        """All rows that the server has of the plan's pieces, a file each per value of the partition columns; what went
        into them. Rows that are missing are judged when the files are read again."""
        ...

    def found(self, plan: Plan, directory: str) -> Found:
        """What `write` has made, read again."""
        ...

    def join(self, layout: TableLayout, join: Join, directory: str) -> FoundFile:
        """The join's files as one, read again."""
        ...

    def publish(self, layout: TableLayout, topic: str, number: int, sources: Iterable[str]) -> None:
        """For tables that keep a log of their own (Delta): take in these files, once per number."""
        ...
