"""The parts of a check, each on what it is about: delivery logs, segments, names, the read-only disk."""

import sqlite3
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from acklog.wire.batch import encode_batch, encode_opaque_batch, stamp
from acklog.wire.record import Record
from cluster.model.projected_offsets import ProjectedOffsets, ProjectedPartition
from cluster.model.values import PartitionLife, PartitionState, Topic
from cluster.stores.sqlite_copy import SqliteContent, read_copy
from storage.check.catalog_check import CatalogCheck
from storage.check.delivery_check import DeliveryCheck
from storage.check.directory_check import DirectoryCheck
from storage.check.figures import LogFigures
from storage.check.findings import FindingKind, Findings, Severity
from storage.check.log_check import LogCheck
from storage.check.record_check import RecordCheck
from storage.delivery.partition_delivery import encode_snapshot
from storage.delivery.records import Acked, DeliveryRecord, Started, encode_records
from storage.disk.port import Disk
from storage.disk.read_only_disk import ReadOnlyDisk, ReadOnlyError
from storage.disk.real_disk import RealDisk
from storage.log.batch_cipher import IN_CLEAR
from storage.log.checkpoint import write_checkpoint
from storage.log.keys import LogKey
from storage.log.leader_epochs import LeaderEpochs
from storage.log.log_table import LogKind
from storage.log.recovery_points import RecoveryPoint
from tests.sim.sim_disk import SimDisk

MESSAGES = LogKey("alpha", 0, LogKind.MESSAGES)
MEMORY_BYTES_MAX = 4 * 1024 * 1024
DELIVERY = LogKey("alpha", 0, LogKind.DELIVERY)
SCHEDULE = LogKey("alpha", 0, LogKind.SCHEDULE)


def write(disk: Disk, path: str, content: bytes) -> None:
    disk.make_directory(path.rpartition("/")[0])
    file = disk.create(path)
    file.write(0, [content])
    file.close()


def stamped(batch: bytearray, offset: int, *, epoch: int = 1, time_ms: int = 1) -> bytes:
    stamp(batch, base_offset=offset, leader_epoch=epoch, append_time_ms=time_ms)
    return bytes(batch)


def message(offset: int, *, epoch: int = 1, time_ms: int = 1) -> bytes:
    return stamped(encode_batch([Record(b"%d" % offset)]), offset, epoch=epoch, time_ms=time_ms)


def segment_path(key: LogKey, base: int) -> str:
    return f"{key.directory}/{base:020d}.log"


UNTOLD = (FindingKind.EPOCHS_MISSING, FindingKind.IDENTITY_MISSING)
"""These directories are of segments alone."""


def check_log(
    disk: SimDisk, point: RecoveryPoint, *, is_clean: bool = False, decodes: bool = False
) -> tuple[LogFigures, list[FindingKind]]:
    findings = Findings()
    records = RecordCheck(IN_CLEAR) if decodes else None
    check = LogCheck(disk, MESSAGES, point, findings=findings, is_clean=is_clean, records=records)
    figures = check.run()
    kinds = [finding.kind for finding in findings.kept]
    return figures, [kind for kind in kinds if kind not in UNTOLD]


