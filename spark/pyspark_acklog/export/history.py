"""The runs of a table, as its manifests tell them."""

import msgspec

from pyspark_acklog.export.directory import ExportDirectory
from pyspark_acklog.export.spans import total_length
from pyspark_acklog.export.storage import Storage


class HistoryEntry(msgspec.Struct, frozen=True, rename="camel"):
    """A run. `rows` and `bytes_added` are what it added; `files_joined` small files of earlier runs became fewer."""

    topic: str
    number: int
    planned_at_ms: int
    rows: int
    files: int
    bytes_written: int
    files_joined: int
    gap_offsets: int
    partitions: int
    digest: str


def history_of(storage: Storage, topic: str) -> list[HistoryEntry]:
    """The oldest first. Raises ManifestError."""
    return [
        HistoryEntry(
            topic=topic,
            number=manifest.number,
            planned_at_ms=manifest.planned_at_ms,
            rows=manifest.rows_added,
            files=len(manifest.files),
            bytes_written=manifest.size_bytes,
            files_joined=len(manifest.replaced),
            gap_offsets=total_length(gap.span for gap in manifest.gaps),
            partitions=len(manifest.spans),
            digest=digest,
        )
        for manifest, digest in ExportDirectory(storage, topic).manifests()
    ]
