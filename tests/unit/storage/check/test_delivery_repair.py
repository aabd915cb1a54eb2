"""Groups' state made anew: on a directory that a log store made, damaged, repaired, and opened again."""

from collections.abc import Iterator

import pytest

from acklog.wire.batch import encode_opaque_batch
from cluster.model.projected_offsets import ProjectedOffsets, ProjectedPartition
from cluster.stores.sqlite_copy import SqliteContent
from storage.check.delivery_repair import DeliveryRepair, PartitionRepair
from storage.check.directory_check import DirectoryCheck, DirectoryReport
from storage.check.findings import FindingKind
from storage.delivery.partition_delivery import encode_snapshot
from storage.delivery.records import Acked, DeliveryRecord, Sought, Started, encode_records
from storage.delivery.salvage import Basis, DeliverySalvage
from storage.log.checkpoint import read_checkpoint, write_checkpoint
from storage.log.keys import LogKey
from storage.log.log_table import LogKind
from tests.sim.sim_disk import SimDisk, SimulatedPowerLoss
from tests.support.log_harness import SMALL_LOG, LogHarness, opaque_batch

MESSAGES = LogKey("alpha", 0, LogKind.MESSAGES)
DELIVERY = LogKey("alpha", 0, LogKind.DELIVERY)
SNAPSHOT = f"{DELIVERY.directory}/snapshot"
COUNT = 40


@pytest.fixture
def harness() -> Iterator[LogHarness]:
    harness = LogHarness()
    yield harness
    harness.dispose()


def fill(harness: LogHarness, *, trimmed_at: int = 0) -> SimDisk:
    """A group has started at 0, done all of 40 messages, one record each, and the store stopped in order."""
    records: list[DeliveryRecord] = [Started("g", 0), *(Acked("g", 0, [n, 1], n + 1) for n in range(COUNT))]

    async def work() -> None:
        messages = await store.open_log(MESSAGES, SMALL_LOG)
        delivery = await store.open_log(DELIVERY, SMALL_LOG)
        for serial in range(COUNT):
            await messages.append(opaque_batch(serial, records=1, size=90), leader_epoch=1)
        for record in records:
            await delivery.append(encode_opaque_batch(encode_records([record]), count=1), leader_epoch=1)
        if trimmed_at:
            payload = trimmed_at.to_bytes(8, "big") + salvage_state(records[:trimmed_at])
            write_checkpoint(harness.disk, SNAPSHOT, payload)
            assert await delivery.remove_before(trimmed_at) > 0

    store = harness.open()
    harness.run(work())
    harness.close()
    return harness.disk


def opened(harness: LogHarness) -> tuple[int, int]:
    """(offset of the snapshot, end of the delivery log that a start finds)."""
    log = harness.run(harness.open().open_log(DELIVERY, SMALL_LOG))
    payload = read_checkpoint(harness.disk, SNAPSHOT)
    end = log.log_end
    harness.close()
    assert payload is not None
    return int.from_bytes(payload[:8], "big"), end


def salvage_state(records: list[DeliveryRecord], *, log: str = "") -> bytes:
    salvage = DeliverySalvage({}, messages_start=0)
    salvage.apply(records)
    return encode_snapshot([group.snapshot(group_id) for group_id, group in salvage.finish().items()], log=log)


def check(disk: SimDisk) -> DirectoryReport:
    return DirectoryCheck(disk, coordination=SqliteContent(faults=["none was made"]), findings_max=100).run()


def repair_of(disk: SimDisk, *, projected: ProjectedPartition | None = None) -> DeliveryRepair:
    report = check(disk)
    if projected is not None:
        report.catalog.offsets["g", "alpha"] = ProjectedOffsets({"0": projected})
    return DeliveryRepair(
        disk, logs=report.logs, catalog=report.catalog, journal_key=report.journal_key, ciphers=report.ciphers
    )


def repaired(disk: SimDisk, *, projected: ProjectedPartition | None = None) -> PartitionRepair:
    repair = repair_of(disk, projected=projected)
    (plan,) = repair.plan()
    repair.carry_out(plan)
    return plan


def errors_of_delivery(disk: SimDisk) -> set[FindingKind]:
    ours = {FindingKind.COORDINATION_DAMAGED}
    return {each.kind for each in check(disk).findings.kept if each.kind.severity.value == "error"} - ours


