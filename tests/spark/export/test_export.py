from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from acklog import Client
from pyspark_acklog.archive.table import load
from pyspark_acklog.connection import Connection
from pyspark_acklog.export.failures import LayoutError
from pyspark_acklog.export.job import export_topics
from pyspark_acklog.export.layout import FileFormat, LayoutWish
from pyspark_acklog.export.local_storage import LocalStorage
from pyspark_acklog.export.manifest import Manifest
from pyspark_acklog.export.owner import SILENT_AFTER_MS, Owner
from pyspark_acklog.export.run import Run, RunSettings
from pyspark_acklog.export.server_log import ServerLog
from pyspark_acklog.export.spark_workshop import SparkWorkshop
from pyspark_acklog.export.verify import verified
from pyspark_acklog.options import FetchOptions
from tests.support.export_topic import exported, fill, stored
from tests.support.server_process import ServerProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

TARGET_BYTES = 64 * 1024


def _export(spark: "SparkSession", server: ServerProcess, topic: str, path: Path, **wishes: Any) -> list[Manifest]:
    settings = RunSettings(target_file_bytes=TARGET_BYTES, layout=LayoutWish(**wishes))
    return export_topics([topic], str(path), spark=spark, url=server.base_url, settings=settings)[topic]


def _read(spark: "SparkSession", path: Path, file_format: str = "parquet") -> Any:
    from pyspark_acklog.export.records import STORED_DDL

    return spark.read.format(file_format).schema(STORED_DDL).option("recursiveFileLookup", "true").load(str(path))


@pytest.mark.parametrize("file_format", ["parquet", "json", "orc"])
def test_a_topic_becomes_a_table_byte_by_byte(
    spark: "SparkSession",
    server: ServerProcess,
    client: Client,
    tmp_path: Path,
    file_format: FileFormat,
) -> None:
    topic = f"as-{file_format}"
    client.topics.create(topic, 3)
    fill(client, topic, range(2_000))
    [first] = _export(spark, server, topic, tmp_path, format=file_format)
    fill(client, topic, range(2_000, 2_100))
    [second] = _export(spark, server, topic, tmp_path)
    assert (first.rows_added, second.rows_added) == (2_000, 100)
    assert exported(_read(spark, tmp_path / f"topic={topic}", file_format)) == stored(client, topic)
    verdict = verified(LocalStorage(str(tmp_path)), topic, lambda: spark)
    assert verdict.faults == ()
    assert verdict.rows == 2_100
    assert _export(spark, server, topic, tmp_path) == []


def test_tables_by_columns_of_the_body(
    spark: "SparkSession", server: ServerProcess, client: Client, tmp_path: Path
) -> None:
    client.topics.create("by-carrier", 2)
    fill(client, "by-carrier", range(1_000))
    wishes = {
        "partition_by": ("carrier", "eventDate"),
        "body_schema": "carrier string, delay int",
        "has_body_text": True,
    }
    _export(spark, server, "by-carrier", tmp_path, **wishes)
    table = spark.read.parquet(str(tmp_path))
    delays = {
        row.carrier: row.n
        for row in table.where("delay is not null")
        .groupBy("carrier")
        .agg({"*": "count"})
        .withColumnRenamed("count(1)", "n")
        .collect()
    }
    assert set(delays) == {"AA", "B6", "UA"}
    assert str(table.selectExpr("min(eventDate)").first()[0]) == "2013-01-01"
    texts = {row.body for row in table.where("key = 'text'").collect()}
    assert texts == {'a "quoted" é'}
    assert verified(LocalStorage(str(tmp_path)), "by-carrier", lambda: spark).faults == ()
    with pytest.raises(LayoutError, match="--partition-by nowhere"):
        _export(spark, server, "by-carrier", tmp_path / "other", partition_by=("nowhere",))
    with pytest.raises(LayoutError, match="--schema 'delay intt' is no list of columns with their types"):
        _export(spark, server, "by-carrier", tmp_path / "another", body_schema="delay intt")


def test_small_files_are_joined_and_still_right(
    spark: "SparkSession", server: ServerProcess, client: Client, tmp_path: Path
) -> None:
    client.topics.create("small-files", 2)
    manifests: list[Manifest] = []
    for number in range(6):
        fill(client, "small-files", range(number * 40, number * 40 + 40))
        manifests += _export(spark, server, "small-files", tmp_path)
    assert sum(len(manifest.replaced) for manifest in manifests) >= 4
    assert exported(_read(spark, tmp_path / "topic=small-files")) == stored(client, "small-files")
    assert verified(LocalStorage(str(tmp_path)), "small-files", lambda: spark).faults == ()


def _remove(file: Path, _: "SparkSession") -> None:
    file.unlink()


def _lose_a_row(file: Path, spark: "SparkSession") -> None:
    _rewrite(file, spark, lambda rows: rows.slice(1))


def _double_a_row(file: Path, spark: "SparkSession") -> None:
    import pyarrow as pa

    _rewrite(file, spark, lambda rows: pa.concat_tables([rows, rows.slice(0, 1)]))