class TestSegments:
    @pytest.mark.parametrize(
        ("second", "problem"),
        [
            (message(2), "the batch has the offset 2, not 1"),
            (message(1, time_ms=0), "the append time falls from 1 to 0"),
            (message(1, epoch=0), "the leader epoch falls from 1 to 0"),
        ],
    )
    def test_batches_have_an_order(self, second: bytes, problem: str) -> None:
        disk = SimDisk()
        write(disk, segment_path(MESSAGES, 0), message(0) + second)
        findings = Findings()
        LogCheck(disk, MESSAGES, RecoveryPoint(offset=3), findings=findings).run()
        assert any(problem in finding.detail for finding in findings.kept)
        assert findings.errors

    def test_what_lies_beyond_the_point_is_torn(self) -> None:
        disk = SimDisk()
        write(disk, segment_path(MESSAGES, 0), message(0) + b"half a batch")
        assert check_log(disk, RecoveryPoint(offset=1))[1] == [FindingKind.TAIL_TORN]
        assert check_log(disk, RecoveryPoint(offset=1), is_clean=True)[1] == [
            *[FindingKind.TAIL_UNEXPLAINED],
        ]

    def test_segments_that_overlap(self) -> None:
        disk = SimDisk()
        write(disk, segment_path(MESSAGES, 0), message(0) + message(1))
        write(disk, segment_path(MESSAGES, 1), message(1))
        figures, kinds = check_log(disk, RecoveryPoint(offset=2))
        assert FindingKind.SEGMENTS_OVERLAP in kinds
        assert figures.is_refused

    def test_bytes_behind_a_closed_segment(self) -> None:
        disk = SimDisk()
        write(disk, segment_path(MESSAGES, 0), message(0) + b"x")
        write(disk, segment_path(MESSAGES, 1), message(1))
        figures, kinds = check_log(disk, RecoveryPoint(offset=2))
        assert FindingKind.SEGMENT_SURPLUS in kinds
        assert (figures.messages, figures.end_offset) == (2, 2)

    def test_what_retention_left(self) -> None:
        disk = SimDisk()
        write(disk, segment_path(MESSAGES, 0), message(0))
        write(disk, segment_path(MESSAGES, 1), message(1))
        write(disk, f"{MESSAGES.directory}/{0:020d}.index", b"")
        write(disk, f"{MESSAGES.directory}/{7:020d}.index", b"")
        figures, kinds = check_log(disk, RecoveryPoint(offset=2, log_start=1))
        assert kinds.count(FindingKind.SEGMENT_LEFT_OVER) == 2
        assert (figures.log_start, figures.messages) == (1, 1)

    @pytest.mark.parametrize(("is_clean", "kind"), [(False, FindingKind.INDEX_TORN), (True, FindingKind.INDEX_DAMAGED)])
    def test_an_index_that_cannot_be_read(self, is_clean: bool, kind: FindingKind) -> None:
        disk = SimDisk()
        write(disk, segment_path(MESSAGES, 0), message(0))
        write(disk, segment_path(MESSAGES, 1), message(1))
        write(disk, f"{MESSAGES.directory}/{0:020d}.index", b"")
        assert kind in check_log(disk, RecoveryPoint(offset=2), is_clean=is_clean)[1]

    def test_records_are_decoded_where_wanted(self) -> None:
        disk = SimDisk()
        write(disk, segment_path(MESSAGES, 0), stamped(encode_opaque_batch(b"no msgpack", count=2), 0))
        assert check_log(disk, RecoveryPoint(offset=2))[1] == []
        assert check_log(disk, RecoveryPoint(offset=2), decodes=True)[1] == [FindingKind.RECORDS_UNREADABLE]

    def test_what_is_damaged_in_a_schedule_says_so(self) -> None:
        disk, findings = SimDisk(), Findings()
        write(disk, segment_path(SCHEDULE, 0), b"x" * len(message(0)) + message(1))
        LogCheck(disk, SCHEDULE, RecoveryPoint(offset=2), findings=findings).run()
        gone = LogKey("alpha", 1, LogKind.SCHEDULE)
        disk.make_directory(gone.partition_directory)
        disk.make_directory(gone.directory)
        LogCheck(disk, gone, RecoveryPoint(offset=2), findings=findings).run()
        wrong = [finding.kind for finding in findings.kept if finding.kind.severity is Severity.ERROR]
        assert wrong == [FindingKind.SCHEDULE_DAMAGED, FindingKind.SCHEDULE_MISSING]
        assert not any("seek" in kind.advice for kind in wrong)

    def test_epochs_that_do_not_fit(self) -> None:
        disk = SimDisk()
        write(disk, segment_path(MESSAGES, 0), message(0, epoch=4))
        write_checkpoint(disk, f"{MESSAGES.directory}/leader-epochs", LeaderEpochs([(3, 0)]).to_bytes())
        assert check_log(disk, RecoveryPoint(offset=1))[1] == [FindingKind.EPOCHS_WRONG]

    def test_a_log_that_is_refused(self) -> None:
        disk = SimDisk()
        write(disk, segment_path(MESSAGES, 0), message(0))
        assert check_log(disk, RecoveryPoint(offset=1, refused="it cannot be placed"))[1] == [FindingKind.LOG_REFUSED]


def test_memory_does_not_grow_with_the_data(tmp_path: Path) -> None:
    size = 4 * MEMORY_BYTES_MAX
    batch = encode_batch([Record(b"x" * 5000)])
    path = tmp_path / segment_path(MESSAGES, 0)
    path.parent.mkdir(parents=True)
    count = size // len(batch)
    with path.open("wb") as file:
        for offset in range(count):
            file.write(stamped(batch, offset))
    tracemalloc.start()
    try:
        check = LogCheck(ReadOnlyDisk(tmp_path), MESSAGES, RecoveryPoint(offset=count), findings=Findings())
        figures = check.run()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert figures.messages == count
    assert peak < MEMORY_BYTES_MAX