def flip(disk: SimDisk, path: str, at: int) -> None:
    file = disk.open(path)
    byte = file.read(at, 1)[0]
    file.write(at, [bytes([byte ^ 0x10])])
    file.sync()
    file.close()


def segments(disk: SimDisk) -> list[str]:
    names = [name for name in disk.list_directory(DELIVERY.directory) if name.endswith(".log")]
    return [f"{DELIVERY.directory}/{name}" for name in names]


def rot(disk: SimDisk) -> None:
    """A batch in the middle of a segment in the middle."""
    path = segments(disk)[1]
    file = disk.open(path)
    content = file.read(0, file.size())
    file.close()
    flip(disk, path, content.index(b"AKB1", content.index(b"AKB1", 4) + 4) + 90)


@pytest.mark.parametrize("trimmed_at", [0, 30])
def test_a_sound_directory_needs_nothing(harness: LogHarness, trimmed_at: int) -> None:
    assert repair_of(fill(harness, trimmed_at=trimmed_at)).plan() == []


def test_a_log_that_was_never_trimmed_says_everything(harness: LogHarness) -> None:
    disk = fill(harness)
    write_checkpoint(disk, SNAPSHOT, b"\0" * 8 + encode_snapshot([]))
    flip(disk, SNAPSHOT, 20)
    plan = repaired(disk)
    (group,) = plan.groups
    assert (group.basis, group.done_below, group.again_max) == (Basis.EXACT, COUNT, 0)
    assert errors_of_delivery(disk) == set()
    assert plan.kept_as == f"{SNAPSHOT}.damaged-1"
    assert disk.exists(plan.kept_as)
    assert repair_of(disk).plan() == []


@pytest.mark.parametrize("is_missing", [False, True])
@pytest.mark.parametrize(
    ("projected", "basis", "done_below"),
    [
        (ProjectedPartition(35, 0, 1, 1, 0), Basis.PROJECTED, 40),
        (ProjectedPartition(10, 0, 1, 1, 0), Basis.PROJECTED, 10),
        (ProjectedPartition(10, 0, 1, 1), Basis.PROJECTED, 10),
        (None, Basis.EARLIEST, 0),
    ],
)
def test_a_log_that_was_trimmed(
    harness: LogHarness,
    is_missing: bool,
    projected: ProjectedPartition | None,
    basis: Basis,
    done_below: int,
) -> None:
    disk = fill(harness, trimmed_at=30)
    log_start = check(disk).logs[str(DELIVERY)].log_start
    if is_missing:
        disk.remove(SNAPSHOT)
        disk.sync_directory(DELIVERY.directory)
    else:
        flip(disk, SNAPSHOT, 30)
    (group,) = repaired(disk, projected=projected).groups
    assert (group.basis, group.done_below) == (basis, done_below)
    kept = COUNT - (log_start - 1)  # of the tail: the record at offset n is about the message before it
    assert group.again_max == (COUNT - done_below - kept if done_below < log_start else 0)
    assert errors_of_delivery(disk) == set()


def test_a_rotten_batch_costs_what_is_in_it(harness: LogHarness) -> None:
    disk = fill(harness)
    rot(disk)
    assert FindingKind.DELIVERY_UNREADABLE in errors_of_delivery(disk)
    plan = repaired(disk)
    (group,) = plan.groups
    assert group.basis is Basis.LOG
    assert (group.done_above, group.again_max) == (COUNT - group.done_below - 1, 1)
    assert errors_of_delivery(disk) == set()
    assert opened(harness) == (COUNT + 1, COUNT + 1)
    passed = [each for each in check(disk).findings.kept if each.kind is FindingKind.DELIVERY_DAMAGE_PASSED]
    assert len(passed) == 1
    assert repair_of(disk).plan() == []


def test_a_snapshot_that_knows_more_than_the_log_is_right(harness: LogHarness) -> None:
    disk = fill(harness)
    state = salvage_state([Started("g", 0), Sought("g", 1, 7)])
    write_checkpoint(disk, SNAPSHOT, (COUNT + 9).to_bytes(8, "big") + state)
    (group,) = repaired(disk).groups
    assert (group.basis, group.done_below) == (Basis.EXACT, 7)
    assert errors_of_delivery(disk) == set()


