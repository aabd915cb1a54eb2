"""Both indexes of a table's keys, by one suite; and what becomes of a file that is damaged."""

from collections.abc import Callable
from pathlib import Path

import pytest

from storage.disk.thread_executor import ThreadExecutor
from storage.log.keys import LogKey
from storage.log.log_table import LogKind
from storage.node.table.sqlite_table_index import SqliteTableIndexes
from storage.table.memory_table_index import MemoryTableIndexes
from storage.table.table_index import NOWHERE, TableIndexes, TableIndexFailedError, TableState, digest_of

KEY = LogKey("topic", 3, LogKind.MESSAGES)
A, B, C = map(digest_of, "abc")


@pytest.fixture(params=["memory", "sqlite"])
def indexes(request: pytest.FixtureRequest, tmp_path: Path) -> TableIndexes:
    if request.param == "memory":
        return MemoryTableIndexes()
    return SqliteTableIndexes(f"{tmp_path}/tables", ThreadExecutor(threads=1))


def test_the_last_place_of_each_key(indexes: TableIndexes) -> None:
    index = indexes.open(KEY)
    assert index.state == TableState(0)
    assert index.find(A) == NOWHERE
    index.apply({A: 0, B: 1}, TableState(2, 1))
    index.apply({A: 2, C: 3}, TableState(4, 2))
    assert [index.find(each) for each in (A, B, C)] == [2, 1, 3]
    index.apply({A: NOWHERE, B: 4}, TableState(6, 2, lost_end=5))
    assert [index.find(each) for each in (A, B, C)] == [NOWHERE, 4, 3]
    assert index.state == TableState(6, 2, 5)


def test_what_is_gone_is_forgotten(indexes: TableIndexes) -> None:
    index = indexes.open(KEY)
    index.apply({A: 0, B: 5, C: 9}, TableState(10, 1))
    index.forget_below(6)
    assert [index.find(each) for each in (A, B, C)] == [NOWHERE, NOWHERE, 9]
    assert index.state == TableState(10, 1)
    index.clear(7)
    assert (index.find(C), index.state) == (NOWHERE, TableState(7))


@pytest.mark.parametrize("damage", [b"no database at all, but text that is long enough to be a header" * 20, b""])
def test_a_file_that_is_damaged_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    indexes = SqliteTableIndexes(f"{tmp_path}/tables", ThreadExecutor(threads=1))
    index = indexes.open(KEY)
    index.apply({A: 3}, TableState(4, 1))
    index.close()
    again = indexes.open(KEY)
    assert (again.find(A), again.state) == (3, TableState(4, 1))
    again.close()
    (tmp_path / "tables" / "topic-3.sqlite").write_bytes(damage)
    anew = indexes.open(KEY)
    assert (anew.find(A), anew.state) == (NOWHERE, TableState(0))
    anew.close()
    indexes.remove(KEY)
    indexes.remove(KEY)
    assert list((tmp_path / "tables").iterdir()) == []


def test_a_failure_is_told_as_one(tmp_path: Path) -> None:
    indexes = SqliteTableIndexes(f"{tmp_path}/tables", ThreadExecutor(threads=1))
    index = indexes.open(KEY)
    index.close()
    calls: list[Callable[[], object]] = [
        lambda: index.find(A),
        lambda: index.apply({A: 1}, TableState(2)),
        lambda: index.clear(0),
        lambda: index.forget_below(1),
    ]
    for call in calls:
        with pytest.raises(TableIndexFailedError):
            call()
    (tmp_path / "file").write_text("")
    with pytest.raises(TableIndexFailedError):
        SqliteTableIndexes(f"{tmp_path}/file/tables", ThreadExecutor(threads=1)).open(KEY)