class TestDelivery:
    def check(
        self, *batches: list[DeliveryRecord], messages_end: int = 10, log_start: int = 0, snapshot: bytes | None = None
    ) -> tuple[list[str], list[FindingKind]]:
        disk, findings = SimDisk(), Findings()
        content, offset = b"", log_start
        for records in batches:
            content += stamped(encode_opaque_batch(encode_records(records), count=len(records)), offset)
            offset += len(records)
        write(disk, segment_path(DELIVERY, log_start), content)
        if snapshot is not None:
            write_checkpoint(disk, f"{DELIVERY.directory}/snapshot", snapshot)
        delivery = LogFigures(DELIVERY, log_start=log_start, stored_end=offset, end_offset=offset)
        messages = LogFigures(MESSAGES, end_offset=messages_end)
        groups = DeliveryCheck(disk, delivery, messages, journal_key=0, findings=findings).run()
        return groups, [finding.kind for finding in findings.kept]

    def test_progress_within_the_log(self) -> None:
        assert self.check([Started("g", 0)], [Acked("g", 0, [0, 10], 10)]) == (["g"], [])

    def test_progress_beyond_it(self) -> None:
        groups, kinds = self.check([Started("g", 0), Acked("g", 0, [0, 11], 11)])
        assert (groups, kinds) == (["g"], [FindingKind.PROGRESS_BEYOND_LOG])

    def test_a_snapshot_that_is_missed(self) -> None:
        assert self.check([Started("g", 0)], log_start=5)[1] == [FindingKind.SNAPSHOT_MISSING]

    def test_a_snapshot_of_the_future(self) -> None:
        content = (99).to_bytes(8, "big") + b"\x92\x01\x90"
        assert self.check([Started("g", 0)], snapshot=content)[1] == [FindingKind.SNAPSHOT_AHEAD]

    def test_a_snapshot_of_before_the_log(self) -> None:
        content = (4).to_bytes(8, "big") + encode_snapshot([], log=str(DELIVERY))
        assert self.check([Started("g", 0)], log_start=5, snapshot=content)[1] == [FindingKind.SNAPSHOT_BEHIND]
        content = (5).to_bytes(8, "big") + encode_snapshot([], log=str(DELIVERY))
        assert self.check([Started("g", 0)], log_start=5, snapshot=content)[1] == []

    def test_a_snapshot_of_another_log(self) -> None:
        content = (0).to_bytes(8, "big") + encode_snapshot([], log="beta-0-1")
        assert self.check([Started("g", 0)], snapshot=content)[1] == [FindingKind.SNAPSHOT_FOREIGN]

    def test_a_snapshot_that_cannot_be_read(self) -> None:
        content = (0).to_bytes(8, "big") + b"\x92\x07\x90"
        assert self.check([Started("g", 0)], snapshot=content)[1] == [FindingKind.SNAPSHOT_DAMAGED]

    def test_records_that_cannot_be_read(self) -> None:
        disk, findings = SimDisk(), Findings()
        write(disk, segment_path(DELIVERY, 0), stamped(encode_opaque_batch(b"\x91\x91\x63", count=1), 0))
        delivery = LogFigures(DELIVERY, stored_end=1, end_offset=1)
        assert DeliveryCheck(disk, delivery, None, journal_key=0, findings=findings).run() == []
        assert [finding.kind for finding in findings.kept] == [FindingKind.DELIVERY_UNREADABLE]


class TestFindings:
    def test_notes_do_not_crowd_out_errors(self) -> None:
        findings = Findings(limit=2)
        for _ in range(5):
            findings.add(FindingKind.TAIL_TORN, "a", "b", topic_id="t")
        for _ in range(3):
            findings.add(FindingKind.BATCH_DAMAGED, "a", "b", topic_id="t")
        assert [finding.kind.severity for finding in findings.kept] == [Severity.NOTE] * 2 + [Severity.ERROR] * 2
        assert (findings.errors, findings.left_out, findings.by_topic) == (3, 4, {"t": 3})

    def test_every_kind_says_what_it_means_and_what_to_do(self) -> None:
        assert all(kind.meaning and kind.advice for kind in FindingKind)
        assert len({kind.meaning for kind in FindingKind}) == len(FindingKind.__members__), "an equal one is an alias"