@pytest.mark.parametrize(
    ("log", "projected", "basis", "done_below"),
    [
        (str(DELIVERY), None, Basis.LOG, 4),
        (str(DELIVERY), ProjectedPartition(25, 0, 1, 1, 0), Basis.LOG, 25),
        (str(DELIVERY), ProjectedPartition(25, 0, 1, 1, 3), Basis.PROJECTED, 25),
        ("", None, Basis.EARLIEST, 0),
        ("", ProjectedPartition(25, 0, 1, 1, 0), Basis.PROJECTED, 25),
        ("beta-0-1", None, Basis.EARLIEST, 0),
    ],
)
def test_a_snapshot_of_before_the_log_counts_where_it_is_surely_of_this_log(
    harness: LogHarness, log: str, projected: ProjectedPartition | None, basis: Basis, done_below: int
) -> None:
    disk = fill(harness, trimmed_at=30)
    log_start = check(disk).logs[str(DELIVERY)].log_start
    assert log_start > 25
    state = salvage_state([Started("g", 0), *(Acked("g", 0, [n, 1], n + 1) for n in range(4))], log=log)
    write_checkpoint(disk, SNAPSHOT, (5).to_bytes(8, "big") + state)
    kind = FindingKind.SNAPSHOT_FOREIGN if log == "beta-0-1" else FindingKind.SNAPSHOT_BEHIND
    assert errors_of_delivery(disk) == {kind}
    plan = repaired(disk, projected=projected)
    (group,) = plan.groups
    assert (group.basis, group.done_below) == (basis, done_below)
    assert len(plan.damage) == 1
    is_of_first = projected is None or projected.generation == 0
    assert group.done_above == (COUNT - (log_start - 1) if is_of_first else 0), "what is left of the log counts"
    assert errors_of_delivery(disk) == set()
    assert opened(harness) == (COUNT + 1, COUNT + 1)


def test_a_snapshot_of_another_log_does_not_count_beside_a_whole_log(harness: LogHarness) -> None:
    disk = fill(harness)
    state = salvage_state([Started("g", 0), Sought("g", 9, 30)], log="beta-0-1")
    write_checkpoint(disk, SNAPSHOT, (2).to_bytes(8, "big") + state)
    assert errors_of_delivery(disk) == {FindingKind.SNAPSHOT_FOREIGN}
    (group,) = repaired(disk).groups
    assert (group.basis, group.done_below, group.again_max) == (Basis.EXACT, COUNT, 0)
    assert errors_of_delivery(disk) == set()


def test_a_log_that_is_gone(harness: LogHarness) -> None:
    disk = fill(harness, trimmed_at=30)
    for name in disk.list_directory(DELIVERY.directory):
        disk.remove(f"{DELIVERY.directory}/{name}")
    disk.remove_directory(DELIVERY.directory)
    disk.sync_directory(DELIVERY.directory.rpartition("/")[0])
    (group,) = repaired(disk, projected=ProjectedPartition(10, 0, 1, 1, 3)).groups
    assert (group.basis, group.done_below, group.again_max) == (Basis.PROJECTED, 10, 30)
    assert errors_of_delivery(disk) == set()
    assert opened(harness) == (COUNT + 1, COUNT + 1)
    assert repair_of(disk).plan() == []


def test_what_a_newer_version_wrote_is_not_damage(harness: LogHarness) -> None:
    disk = fill(harness)
    write_checkpoint(disk, SNAPSHOT, (3).to_bytes(8, "big") + b"\x92\x07\x90")
    (plan,) = repair_of(disk).plan()
    assert "use the version" in plan.refusal
    assert plan.snapshot == b""


def test_wherever_it_is_killed_a_second_run_does_the_rest() -> None:
    outcomes = set()
    for after in range(14):
        harness = LogHarness(seed=after)
        disk = fill(harness, trimmed_at=30)
        flip(disk, SNAPSHOT, 30)
        repair = repair_of(disk, projected=ProjectedPartition(10, 0, 1, 1, 0))
        (plan,) = repair.plan()
        disk.crash_after_operations(after)
        try:
            repair.carry_out(plan)
            outcomes.add("done")
        except SimulatedPowerLoss:
            outcomes.add("killed")
        harness.lose_power()
        again = repair_of(disk, projected=ProjectedPartition(10, 0, 1, 1, 0))
        for each in again.plan():
            assert each.snapshot == plan.snapshot
            again.carry_out(each)
        assert errors_of_delivery(disk) == set()
        kept = [name for name in disk.list_directory(DELIVERY.directory) if ".damaged-" in name]
        assert [name for name in kept if not name.endswith(".tmp")] == ["snapshot.damaged-1"]
        harness.dispose()
    assert outcomes == {"done", "killed"}
