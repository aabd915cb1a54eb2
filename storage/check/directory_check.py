"""The check of a whole data directory that no server uses: reads everything, changes nothing."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import msgspec

from cluster.ports.runtime import SystemEntropy
from cluster.stores.sqlite_copy import SqliteContent
from storage.check.catalog_check import CatalogCheck, CatalogContent
from storage.check.delivery_check import DeliveryCheck
from storage.check.directory_ciphers import DirectoryCiphers
from storage.check.figures import JournalFigures, LogFigures, TopicFigures
from storage.check.findings import FindingKind, Findings
from storage.check.journal_check import check_journal
from storage.check.log_check import LogCheck
from storage.check.record_check import RecordCheck
from storage.check.replay_check import ReplayCheck
from storage.disk.port import Disk
from storage.log.ballast import BALLAST_PATH
from storage.log.checkpoint import TEMPORARY_SUFFIX, CheckpointDamagedError
from storage.log.data_directory import (
    LOCK_PATH,
    META_PATH,
    SOCKETS_DIRECTORY,
    DataDirectoryError,
    DirectoryMeta,
    FormatTooNewError,
    read_meta,
)
from storage.log.directory_life import LIFE_PATH
from storage.log.directory_role import ROLE_PATH, read_role
from storage.log.high_watermarks import HIGH_WATERMARKS_PATH
from storage.log.journal_names import JOURNAL_DIRECTORY
from storage.log.kept_batches import KEPT_DIRECTORY
from storage.log.keys import PARTITIONS_DIRECTORY, LogKey, parse_key, parse_partition_directory
from storage.log.log_directory import has_segments
from storage.log.log_table import LOGS, LogKind
from storage.log.moved_aside import ASIDE_DIRECTORY
from storage.log.recovery_points import (
    RECOVERY_POINTS_PATH,
    RecoveryPoint,
    RecoveryPoints,
    read_recovery_points,
)
from storage.log.scrub import SCRUB_PATH
from storage.log.segment import SEGMENT_SUFFIX
from storage.schedule.schedule_index import SCHEDULES_DIRECTORY
from storage.table.table_index import TABLES_DIRECTORY

COORDINATION_PATH = "coordination.sqlite"
COORDINATION_COPY_PATH = "coordination-copy.sqlite"
_DAMAGED_INFIX = ".damaged-"
_NO_POINT = RecoveryPoint()


@dataclass(slots=True)
class DirectoryReport:
    """What was found. `was_clean`: the last server stopped in order. `logs` go by their keys as text."""

    directory_id: str = ""
    journal_key: int = 0
    was_clean: bool = False
    topics: list[TopicFigures] = field(default_factory=list)
    journal: JournalFigures = field(default_factory=JournalFigures)
    findings: Findings = field(default_factory=Findings)
    logs: dict[str, LogFigures] = field(default_factory=dict)
    catalog: CatalogContent = field(default_factory=CatalogContent)
    ciphers: DirectoryCiphers = field(default_factory=lambda: DirectoryCiphers(None, SystemEntropy()))


class DirectoryCheck:
    """`advanced` is told the bytes of segments that were read, of `size_bytes` in all; `looking_at` what comes next."""

    def __init__(
        self,
        disk: Disk,
        *,
        coordination: SqliteContent | None,
        coordination_copy: SqliteContent | None = None,
        findings_max: int,
        decodes_records: bool = False,
        ciphers: DirectoryCiphers | None = None,
        advanced: Callable[[int], None] = lambda _count: None,
        looking_at: Callable[[str], None] = lambda _what: None,
    ) -> None:
        self._disk = disk
        self._coordination = coordination
        self._coordination_copy = coordination_copy
        self._decodes_records = decodes_records
        self._advanced = advanced
        self._looking_at = looking_at
        self.report = DirectoryReport(findings=Findings(findings_max))
        self._findings = self.report.findings
        self._catalog = CatalogCheck(COORDINATION_PATH, findings=self._findings)
        self.report.catalog = self._catalog.content
        self._ciphers = self.report.ciphers if ciphers is None else ciphers
        self.report.ciphers = self._ciphers
        self._logs = self.report.logs
        self._directories: dict[tuple[str, int], str] = {}

    def run(self) -> DirectoryReport:
        """Raises OSError where the directory itself cannot be read."""
        self._look_at_names()
        meta = self._read_meta()
        points = self._read_points()
        self.report.was_clean = points.is_clean
        self._read_catalog()
        self._find_partitions()
        self._check_logs(points)
        if meta is not None:
            self.report.directory_id, self.report.journal_key = meta.directory_id, meta.journal_key
            self._check_journal(points, meta.journal_key)
        self._check_delivery(0 if meta is None else meta.journal_key)
        if self._coordination is not None and not self._coordination.faults:
            self._catalog.check_directories(self._logs, self._directories)
            self._catalog.check_offsets(self._logs)
        self.report.topics = self._topic_figures()
        return self.report

    # --- the directory's own files -----------------------------------------------------------------------------------

    def _look_at_names(self) -> None:
        known = {LOCK_PATH, META_PATH, ROLE_PATH, LIFE_PATH, RECOVERY_POINTS_PATH, HIGH_WATERMARKS_PATH, SCRUB_PATH}
        known |= {JOURNAL_DIRECTORY, PARTITIONS_DIRECTORY, BALLAST_PATH, SCHEDULES_DIRECTORY, TABLES_DIRECTORY}
        known |= {SOCKETS_DIRECTORY}
        known |= {COORDINATION_PATH + suffix for suffix in ("", "-wal", "-shm", "-journal", ".reach")}
        known.add(COORDINATION_COPY_PATH)
        kept = {KEPT_DIRECTORY: FindingKind.BATCHES_KEPT, ASIDE_DIRECTORY: FindingKind.LOG_MOVED_ASIDE}
        for name in self._disk.list_directory(""):
            if name.endswith(TEMPORARY_SUFFIX):
                self._findings.add(FindingKind.FILE_TEMPORARY, name, "the next start replaces it")
            elif name.startswith(COORDINATION_PATH) and _DAMAGED_INFIX in name:
                self._findings.add(FindingKind.FILE_KEPT, name, "acklog rebuild put it aside")
            elif name in kept:
                for each in self._disk.list_directory(name):
                    self._findings.add(kept[name], f"{name}/{each}", f"of the log {each.partition('.')[0]}")
            elif name not in known:
                self._findings.add(FindingKind.FILE_UNKNOWN, name, "a data directory has no such file")

    def _read_meta(self) -> DirectoryMeta | None:
        try:
            meta = read_meta(self._disk)
        except FormatTooNewError as error:
            self._findings.add(FindingKind.FORMAT_UNKNOWN, META_PATH, str(error))
            return None
        except DataDirectoryError as error:
            self._findings.add(FindingKind.META_DAMAGED, META_PATH, str(error))
            return None
        except OSError as error:
            self._findings.add(FindingKind.FILE_UNREADABLE, META_PATH, str(error))
            return None
        if meta is None:
            self._findings.add(FindingKind.META_MISSING, META_PATH, "there is no such file")
        return meta

    def _read_points(self) -> RecoveryPoints:
        try:
            return read_recovery_points(self._disk)
        except (CheckpointDamagedError, msgspec.DecodeError) as error:
            self._findings.add(FindingKind.RECOVERY_POINTS_DAMAGED, RECOVERY_POINTS_PATH, str(error))
        except OSError as error:
            self._findings.add(FindingKind.FILE_UNREADABLE, RECOVERY_POINTS_PATH, str(error))
        return RecoveryPoints()

    def _is_of_cluster(self) -> bool:
        """Then topics and groups are in etcd."""
        try:
            return read_role(self._disk) is not None
        except DataDirectoryError as error:
            self._findings.add(FindingKind.META_DAMAGED, ROLE_PATH, str(error))
        except OSError as error:
            self._findings.add(FindingKind.FILE_UNREADABLE, ROLE_PATH, str(error))
        return True

    def _read_catalog(self) -> None:
        if self._is_of_cluster():
            self._ciphers.keys_are_elsewhere()
            return
        for fault in self._coordination_copy.faults if self._coordination_copy is not None else ():
            self._findings.add(FindingKind.COORDINATION_COPY_DAMAGED, COORDINATION_COPY_PATH, fault)
        if self._coordination is None:
            self._findings.add(FindingKind.COORDINATION_MISSING, COORDINATION_PATH, "there is no such file")
            return
        for fault in self._coordination.faults:
            self._findings.add(FindingKind.COORDINATION_DAMAGED, COORDINATION_PATH, fault)
        for loss in self._coordination.losses:
            self._findings.add(FindingKind.COORDINATION_BEHIND, COORDINATION_PATH, loss)
        self._catalog.read(self._coordination.items)
        self._ciphers.learn(self._catalog.content.topics.values())

    def _find_partitions(self) -> None:
        if not self._disk.exists(PARTITIONS_DIRECTORY):
            if self._disk.exists(META_PATH):  # which is made after it
                self._findings.add(FindingKind.PARTITIONS_MISSING, PARTITIONS_DIRECTORY, "there is no such directory")
            return
        for name in self._disk.list_directory(PARTITIONS_DIRECTORY):
            path = f"{PARTITIONS_DIRECTORY}/{name}"
            place = parse_partition_directory(name)
            if place is None:
                self._findings.add(FindingKind.FILE_UNKNOWN, path, "no partition has such a name")
            else:
                self._directories[place] = path

    # --- logs --------------------------------------------------------------------------------------------------------

    def _check_logs(self, points: RecoveryPoints) -> None:
        for key in self._keys(points):
            self._looking_at(self._describe(key))
            is_decoded = self._decodes_records and key.kind == LogKind.MESSAGES
            records = RecordCheck(self._ciphers.of(key)) if is_decoded else None
            check = LogCheck(
                self._disk,
                key,
                points.logs.get(str(key), _NO_POINT),
                findings=self._findings,
                is_clean=points.is_clean,
                records=records,
                advanced=self._advanced,
            )
            if self._disk.exists(key.directory):
                try:
                    check.run()
                except OSError as error:
                    self._findings.add(FindingKind.FILE_UNREADABLE, key.directory, str(error), topic_id=key.topic_id)
            else:
                detail = f"offsets below {check.figures.durable_end} were durable"
                self._findings.add(FindingKind.LOG_MISSING, key.directory, detail, topic_id=key.topic_id)
                check.figures.damage.append((0, check.figures.durable_end))
                check.figures.end_offset = check.figures.stored_end = check.figures.durable_end
            if records is not None and records.unread:
                kind, detail = self._ciphers.unread(records.unread)
                self._findings.add(kind, key.directory, detail, topic_id=key.topic_id)
            self._logs[str(key)] = check.figures

    def _keys(self, points: RecoveryPoints) -> list[LogKey]:
        """As a recovery finds them: where there are segments, and where a checkpoint says that there were some."""
        present = {
            str(key): key
            for place in self._directories
            for kind in LOGS
            if (key := LogKey(*place, kind)) and str(key) not in points.removed and self._has_segments(key)
        }
        for text, point in points.logs.items():
            if text not in present and point.names_segments:
                present[text] = parse_key(text)
        return sorted(present.values())

    def _has_segments(self, key: LogKey) -> bool:
        try:
            return has_segments(self._disk, key)
        except OSError as error:
            self._findings.add(FindingKind.FILE_UNREADABLE, key.directory, str(error), topic_id=key.topic_id)
            return False

    def _describe(self, key: LogKey) -> str:
        topic = self._catalog.content.topics.get(key.topic_id)
        kind = "" if key.kind == LogKind.MESSAGES else f" ({LOGS[key.kind].name})"
        return f"{key.topic_id if topic is None else topic.name} {key.partition}{kind}"

    def _check_journal(self, points: RecoveryPoints, journal_key: int) -> None:
        self._looking_at(JOURNAL_DIRECTORY)
        frames = check_journal(
            self._disk,
            journal_key=journal_key,
            points=points,
            was_used=bool(self._directories or points.logs),  # a start makes the journal before any partition
            findings=self._findings,
            figures=self.report.journal,
        )
        replay = ReplayCheck(self._disk, self._logs, points, findings=self._findings, figures=self.report.journal)
        for place in frames:
            replay.replay(place, journal_key)

    def _check_delivery(self, journal_key: int) -> None:
        for log in list(self._logs.values()):
            if log.key.kind != LogKind.DELIVERY:
                continue
            messages = self._logs.get(str(LogKey(log.key.topic_id, log.key.partition, LogKind.MESSAGES)))
            self._looking_at(self._describe(log.key))
            check = DeliveryCheck(
                self._disk,
                log,
                messages,
                journal_key=journal_key,
                findings=self._findings,
                cipher=self._ciphers.of(log.key),
                unread=self._ciphers.unread,
            )
            group_ids = check.run()
            if self._coordination is not None and not self._coordination.faults:
                self._catalog.check_group_ids(group_ids, log.key.directory, log.key.topic_id)

    # --- figures -----------------------------------------------------------------------------------------------------

    def _topic_figures(self) -> list[TopicFigures]:
        topics = {
            topic.id: TopicFigures(topic.id, topic.name, topic.partitions)
            for topic in self._catalog.content.topics.values()
        }
        on_disk: dict[str, int] = {}
        for topic_id, _ in self._directories:
            on_disk[topic_id] = on_disk.get(topic_id, 0) + 1
        for log in self._logs.values():
            figures = topics.setdefault(log.key.topic_id, self._unknown_topic(log.key.topic_id))
            figures.size_bytes += log.size_bytes
            if log.key.kind == LogKind.MESSAGES:
                figures.segments += log.segments
                figures.batches += log.batches
                figures.messages += log.messages
        for figures in topics.values():
            figures.partitions = figures.partitions or on_disk.get(figures.topic_id, 0)
            figures.problems = self._findings.by_topic.get(figures.topic_id, 0)
        return sorted(topics.values(), key=lambda each: (not each.name, each.is_deleted, each.name, each.topic_id))

    def _unknown_topic(self, topic_id: str) -> TopicFigures:
        tombstone = self._catalog.content.tombstones.get(topic_id)
        return TopicFigures(topic_id, "" if tombstone is None else tombstone.name, is_deleted=tombstone is not None)


def segment_bytes(disk: Disk) -> int:
    """The bytes of all segments: what a check has to read. What cannot be read counts nothing."""
    return sum(_segment_bytes(disk, path) for path in _log_directories(disk))


def _log_directories(disk: Disk) -> Iterable[str]:
    if disk.exists(PARTITIONS_DIRECTORY):
        for name in disk.list_directory(PARTITIONS_DIRECTORY):
            place = parse_partition_directory(name)
            if place is not None:
                yield from (LogKey(*place, kind).directory for kind in LOGS)


def _segment_bytes(disk: Disk, path: str) -> int:
    total = 0
    try:
        for name in disk.list_directory(path):
            if name.endswith(SEGMENT_SUFFIX):
                file = disk.open(f"{path}/{name}")
                total += file.size()
                file.close()
    except OSError:
        return total
    return total