class TestReadOnlyDisk:
    @pytest.fixture
    def disk(self, tmp_path: Path) -> ReadOnlyDisk:
        (tmp_path / "a").write_bytes(b"content")
        return ReadOnlyDisk(tmp_path)

    def test_it_reads(self, disk: ReadOnlyDisk) -> None:
        file = disk.open("a")
        assert (file.size(), file.read(0, 99), disk.list_directory(""), disk.exists("b")) == (
            *(7, b"content", ["a"], False),
        )
        assert disk.free_bytes() > 0

    def test_it_changes_nothing(self, disk: ReadOnlyDisk, tmp_path: Path) -> None:
        changes: list[Callable[[], object]] = [
            lambda: disk.create("b"),
            lambda: disk.make_directory("b"),
            lambda: disk.rename("a", "b"),
            lambda: disk.remove("a"),
            lambda: disk.remove_directory("b"),
            lambda: disk.sync_directory(""),
        ]
        for change in changes:
            with pytest.raises(ReadOnlyError):
                change()
        with pytest.raises(OSError):
            disk.open("a").write(0, [b"x"])
        with pytest.raises(OSError):
            disk.open("a").truncate(0)
        assert (tmp_path / "a").read_bytes() == b"content"

    def test_a_lock_of_a_server_is_noticed(self, disk: ReadOnlyDisk, tmp_path: Path) -> None:
        disk.lock("lock")
        assert not disk.exists("lock"), "nothing is made"
        server = RealDisk(tmp_path)
        server.lock("lock")
        with pytest.raises(OSError, match="another process"):
            disk.lock("lock")
        server.close()
        disk.lock("lock")
        disk.close()

    def test_paths_stay_inside(self, disk: ReadOnlyDisk) -> None:
        with pytest.raises(ValueError, match="leaves"):
            disk.open("../x")

    def test_a_directory_that_there_is_not(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            ReadOnlyDisk(tmp_path / "none")
        assert not (tmp_path / "none").exists()


class TestSqliteCopy:
    def test_what_is_in_the_log_beside_it_is_read(self, tmp_path: Path) -> None:
        path = tmp_path / "c.sqlite"
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("CREATE TABLE store (format INTEGER, revision INTEGER)")
            columns = "key, value, create_revision, mod_revision, version, lease_id"
            connection.execute(f"CREATE TABLE items ({columns})")
            connection.execute("INSERT INTO store VALUES (1, 1)")
            connection.execute("INSERT INTO items VALUES ('k', x'01', 1, 1, 1, 0)")
            before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
            content = read_copy(str(path))
            assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before
        assert content is not None
        assert ([item.key for item in content.items], content.faults) == (["k"], [])

    def test_another_format(self, tmp_path: Path) -> None:
        path = tmp_path / "c.sqlite"
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("CREATE TABLE store (format INTEGER)")
            connection.execute("INSERT INTO store VALUES (9)")
        content = read_copy(str(path))
        assert content is not None
        assert "format [9]" in content.faults[0]

    def test_no_file_and_no_database(self, tmp_path: Path) -> None:
        assert read_copy(str(tmp_path / "none")) is None
        (tmp_path / "c.sqlite").write_bytes(b"nothing of the kind" * 100)
        content = read_copy(str(tmp_path / "c.sqlite"))
        assert content is not None
        assert content.faults


class TestProgress:
    @staticmethod
    def kinds(life: PartitionLife) -> set[FindingKind]:
        """Of a group that has done all below 3 of a partition of which there is no log."""
        topic = Topic(id="alpha", name="t", partitions=2, replication_factor=1, created_at_ms=0)
        state = PartitionState("alpha", 1, (1,), (1,), 1, 1, 1, life=life)
        offsets = ProjectedOffsets({"1": ProjectedPartition(3, 0, 1, 1)})
        findings = Findings()
        check = CatalogCheck("coordination.sqlite", findings=findings)
        check.content.topics["alpha"] = topic
        check.content.partitions["alpha", 1] = state
        check.content.offsets["g", "alpha"] = offsets
        check.check_offsets({})
        return findings.kinds

    def test_in_a_partition_that_was_freed_is_not_held_against_its_log(self) -> None:
        assert self.kinds(PartitionLife.GONE) == set()

    @pytest.mark.parametrize("life", [life for life in PartitionLife if life is not PartitionLife.GONE])
    def test_in_any_other_is(self, life: PartitionLife) -> None:
        assert self.kinds(life) == {FindingKind.PROGRESS_BEYOND_LOG}


def test_leader_epochs_that_cannot_be_read_are_a_warning() -> None:
    disk = SimDisk()
    write(disk, segment_path(MESSAGES, 0), message(0))
    write(disk, f"{MESSAGES.directory}/leader-epochs", bytes(40))
    findings = Findings()
    LogCheck(disk, MESSAGES, RecoveryPoint(offset=1), findings=findings).run()
    assert (findings.kinds - {*UNTOLD}, findings.errors) == ({FindingKind.EPOCHS_DAMAGED}, 0)


def test_a_directory_without_anything_else() -> None:
    disk = SimDisk()
    write(disk, segment_path(MESSAGES, 0), message(0))
    report = DirectoryCheck(disk, coordination=SqliteContent(), findings_max=10).run()
    kinds = {finding.kind for finding in report.findings.kept}
    assert {FindingKind.META_MISSING, FindingKind.RECOVERY_POINTS_DAMAGED, FindingKind.PARTITION_ORPHANED} <= kinds