def _change_a_body(file: Path, spark: "SparkSession") -> None:
    import pyarrow as pa

    def change(rows: Any) -> Any:
        values = rows.column("value").to_pylist()
        values[3] = b"x" * len(values[3])
        return rows.set_column(rows.schema.get_field_index("value"), "value", pa.array(values, pa.binary()))

    _rewrite(file, spark, change)


def _rewrite(file: Path, _: "SparkSession", change: Callable[[Any], Any]) -> None:
    from pyarrow import parquet

    parquet.write_table(change(parquet.ParquetFile(file).read()), file, coerce_timestamps="us")


def _break(file: Path, _: "SparkSession") -> None:
    file.write_bytes(b"x" * file.stat().st_size)


def _add_a_copy(file: Path, _: "SparkSession") -> None:
    file.with_name(f"{file.stem}-copy.parquet").write_bytes(file.read_bytes())


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (_remove, "is missing"),
        (_lose_a_row, "offsets are missing, and no manifest says why"),
        (_double_a_row, "there more than once"),
        (_change_a_body, "the checksums differ"),
        (_break, "the files cannot be read"),
        (_add_a_copy, "is in no manifest"),
    ],
)
def test_verify_finds_harm(
    spark: "SparkSession",
    server: ServerProcess,
    client: Client,
    tmp_path: Path,
    harm: Callable[[Path, "SparkSession"], None],
    told: str,
) -> None:
    if "harmed" not in [topic.name for topic in client.topics.list()]:
        client.topics.create("harmed", 2)
        fill(client, "harmed", range(300))
    _export(spark, server, "harmed", tmp_path)
    file = next((tmp_path / "topic=harmed").rglob("*.parquet"))
    harm(file, spark)
    verdict = verified(LocalStorage(str(tmp_path)), "harmed", lambda: spark)
    assert any(told in fault for fault in verdict.faults), verdict.faults


def test_an_archive_has_what_retention_has_removed(
    spark: "SparkSession", server: ServerProcess, client: Client, tmp_path: Path
) -> None:
    client.topics.create("archived", 2)
    fill(client, "archived", range(500))
    before = stored(client, "archived")
    _export(spark, server, "archived", tmp_path)
    table = load(spark, str(tmp_path), "archived")
    assert table.columns[:6] == ["topic", "partition", "offset", "key", "value", "body"]
    places = {(row.partition, row.offset): bytes(row.value) for row in table.collect()}
    assert places == {place: row["value"] for place, row in before.items()}


# --- killed ----------------------------------------------------------------------------------------------------------


class KilledError(BaseException):
    """The driver ends here."""


class MortalStorage(LocalStorage):
    """Ends the driver before one of its steps."""

    def __init__(self, root: str, dies_at: int) -> None:
        super().__init__(root)
        self.steps = 0
        self._dies_at = dies_at

    def _step(self) -> None:
        if self.steps == self._dies_at:
            raise KilledError
        self.steps += 1

    def put_if_absent(self, path: str, content: bytes) -> bool:
        self._step()
        return super().put_if_absent(path, content)

    def write(self, path: str, content: bytes) -> None:
        self._step()
        super().write(path, content)

    def move(self, source: str, target: str) -> bool:
        self._step()
        return super().move(source, target)

    def delete_tree(self, directory: str) -> None:
        self._step()
        super().delete_tree(directory)

    def make_durable(self, paths: Any) -> None:
        self._step()
        super().make_durable(paths)


def test_a_driver_that_is_killed_at_any_step_leaves_what_the_next_run_makes_whole(
    spark: "SparkSession", server: ServerProcess, client: Client, tmp_path: Path
) -> None:
    client.topics.create("steps", 2)
    fill(client, "steps", range(800))
    expected = stored(client, "steps")
    options = FetchOptions(connection=Connection(urls=(server.base_url,)))
    settings = RunSettings(target_file_bytes=TARGET_BYTES // 8)

    def run(storage: LocalStorage, number: int) -> list[Manifest]:
        # Of another machine: whether it lives is told by its silence.
        owner = Owner(f"t{number:08d}", "elsewhere", number, 1_700_000_000_000)
        workshop = SparkWorkshop(lambda: spark, storage, options)
        with Client(server.base_url) as asking:
            return Run(storage, ServerLog(asking, options), workshop, settings, owner).run("steps")

    undisturbed = LocalStorage(str(tmp_path / "undisturbed"))
    [whole] = run(undisturbed, 0)
    names = sorted(file.path for file in whole.files)
    for step in range(1_000):
        root = tmp_path / f"killed-{step}"
        storage = MortalStorage(str(root), step)
        try:
            run(storage, step + 1)
        except KilledError:
            _age(root)
            run(LocalStorage(str(root)), step + 5_000)
        else:
            assert step > 8
            return
        assert exported(_read(spark, root / "topic=steps")) == expected
        assert sorted(file.path for file in LocalStorage(str(root)).list_files("topic=steps")) == names


def _age(root: Path) -> None:
    """As if the killed driver had been silent for long."""
    import os

    for path in root.rglob("_owner.json"):
        silent_ns = path.stat().st_mtime_ns - 2 * SILENT_AFTER_MS * 1_000_000
        os.utime(path, ns=(silent_ns, silent_ns))
