"""An export without Spark, disk and server: storage in memory that can fail at any step, and a workshop that writes
offsets as JSON."""

import json
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from pyspark_acklog.export.compaction import Join
from pyspark_acklog.export.failures import NoTopicError, StorageError, UnexplainedGapError
from pyspark_acklog.export.layout import TableLayout
from pyspark_acklog.export.plan import Plan
from pyspark_acklog.export.ports import Figures, Found, FoundFile, LogBounds, TopicBounds, total
from pyspark_acklog.export.spans import Gap, Span, common, joined, without
from pyspark_acklog.export.storage import StoredFile

TOPIC_ID = "0123456789abc"
ROW_BYTES = 100
BEAT_MS = 10


class KilledError(BaseException):
    """The process ends here: nothing of it runs any more, no clean-up either."""


@dataclass
class MemoryFiles:
    """What survives the process."""

    contents: dict[str, bytes] = field(default_factory=dict)
    modified_ms: dict[str, int] = field(default_factory=dict)
    clock_ms: int = 1_000_000


class MemoryStorage:
    """A process's way to the files. `before_step` is called with the number of each change before it happens, and again
    after it: it may raise."""

    root = "memory"

    def __init__(self, files: MemoryFiles, before_step: Callable[[int], None] = lambda _number: None) -> None:
        self.files = files
        self.steps = 0
        self._before_step = before_step

    def url(self, path: str) -> str:
        return path

    def list_files(self, directory: str) -> list[StoredFile]:
        prefix = f"{directory}/" if directory else ""
        return [
            StoredFile(path, len(content), self.files.modified_ms[path])
            for path, content in sorted(self.files.contents.items())
            if path.startswith(prefix)
        ]

    def read(self, path: str) -> bytes | None:
        return self.files.contents.get(path)

    def put_if_absent(self, path: str, content: bytes) -> bool:
        self._step()
        if path in self.files.contents:
            return False
        self._put(path, content)
        return True

    def write(self, path: str, content: bytes) -> None:
        self._step()
        self._put(path, content)

    def move(self, source: str, target: str) -> bool:
        self._step()
        if source not in self.files.contents:
            return False
        if target in self.files.contents:
            raise StorageError(f"{target} is there already")
        self._put(target, self.files.contents.pop(source))
        return True

    def delete_tree(self, directory: str) -> None:
        for path in [path for path in self.files.contents if path.startswith(f"{directory}/")]:
            self._step()  # file by file: it may be cut off in the middle
            self.files.contents.pop(path, None)
        self._step()

    def make_durable(self, paths: Iterable[str]) -> None:
        assert all(path in self.files.contents for path in paths)

    def _put(self, path: str, content: bytes) -> None:
        self.files.clock_ms += BEAT_MS
        self.files.contents[path] = content
        self.files.modified_ms[path] = self.files.clock_ms

    def _step(self) -> None:
        self._before_step(self.steps)
        self.steps += 1


@dataclass
class MemoryLog:
    """A topic: per partition where it begins and ends, and which offsets in between hold no message. `closed` ones take
    no new messages, and `gone` ones are there no more."""

    partitions: dict[int, tuple[int, int]]
    empty: set[tuple[int, int]] = field(default_factory=set)
    topic_id: str = TOPIC_ID
    closed: tuple[int, ...] = ()
    gone: tuple[int, ...] = ()
    is_deleted: bool = False

    def bounds(self, topic: str) -> TopicBounds:
        if self.is_deleted:
            raise NoTopicError(f"there is no topic {topic!r}")
        bounds = tuple(LogBounds(number, *ends) for number, ends in self.partitions.items())
        return TopicBounds(self.topic_id, bounds, self.closed, self.gone)

    def explain(self, topic: str, missing: Sequence[Span]) -> list[Gap]:
        gone = [Span(self.topic_id, number, 0, start) for number, (start, _) in self.partitions.items()]
        empty = [Span(self.topic_id, partition, offset, offset + 1) for partition, offset in sorted(self.empty)]
        gaps = [Gap(span, "retention") for span in common(missing, gone)]
        gaps += [Gap(span, "compaction") for span in without(common(missing, empty), gone)]
        left = without(missing, (gap.span for gap in gaps))
        if left:
            raise UnexplainedGapError(f"the server has {left[0]}")
        return gaps

    def has(self, partition: int, offset: int) -> bool:
        start, end = self.partitions[partition]
        return start <= offset < end and (partition, offset) not in self.empty


