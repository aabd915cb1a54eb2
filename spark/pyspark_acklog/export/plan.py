"""What a run is going to do, decided before it does anything: pure.

A plan is written down before the first byte of data, so a run that was killed is finished by the next one as it was
planned: with the same ranges, in the same files.
"""

import hashlib
import math
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from pyspark_acklog.export.compaction import Join
from pyspark_acklog.export.failures import ExportError
from pyspark_acklog.export.layout import TableLayout
from pyspark_acklog.export.manifest import Number, digest_of, encode
from pyspark_acklog.export.spans import EndedLog, Gap, Span

PIECES_MAX = 100_000
NAME_DIGEST_LENGTH = 8


class Piece(msgspec.Struct, frozen=True, rename="camel"):
    """What one Spark task reads and writes: a slice of one partition, or several partitions' small tails."""

    spans: tuple[Span, ...]

    @property
    def name(self) -> str:
        """The stem of its files' names: says the range, and with several that there are more."""
        first = self.spans[0]
        stem = f"{first.topic_id}-p{first.partition}-{first.start}-{first.end}"
        if len(self.spans) == 1:
            return stem
        digest = hashlib.sha256("".join(map(repr, self.spans)).encode()).hexdigest()[:NAME_DIGEST_LENGTH]
        return f"{stem}+{len(self.spans) - 1}-{digest}"


class Plan(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A run of one topic. `revision` counts plans for the same number: a run with other settings replaces one that was
    never committed. `row_bytes` is how large a row is expected to be in a file."""

    topic: str
    number: Number
    revision: int
    planned_at_ms: int
    layout: TableLayout
    target_file_bytes: int
    row_bytes: float
    spans: tuple[Span, ...]
    gaps: tuple[Gap, ...]
    pieces: tuple[Piece, ...]
    joins: tuple[Join, ...] = ()
    ended: tuple[EndedLog, ...] = ()

    @property
    def rows(self) -> int:
        """How many rows there are if every offset has a message."""
        return sum(span.length for piece in self.pieces for span in piece.spans)

    @property
    def digest(self) -> str:
        return digest_of(encode(self))

    def serves(self, wanted: "Wanted") -> bool:
        """Whether a run with these settings may finish this plan."""
        return self.layout == wanted.layout and self.target_file_bytes == wanted.target_file_bytes


class Wanted(msgspec.Struct, frozen=True):
    """The settings of a run that decide what it writes."""

    layout: TableLayout
    target_file_bytes: int


def cut(span: Span, *, row_bytes: float, target_bytes: int) -> list[Span]:
    """Slices of at most about `target_bytes`, equal to a row: they depend on these arguments only.

    All of them are the same size, so none is a small tail: with two or more, each has over half of the target.
    """
    if not span.length:
        return []
    rows_max = max(1, int(target_bytes / max(row_bytes, 1e-9)))
    count = math.ceil(span.length / rows_max)
    if count > PIECES_MAX:
        raise ExportError(
            f"{span} would become {count:,} files, {PIECES_MAX:,} are the most: give a larger --target-file-size"
        )
    ends = [span.start + span.length * number // count for number in range(count + 1)]
    return [Span(span.topic_id, span.partition, start, end) for start, end in pairwise(ends)]


def pieces_of(spans: Sequence[Span], *, row_bytes: float, target_bytes: int) -> tuple[Piece, ...]:
    """All spans in pieces; partitions that have less than half a file each share pieces."""
    rows_max = max(1, int(target_bytes / max(row_bytes, 1e-9)))
    pieces: list[Piece] = []
    shared: list[Span] = []
    for span in sorted(spans):
        if span.length * 2 > rows_max:
            pieces += [Piece((each,)) for each in cut(span, row_bytes=row_bytes, target_bytes=target_bytes)]
            continue
        if not span.length:
            continue
        is_other = bool(shared) and shared[0].topic_id != span.topic_id
        if is_other or sum(each.length for each in shared) + span.length > rows_max:
            pieces.append(Piece(tuple(shared)))
            shared = []
        shared.append(span)
    if shared:
        pieces.append(Piece(tuple(shared)))
    if len(pieces) > PIECES_MAX:
        raise ExportError(
            f"the run would have {len(pieces):,} pieces, {PIECES_MAX:,} are the most: give a larger --target-file-size"
        )
    return tuple(pieces)
