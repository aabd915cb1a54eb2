"""The table as its manifests say it is: pure. `verify` compares it with the files."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pyspark_acklog.export.manifest import ExportedFile, Manifest
from pyspark_acklog.export.spans import Gap, Span, joined, overlaps, total_length, without


@dataclass
class Table:
    """All of one topic's manifests, one after the other. Faults are collected, and never hide later ones."""

    topic: str
    number: int = 0
    digest: str = ""
    positions: dict[tuple[str, int], Span] = field(default_factory=dict)
    files: dict[str, ExportedFile] = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    last: Manifest | None = None

    def add(self, manifest: Manifest, digest: str) -> None:
        """Take in the next manifest; `digest` is that of its content."""
        name = f"manifest {manifest.number} of {self.topic}"
        if manifest.topic != self.topic:
            self.faults.append(f"{name} is of topic {manifest.topic}")
        if manifest.number != self.number + 1:
            self.faults.append(f"{name} follows {self.number}: one is missing")
        if manifest.previous != self.digest:
            self.faults.append(f"{name} does not follow from the one before it: one of them was changed")
        for span in manifest.spans:
            self._extend(name, span)
        if joined(self.positions.values()) != joined(manifest.positions):
            self.faults.append(f"{name} has other positions than the runs before it add up to")
        self._replace(name, manifest)
        self.gaps += manifest.gaps
        self.number, self.digest, self.last = manifest.number, digest, manifest

    def _extend(self, name: str, span: Span) -> None:
        log = (span.topic_id, span.partition)
        before = self.positions.get(log)
        if before is not None and span.start != before.end:
            what = "overlaps" if span.start < before.end else "leaves a hole behind"
            self.faults.append(f"{name}: {span} {what} what was there, {before}")
        start = span.start if before is None else before.start
        self.positions[log] = Span(span.topic_id, span.partition, start, span.end)

    def _replace(self, name: str, manifest: Manifest) -> None:
        gone = [self.files.pop(path) for path in manifest.replaced if path in self.files]
        if len(gone) != len(manifest.replaced):
            self.faults.append(f"{name} replaces files that were not there")
        for file in manifest.files:
            if file.path in self.files:
                self.faults.append(f"{name} adds {file.path}, which is there already")
            self.files[file.path] = file
        added = sum(file.rows for file in manifest.files)
        expected = manifest.rows_added + sum(file.rows for file in gone)
        if added != expected:
            self.faults.append(f"{name} has files of {added:,} rows, its ranges have {expected:,}")

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files.values())

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files.values())

    def expected(self) -> list[Span]:
        """The offsets that the files must have, each once."""
        return without(self.positions.values(), (gap.span for gap in self.gaps))


def coverage_faults(table: Table, seen: Iterable[Span], *, has_twice: Iterable[Span]) -> list[str]:
    """What is wrong with the offsets that were found in the files."""
    seen = joined(seen)
    expected = table.expected()
    faults = [
        f"{span}: {span.length:,} offsets are missing, and no manifest says why" for span in without(expected, seen)
    ]
    faults += [f"{span}: {span.length:,} rows that no manifest knows of" for span in without(seen, expected)]
    faults += [f"{span}: {span.length:,} offsets are there more than once" for span in joined(has_twice)]
    outside = without((gap.span for gap in table.gaps), table.positions.values())
    faults += [f"the gap {span} is outside of what was exported" for span in outside]
    twice = overlaps([gap.span for gap in table.gaps])
    faults += [f"the gap {span} is recorded twice" for span in twice]
    if not faults and total_length(expected) != table.rows:
        faults.append(
            f"the files have {table.rows:,} rows by their manifests, the offsets are {total_length(expected):,}"
        )
    return faults