@dataclass
class MemoryWorkshop:
    """Rows are [partition, offset]; the date of a row is its offset in hundreds."""

    storage: MemoryStorage
    log: MemoryLog
    loses: frozenset[int] = frozenset()
    doubles: frozenset[int] = frozenset()
    rows_per_date: int = 100

    def row_bytes(self, topic: str, span: Span, layout: TableLayout) -> float:
        return float(ROW_BYTES)

    def write(self, plan: Plan, directory: str) -> Figures:
        figures = []
        for number, piece in enumerate(plan.pieces):
            by_date: dict[str, list[tuple[int, int]]] = {}
            for span in piece.spans:
                for offset in range(span.start, span.end):
                    if not self.log.has(span.partition, offset) or offset in self.loses:
                        continue
                    date = f"date={offset // self.rows_per_date:04d}"
                    times = 2 if offset in self.doubles else 1
                    by_date.setdefault(date, []).extend([(span.partition, offset)] * times)
            for date, rows in sorted(by_date.items()):
                self.storage.write(f"{directory}/{date}/part-{number:05d}.json", rows_text(rows))
                figures.append(figures_of(rows))
        return total(figures)

    def found(self, plan: Plan, directory: str) -> Found:
        files = []
        seen: list[Span] = []
        twice: list[Span] = []
        for file in self.storage.list_files(directory):
            rows = rows_in(self.storage.read(file.path))
            date, name = file.path.removeprefix(directory + "/").split("/")
            files.append(self._found(file.path, date, int(name[5:10]), rows))
            for partition, offset in rows:
                span = Span(self.log.topic_id, partition, offset, offset + 1)
                (twice if span in seen else seen).append(span)
        return Found(tuple(files), tuple(joined(seen)), tuple(joined(twice)))

    def join(self, layout: TableLayout, join: Join, directory: str) -> FoundFile:
        rows = [row for file in join.files for row in rows_in(self.storage.read(file.path))]
        path = f"{directory}/part-00000.json"
        self.storage.write(path, rows_text(rows))
        return self._found(path, "", 0, rows)

    def publish(self, layout: TableLayout, topic: str, number: int, sources: Iterable[str]) -> None:
        raise AssertionError("tables in memory keep no log of their own")

    def _found(self, path: str, directory: str, piece: int, rows: Sequence[tuple[int, int]]) -> FoundFile:
        return FoundFile(path, directory, piece, len(rows) * ROW_BYTES, figures_of(rows))


def figures_of(rows: Sequence[tuple[int, int]]) -> Figures:
    checksum = 0
    for row in rows:
        checksum ^= zlib.crc32(repr(tuple(row)).encode())
    return Figures(len(rows), len(rows) * ROW_BYTES, checksum)


def rows_text(rows: Sequence[tuple[int, int]]) -> bytes:
    return json.dumps(sorted(rows)).encode()


def rows_in(content: bytes | None) -> list[tuple[int, int]]:
    assert content is not None
    return [(partition, offset) for partition, offset in json.loads(content)]


def visible_rows(files: MemoryFiles, topic: str) -> list[tuple[int, int]]:
    """What a reader of the table's directory sees."""
    return [
        row
        for path, content in sorted(files.contents.items())
        if path.startswith(f"topic={topic}/")
        for row in rows_in(content)
    ]
