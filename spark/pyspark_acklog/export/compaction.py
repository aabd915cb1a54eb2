"""Which small files a run joins: pure.

Files below half of the target are small. Of one directory and topic id they are joined smallest first, a file only
where those before it have as much together: so whenever a row is written again, its file is at least twice as large as
before, and it is written again at most log2(target / smallest) times, however often runs come.
"""

import hashlib
from collections.abc import Iterable, Sequence

import msgspec

from pyspark_acklog.export.manifest import ExportedFile
from pyspark_acklog.export.spans import joined

JOINS_PER_RUN_MAX = 200
SMALL_FILES_MAX = 10_000
FILES_JOINED_MIN = 4
_DIGEST_LENGTH = 12


class Join(msgspec.Struct, frozen=True, rename="camel"):
    """Files that become one, in the same directory."""

    target: str
    files: tuple[ExportedFile, ...]


def is_small(file: ExportedFile, *, target_bytes: int) -> bool:
    return file.size_bytes * 2 < target_bytes


def joins_of(small: Sequence[ExportedFile], *, target_bytes: int, suffix: str) -> tuple[Join, ...]:
    """What to join, at most JOINS_PER_RUN_MAX: the rest is left for later runs."""
    groups: dict[tuple[str, str], list[ExportedFile]] = {}
    for file in small:
        if is_small(file, target_bytes=target_bytes):
            groups.setdefault((file.directory, file.spans[0].topic_id), []).append(file)
    found: list[Join] = []
    for (directory, topic_id), files in sorted(groups.items()):
        files.sort(key=lambda file: (file.size_bytes, file.path))
        found += [_join(directory, topic_id, group, suffix) for group in _groups(files, target_bytes)]
    return tuple(found[:JOINS_PER_RUN_MAX])


def _groups(files: Sequence[ExportedFile], target_bytes: int) -> Iterable[list[ExportedFile]]:
    group: list[ExportedFile] = []
    size_bytes = 0
    for file in files:
        is_full = size_bytes + file.size_bytes > target_bytes
        is_too_large = len(group) > 1 and file.size_bytes > size_bytes
        if group and (is_full or is_too_large):
            if _is_worth_it(group, size_bytes, target_bytes):
                yield group
            group, size_bytes = [], 0
        group.append(file)
        size_bytes += file.size_bytes
    if _is_worth_it(group, size_bytes, target_bytes):
        yield group


def _is_worth_it(group: Sequence[ExportedFile], size_bytes: int, target_bytes: int) -> bool:
    doubles = len(group) > 1 and size_bytes >= 2 * group[-1].size_bytes
    return doubles and (len(group) >= FILES_JOINED_MIN or size_bytes * 2 >= target_bytes)


def _join(directory: str, topic_id: str, files: Sequence[ExportedFile], suffix: str) -> Join:
    spans = joined(span for file in files for span in file.spans)
    first = spans[0]
    # Two joins of the same ranges (of other dates) lie in other directories; the paths tell repeated joins apart.
    digest = hashlib.sha256("\n".join(file.path for file in files).encode()).hexdigest()[:_DIGEST_LENGTH]
    stem = f"{topic_id}-p{first.partition}-{first.start}-{first.end}"
    more = f"+{len(spans) - 1}" if len(spans) > 1 else ""
    name = f"{stem}{more}-joined-{digest}.{suffix}"
    return Join(f"{directory}/{name}" if directory else name, tuple(files))
