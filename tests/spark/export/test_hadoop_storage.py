"""Through the JVM, on Hadoop's own local file system: HDFS and object stores differ in how a file is put once."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pyspark_acklog.export.failures import StorageError
from pyspark_acklog.export.hadoop_storage import HadoopStorage, Put

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.mark.parametrize("put", [HadoopStorage.put_by_rename, HadoopStorage.put_by_create])
def test_files_are_put_once_listed_moved_and_removed(spark: "SparkSession", tmp_path: Path, put: Put) -> None:
    storage = HadoopStorage(spark, f"file://{tmp_path}/lake", put=put)
    assert storage.list_files("_acklog") == []
    assert storage.read("_acklog/1.json") is None
    content = bytes(range(256)) * 100
    assert storage.put_if_absent("_acklog/1.json", content) is True
    assert storage.put_if_absent("_acklog/1.json", b"other") is False
    assert storage.read("_acklog/1.json") == content
    storage.write("_acklog/owner", b"one")
    storage.write("_acklog/owner", b"two")
    assert [(file.path, file.size_bytes) for file in storage.list_files("_acklog")] == [
        ("_acklog/1.json", len(content)),
        ("_acklog/owner", 3),
    ]
    assert storage.move("_acklog/owner", "topic=t/date=2026-11-21/owner") is True
    assert storage.move("_acklog/owner", "topic=t/date=2026-11-21/owner") is False
    assert [file.path for file in storage.list_files("topic=t")] == ["topic=t/date=2026-11-21/owner"]
    storage.write("_acklog/other", b"longer")
    with pytest.raises(StorageError, match="is there already, with other content"):
        storage.move("_acklog/other", "topic=t/date=2026-11-21/owner")
    storage.delete_tree("_acklog")
    assert storage.list_files("_acklog") == []


def test_a_system_that_lets_two_runs_win_is_refused(spark: "SparkSession", tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="nothing is known of file:"):
        HadoopStorage(spark, f"file://{tmp_path}")
    with pytest.raises(StorageError, match=r"cannot reach nosuch://x/y") as told:
        HadoopStorage(spark, "nosuch://x/y")
    assert "\n" not in told.value.line
