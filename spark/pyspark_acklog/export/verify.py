"""Whether a table is what its manifests say: every file is read, every offset counted."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from pyspark_acklog.export.directory import HIDDEN, ExportDirectory, topic_of
from pyspark_acklog.export.failures import ExportError
from pyspark_acklog.export.inspection import InspectedFile, inspected
from pyspark_acklog.export.manifest import ExportedFile
from pyspark_acklog.export.spans import total_length
from pyspark_acklog.export.storage import Storage
from pyspark_acklog.export.table import Table, coverage_faults
from pyspark_acklog.failures import one_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FAULTS_SHOWN_MAX = 1_000


class Verdict(msgspec.Struct, frozen=True, rename="camel"):
    """Of one topic. `gap_offsets` are explained; `faults` is empty where everything is as it should be."""

    topic: str
    runs: int
    files: int
    rows: int
    size_bytes: int
    partitions: int
    gap_offsets: int
    faults: tuple[str, ...]

    @property
    def is_ok(self) -> bool:
        return not self.faults


def topics_in(storage: Storage) -> list[str]:
    """The topics that were exported there, by name."""
    top = f"{HIDDEN}/manifests"
    return sorted({topic_of(file.path.removeprefix(top + "/").partition("/")[0]) for file in storage.list_files(top)})


def verified(storage: Storage, topic: str, open_spark: "Callable[[], SparkSession]") -> Verdict:
    """Raises SparkSourceError for what cannot be read at all; what is wrong is in the verdict."""
    directory = ExportDirectory(storage, topic)
    table = directory.table()
    if table.last is not None and table.last.layout.format == "delta":
        raise ExportError(
            f"{topic} is a Delta table, which moves rows between files by itself: verify reads parquet, json and orc"
        )
    faults = list(table.faults)
    present = {file.path: file.size_bytes for file in storage.list_files(directory.table_path)}
    faults += stray_faults(table, present)
    if table.last is not None and table.files and present:
        layout, root = table.last.layout, storage.url(directory.table_path)
        spark = open_spark()
        try:
            found = inspected(spark, layout, root, directory.table_path)
        except Exception as error:
            # Spark names the file; what is in the others stays open until that one can be read.
            faults.append(f"the files cannot be read: {one_line(error)}")
        else:
            faults += file_faults(table.files, {file.path: file for file in found.files})
            faults += coverage_faults(table, found.seen, has_twice=found.twice)
    elif table.files:
        faults.append(f"the table has {len(table.files):,} files by its manifests, and there is none")
    return Verdict(
        topic=topic,
        runs=table.number,
        files=len(table.files),
        rows=table.rows,
        size_bytes=table.size_bytes,
        partitions=len(table.positions),
        gap_offsets=total_length(gap.span for gap in table.gaps),
        faults=tuple(faults[:FAULTS_SHOWN_MAX]),
    )


def stray_faults(table: Table, present: Mapping[str, int]) -> list[str]:
    """Files that are missing, that no manifest knows, or that have another size."""
    faults = [f"{path} is missing" for path in table.files if path not in present]
    faults += [f"{path} is in no manifest" for path in present if path not in table.files and _is_data(path)]
    faults += [
        f"{path} has {present[path]:,} bytes, its manifest says {file.size_bytes:,}"
        for path, file in table.files.items()
        if path in present and present[path] != file.size_bytes
    ]
    return faults


def file_faults(expected: Mapping[str, ExportedFile], found: Mapping[str, InspectedFile]) -> list[str]:
    """Files whose rows are others than their manifest says."""
    faults = []
    for path, file in expected.items():
        if path not in found:
            continue  # missing: said already
        rows, value_bytes, checksum = found[path].figures
        if rows != file.rows:
            faults.append(f"{path} has {rows:,} rows, its manifest says {file.rows:,}")
        elif value_bytes != file.value_bytes or f"{checksum:016x}" != file.checksum:
            faults.append(f"{path} has other content than its manifest says: the checksums differ")
    return faults


def _is_data(path: str) -> bool:
    """What Spark would read: names that begin with `_` or `.` are hidden from it."""
    return not any(part.startswith(("_", ".")) for part in path.split("/"))
