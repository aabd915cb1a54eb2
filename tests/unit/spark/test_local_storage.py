import threading
from pathlib import Path

import pytest

from pyspark_acklog.export.failures import StorageError
from pyspark_acklog.export.local_storage import LocalStorage
from pyspark_acklog.export.storages import local_path_of, storage_at


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(str(tmp_path / "lake"))


def test_of_many_writers_one_puts_the_file(storage: LocalStorage) -> None:
    begin = threading.Barrier(8)
    won: list[bytes] = []

    def put(content: bytes) -> None:
        begin.wait()
        if storage.put_if_absent("a/b.json", content):
            won.append(content)

    threads = [threading.Thread(target=put, args=(bytes([number]) * 10_000,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert storage.read("a/b.json") == won[0]
    assert [file.path for file in storage.list_files("a")] == ["a/b.json"]


def test_what_is_not_there(storage: LocalStorage) -> None:
    assert storage.read("nothing") is None
    assert storage.list_files("nothing") == []
    assert storage.move("nothing", "something") is False
    storage.delete_tree("nothing")


def test_a_move_replaces_nothing(storage: LocalStorage) -> None:
    storage.write("one", b"1")
    storage.write("two", b"2")
    with pytest.raises(StorageError, match="is there already"):
        storage.move("one", "two")
    assert storage.move("one", "deep/er/one") is True
    assert storage.read("one") is None
    assert storage.read("deep/er/one") == b"1"


def test_a_move_that_was_cut_off_is_finished(storage: LocalStorage) -> None:
    storage.write("staging/one", b"1")
    source, target = Path(storage.root) / "staging/one", Path(storage.root) / "one"
    target.hardlink_to(source)
    assert storage.move("staging/one", "one") is True
    assert not source.exists()
    storage.make_durable(["one"])


def test_a_path_that_cannot_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    with pytest.raises(StorageError) as told:
        LocalStorage(str(tmp_path / "file")).write("a", b"")
    assert told.value.line.startswith(f"cannot write {tmp_path}/file/a: ")
    assert "\n" not in told.value.line


@pytest.mark.parametrize(
    ("path", "local"),
    [("data", "data"), ("/a b", "/a b"), ("file:///a%20b", "/a b"), ("hdfs://name/x", None), ("s3a://bucket/x", None)],
)
def test_paths_and_addresses(path: str, local: str | None) -> None:
    assert local_path_of(path) == local


@pytest.mark.parametrize("path", ["", "file://elsewhere/data"])
def test_paths_that_mean_nothing_here(path: str) -> None:
    with pytest.raises(StorageError):
        storage_at(path)
