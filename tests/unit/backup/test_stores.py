"""Both kinds of stores keep the same promises."""

from pathlib import Path
from uuid import uuid4

import pytest

from acklog.backup.backup_error import BackupDamaged, BackupError
from acklog.backup.backup_store import BackupStore
from acklog.backup.directory_store import DirectoryStore
from acklog.backup.fsspec_store import FsspecStore
from acklog.backup.opened_store import opened_store


@pytest.fixture(params=["directory", "fsspec"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> BackupStore:
    return DirectoryStore(tmp_path / "a" / "b") if request.param == "directory" else opened_store(f"memory://{uuid4()}")


def test_what_was_put_is_there(store: BackupStore) -> None:
    assert store.sizes("runs") == {}
    assert store.put_new("runs/one.json", b"12345")
    assert store.put_new("content/x-0/y.batches", b"")
    assert store.read("runs/one.json") == b"12345"
    assert store.sizes("runs") == {"runs/one.json": 5}
    assert store.sizes("content") == {"content/x-0/y.batches": 0}


def test_what_is_there_is_never_replaced(store: BackupStore) -> None:
    assert store.put_new("runs/one.json", b"first")
    assert not store.put_new("runs/one.json", b"second")
    assert store.read("runs/one.json") == b"first"


def test_what_is_missing_is_damage(store: BackupStore) -> None:
    with pytest.raises(BackupDamaged, match=r"runs/one\.json is missing"):
        store.read("runs/one.json")


def test_what_was_removed_is_gone(store: BackupStore) -> None:
    store.put_new("runs/one.json", b"first")
    store.remove("runs/one.json")
    store.remove("runs/one.json")
    assert store.sizes("runs") == {}
    assert store.put_new("runs/one.json", b"second")


def test_what_a_killed_process_was_writing_is_not_there(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path)
    store.put_new("runs/one.json", b"first")
    (tmp_path / "runs" / "two.json.4711.part").write_bytes(b"half")
    assert store.sizes("runs") == {"runs/one.json": 5}
    assert store.unfinished("runs") == {"runs/two.json.4711.part": 4}


def test_what_cannot_be_read_is_damage(tmp_path: Path) -> None:
    (tmp_path / "runs" / "one.json").mkdir(parents=True)
    with pytest.raises(BackupDamaged, match=r"runs/one\.json cannot be read: Is a directory"):
        DirectoryStore(tmp_path).read("runs/one.json")


def test_places(tmp_path: Path) -> None:
    assert isinstance(opened_store(str(tmp_path)), DirectoryStore)
    assert isinstance(opened_store(f"file://{tmp_path}"), DirectoryStore)
    assert isinstance(opened_store("memory://backups"), FsspecStore)
    with pytest.raises(BackupError, match="cannot be opened"):
        opened_store("nothing-of-that-kind://backups")
