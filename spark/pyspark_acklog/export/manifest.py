"""What a committed run has done, as it is written down: pure values and their JSON."""

import hashlib
import re
from typing import Annotated, TypeVar

import msgspec

from pyspark_acklog.export.failures import ManifestError
from pyspark_acklog.export.layout import TableLayout
from pyspark_acklog.export.spans import EndedLog, Gap, Span

MANIFEST_VERSION = 1
MANIFEST_BYTES_MAX = 256 * 1024 * 1024
NUMBER_DIGITS = 10
_NAME = re.compile(r"([0-9]{10})\.json")

_Document = TypeVar("_Document", bound=msgspec.Struct)
Number = Annotated[int, msgspec.Meta(ge=1, lt=10**NUMBER_DIGITS)]


class ExportedFile(msgspec.Struct, frozen=True, rename="camel"):
    """A file of the table. `path` is below the table's root; `spans` are the offsets that its rows are out of (it has
    those of one date, or whatever the table is partitioned by). `checksum` is over its rows in any order, 16
    hexadecimal digits: see `inspection.CHECKSUM`. `value_bytes` are those of the bodies."""

    path: str
    rows: int
    size_bytes: int
    value_bytes: int
    checksum: str
    spans: tuple[Span, ...]

    @property
    def directory(self) -> str:
        """Where it lies: files of one directory may be joined."""
        return self.path.rpartition("/")[0]


class Move(msgspec.Struct, frozen=True, rename="camel"):
    """A file gets its name: from the run's staging directory into the table, both below the table's root."""

    source: str
    target: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One run of one topic. `spans` are the offsets it added, `positions` all that the table has had since its first
    run (with gaps). `previous` is the digest of the manifest before, "" for the first. `small` are the files that a
    later run may join, whichever run made them; `replaced` those that this run has joined into others. `ended` are all
    logs that no later run reads, whichever run has found that out."""

    version: int = MANIFEST_VERSION
    topic: str
    number: Number
    previous: str
    plan: str
    planned_at_ms: int
    staging: str
    layout: TableLayout
    target_file_bytes: int
    row_bytes: float
    spans: tuple[Span, ...]
    gaps: tuple[Gap, ...]
    files: tuple[ExportedFile, ...]
    moves: tuple[Move, ...]
    replaced: tuple[str, ...]
    positions: tuple[Span, ...]
    small: tuple[ExportedFile, ...]
    ended: tuple[EndedLog, ...] = ()

    @property
    def rows_added(self) -> int:
        """Rows that were not in the table before: offsets without gaps."""
        return sum(span.length for span in self.spans) - sum(gap.span.length for gap in self.gaps)

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)


def encode(document: msgspec.Struct) -> bytes:
    """JSON that a person can read, always the same for the same document."""
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def digest_of(content: bytes) -> str:
    """What the next manifest has as `previous`."""
    return hashlib.sha256(content).hexdigest()


def decode_manifest(content: bytes, *, path: str) -> Manifest:
    """Raises ManifestError."""
    manifest = decode(Manifest, content, path=path)
    if manifest.version != MANIFEST_VERSION:
        raise ManifestError(
            f"{path} is of version {manifest.version}, this program knows {MANIFEST_VERSION}: update it"
        )
    return manifest


def decode(kind: type[_Document], content: bytes, *, path: str) -> _Document:
    """Raises ManifestError."""
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ManifestError(f"{path} is damaged: {error}") from None


def file_name_of(number: int) -> str:
    """`0000000007.json`: in the order of their numbers."""
    return f"{number:0{NUMBER_DIGITS}d}.json"


def number_of(file_name: str) -> int | None:
    """The number in a manifest's file name; None for another file."""
    found = _NAME.fullmatch(file_name)
    return int(found[1]) if found else None
