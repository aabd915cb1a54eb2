"""Backups in a place: every kind of damage is found, and pruning keeps what later runs need."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acklog.backup.backup_error import BackupDamaged, BackupError
from acklog.backup.backup_set import BackupSet
from acklog.backup.content_file import PartitionPlace, groups_name, new_chunk
from acklog.backup.delayed_messages import scheduled_name
from acklog.backup.directory_store import DirectoryStore
from acklog.backup.manifest import (
    ChunkEntry,
    Manifest,
    PartitionEntry,
    TopicEntry,
    decode_manifest,
    encode_manifest,
    manifest_name,
)
from acklog.backup.opened_store import opened_store
from acklog.wire.batch import encode_batch, stamp
from acklog.wire.record import Record
from tests.support.command_run import CommandRun, run_command

TOPIC_ID = "3v8k2mq5rw1zs"


def batches(start: int, end: int) -> bytes:
    made = encode_batch([Record(b"%d" % number) for number in range(start, end)])
    stamp(made, base_offset=start, leader_epoch=1, append_time_ms=1_000)
    return bytes(made)


def put_run(store: DirectoryStore, run_id: str, ranges: list[tuple[int, int]]) -> Manifest:
    place = PartitionPlace(TOPIC_ID, 0)
    chunks = []
    for start, end in ranges:
        content = batches(start, end)
        chunk = new_chunk(place, content)
        store.put_new(chunk.name, content)
        chunks.append(ChunkEntry(chunk.name, chunk.size_bytes, end - start))
    state, delayed = f"state {run_id}".encode(), f'["{run_id}"]'.encode()
    name = groups_name(place, ranges[-1][1], state)
    store.put_new(name, state)
    store.put_new(scheduled_name(place, delayed), delayed)
    copy = PartitionEntry(
        0, ranges[0][0], ranges[-1][1], chunks, ranges[-1][1] - ranges[0][0], [], name, {"g1": "billing"}
    )
    topic = TopicEntry("orders", TOPIC_ID, 1, {}, [], [copy], {}, [scheduled_name(place, delayed)], 1)
    manifest = Manifest(run_id, "here", 1, 2, [topic], [])
    store.put_new(manifest_name(run_id), encode_manifest(manifest))
    return manifest


@pytest.fixture
def store(tmp_path: Path) -> DirectoryStore:
    store = DirectoryStore(tmp_path)
    BackupSet(store).begin()
    put_run(store, "1", [(0, 5), (5, 7)])
    put_run(store, "2", [(0, 5), (5, 9)])
    return store


def test_a_whole_place_has_nothing_wrong(store: DirectoryStore) -> None:
    assert BackupSet(store).verify() == ([], 7)
    assert BackupSet(store).verify("1") == ([], 4)


def files(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file() and path.name != "backup.json")


def _flip(path: Path, _: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _cut(path: Path, _: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _empty(path: Path, _: Path) -> None:
    path.write_bytes(b"")


def _lose(path: Path, _: Path) -> None:
    path.unlink()


def _swap(path: Path, other: Path) -> None:
    mine, others = path.read_bytes(), other.read_bytes()
    path.write_bytes(others)
    other.write_bytes(mine)


@pytest.mark.parametrize("damage", [_flip, _cut, _empty, _lose, _swap])
@pytest.mark.parametrize("number", range(9))
def test_damage_to_any_file_is_found_and_names_it(
    store: DirectoryStore, tmp_path: Path, damage: Callable[[Path, Path], None], number: int
) -> None:
    found = files(tmp_path)
    assert len(found) == 9
    victim = found[number]
    damage(victim, found[(number + 1) % len(found)])
    name = victim.relative_to(tmp_path).as_posix()
    findings, _ = BackupSet(store).verify()
    if damage is _lose and name.startswith("runs/"):
        assert findings == [], "a run without a manifest is none"
        return
    assert name in [each.name for each in findings]
    assert all(each.runs for each in findings)


@given(st.integers(0, 10_000), st.integers(0, 7))
@settings(deadline=None, max_examples=60)
def test_no_flipped_bit_of_a_manifest_goes_unnoticed(place: int, bit: int) -> None:
    manifest = Manifest("1", "here", 1, 2, [TopicEntry("orders", TOPIC_ID, 1, {}, [], [], {}, [], 1)], [])
    content = bytearray(encode_manifest(manifest))
    content[place % (len(content) - 1)] ^= 1 << bit
    with pytest.raises(BackupDamaged):
        decode_manifest(manifest_name("1"), bytes(content))


@given(st.integers(0, 10_000))
@settings(deadline=None, max_examples=60)
def test_no_manifest_that_ends_early_counts(length: int) -> None:
    content = encode_manifest(Manifest("1", "here", 1, 2, [], []))
    with pytest.raises(BackupDamaged):
        decode_manifest(manifest_name("1"), content[: length % (len(content) - 1)])


def test_a_manifest_under_another_runs_name() -> None:
    with pytest.raises(BackupDamaged, match="is that of the run 1"):
        decode_manifest(manifest_name("2"), encode_manifest(Manifest("1", "here", 1, 2, [], [])))


def test_a_manifest_of_a_later_version_is_no_damage() -> None:
    content = encode_manifest(Manifest("1", "here", 1, 2, [], [], format_version=2))
    with pytest.raises(BackupError, match="has the format 2") as raised:
        decode_manifest(manifest_name("1"), content)
    assert not isinstance(raised.value, BackupDamaged)


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_pruning_keeps_what_the_last_runs_need(store: DirectoryStore, keep: int) -> None:
    put_run(store, "3", [(0, 5), (5, 12)])
    backups = BackupSet(store)
    plan = backups.prune(keep, dry_run=True)
    assert backups.run_ids() == ["1", "2", "3"]
    assert backups.prune(keep) == plan
    assert backups.run_ids() == ["1", "2", "3"][-keep:]
    assert backups.verify()[0] == []
    assert backups.prune(keep).files == 0


def test_pruning_that_was_killed_leaves_what_the_next_one_takes(store: DirectoryStore) -> None:
    store.remove(manifest_name("1"))
    assert BackupSet(store).prune(5).files == 3
    assert BackupSet(store).verify()[0] == []


def test_pruning_takes_what_killed_runs_were_writing(store: DirectoryStore, tmp_path: Path) -> None:
    part = tmp_path / "content" / f"{TOPIC_ID}-0" / "x.batches.4711.part"
    for path in (part, tmp_path / "runs" / "3.json.4712.part"):
        path.write_bytes(b"half")
    before = files(tmp_path)
    assert BackupSet(store).prune(2, dry_run=True).files == 2
    assert files(tmp_path) == before
    assert BackupSet(store).prune(2).size_bytes == 8
    assert not list(tmp_path.rglob("*.part"))
    assert BackupSet(store).verify()[0] == []


STRAY = "runs/notes.json"


def _run(*arguments: str) -> CommandRun:
    return run_command(*arguments, environment={"ACKLOG_URL": "http://127.0.0.1:1"})


def test_a_manifest_that_is_damaged_does_not_hide_the_others(store: DirectoryStore, tmp_path: Path) -> None:
    _cut(tmp_path / manifest_name("1"), tmp_path)
    (tmp_path / STRAY).write_bytes(b'{"manifest":' + b"[" * 100_000 + b"}\n")
    manifests, findings = BackupSet(store).runs()
    assert [each.run_id for each in manifests] == ["2"]
    assert [each.name for each in findings] == [manifest_name("1"), STRAY]
    listed = _run("backup", "list", str(tmp_path), "--json")
    assert listed.exit_code == 1
    assert [each["runId"] for each in listed.document["runs"]] == ["2"]
    assert "The run 1 cannot be used: the manifest runs/1.json ends early." in listed.stderr
    assert "The run notes cannot be used" in listed.stderr


def test_a_restore_takes_no_earlier_run_by_itself(store: DirectoryStore, tmp_path: Path) -> None:
    (tmp_path / STRAY).write_bytes(b"mine")
    refused = _run("restore", str(tmp_path), "--yes")
    assert refused.exit_code == 1
    assert "the last run cannot be used" in refused.stderr
    assert "--run 2" in refused.stderr
    assert BackupSet(store).run("2").run_id == "2"


def test_a_run_of_a_later_version_is_told_beside_those_of_this_one(store: DirectoryStore) -> None:
    store.put_new(manifest_name("3"), encode_manifest(Manifest("3", "here", 1, 2, [], [], format_version=2)))
    manifests, [finding] = BackupSet(store).runs()
    assert [each.run_id for each in manifests] == ["1", "2"]
    assert "has the format 2" in finding.problem


def test_nothing_is_pruned_where_a_manifest_that_stays_is_damaged(store: DirectoryStore, tmp_path: Path) -> None:
    _cut(tmp_path / manifest_name("2"), tmp_path)
    before = files(tmp_path)
    with pytest.raises(BackupDamaged):
        BackupSet(store).prune(1)
    assert files(tmp_path) == before


def test_places_that_hold_no_backups(tmp_path: Path) -> None:
    with pytest.raises(BackupError, match="there are no backups here"):
        BackupSet(DirectoryStore(tmp_path)).check()
    later = opened_store("memory://of-a-later-version")
    later.put_new("backup.json", b'{"formatVersion": 2}')
    with pytest.raises(BackupError, match="have the format 2"):
        BackupSet(later).begin()


def test_runs_by_their_names(store: DirectoryStore, tmp_path: Path) -> None:
    backups = BackupSet(store)
    assert backups.run().run_id == "2"
    assert backups.run("1").run_id == "1"
    with pytest.raises(BackupError, match="there is no run 3; the last one is 2"):
        backups.run("3")
    with pytest.raises(BackupError, match="no run has ended here yet"):
        BackupSet(DirectoryStore(tmp_path / "empty")).run()
