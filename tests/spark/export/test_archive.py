"""What retention has removed from the server, read from an export: by one option, and as a table."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acklog import Client, OutgoingMessage
from pyspark_acklog.archive.table import load
from pyspark_acklog.export.failures import RemovedOffsetsError
from pyspark_acklog.export.job import export_topics
from pyspark_acklog.export.layout import FileFormat, LayoutWish
from pyspark_acklog.export.local_storage import LocalStorage
from pyspark_acklog.export.run import RunSettings
from pyspark_acklog.export.verify import verified
from tests.support.export_topic import fill, stored
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

MIB = 1 << 20
ROWS = 2_000


@pytest.fixture(scope="module")
def forgetful(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server that looks for what retention may remove all the time."""
    directory = tmp_path_factory.mktemp("forgetful")
    environment = {"ACKLOG_NODE_RETENTION_INTERVAL_MS": "100"}
    with ServerProcess(directory / "data", directory / "server.log", environment=environment) as server:
        yield server


def _fill_segments(client: Client, topic: str) -> None:
    for _ in range(4):
        client.send_many(topic, [OutgoingMessage(b"x" * 100_000, partition=0) for _ in range(12)])


def _forget(client: Client, topic: str) -> int:
    """Let retention remove the first segments; returns where the log begins then."""
    client.topics.update(topic, retention_bytes=MIB)

    def log_start() -> int:
        [state] = client.topics.get(topic).partition_states
        return state.log_start or 0

    return wait_until(log_start, seconds=30, what="retention removes a segment")


def _places(table: "DataFrame") -> dict[int, bytes]:
    rows = table.select("offset", "value").collect()
    found = {int(row.offset): bytes(row.value) for row in rows}
    assert len(found) == len(rows)
    return found


@pytest.mark.parametrize("file_format", ["parquet", "json", "orc"])
def test_a_read_with_an_archive_has_what_the_server_has_removed(
    spark: "SparkSession", forgetful: ServerProcess, tmp_path: Path, file_format: FileFormat
) -> None:
    topic = f"old-{file_format}"
    with Client(forgetful.base_url) as client:
        client.topics.create(topic, 1, segment_bytes=MIB)
        fill(client, topic, range(ROWS))
        _fill_segments(client, topic)
        settings = RunSettings(target_file_bytes=32 * 1024, layout=LayoutWish(format=file_format))
        export_topics([topic], str(tmp_path), spark=spark, url=forgetful.base_url, settings=settings)
        exported_end = ROWS + 48
        fill(client, topic, range(10))
        expected = {offset: row["value"] for (_, offset), row in stored(client, topic).items()}
        log_start = _forget(client, topic)
    assert 0 < log_start < exported_end < len(expected)
    source = spark.read.format("acklog").option("url", forgetful.base_url).option("topic", topic)
    assert min(_places(source.load())) == log_start
    both = source.option("archive", str(tmp_path)).load()
    assert _places(both) == expected
    some = range(exported_end - 5, exported_end + 5)
    assert _places(both.where(f"offset >= {some.start} and offset < {some.stop}")).keys() == set(some)
    of_archive = {offset: expected[offset] for offset in range(exported_end)}
    assert _places(load(spark, str(tmp_path), topic)) == of_archive


def test_a_run_that_comes_too_late_says_so_and_records_what_is_lost(
    spark: "SparkSession", forgetful: ServerProcess, tmp_path: Path
) -> None:
    with Client(forgetful.base_url) as client:
        client.topics.create("late", 1, segment_bytes=MIB)
        fill(client, "late", range(100))
        export_topics(["late"], str(tmp_path), spark=spark, url=forgetful.base_url)
        fill(client, "late", range(100, 200))
        _fill_segments(client, "late")
        log_start = _forget(client, "late")
        assert log_start > 100
        source = spark.read.format("acklog").option("url", forgetful.base_url).option("topic", "late")
        with pytest.raises(Exception, match=f"ends at 100, and the log begins at {log_start}"):
            source.option("archive", str(tmp_path)).load().count()
        with pytest.raises(RemovedOffsetsError, match=r"--allow-gaps"):
            export_topics(["late"], str(tmp_path), spark=spark, url=forgetful.base_url)
        settings = RunSettings(target_file_bytes=MIB, has_gaps_allowed=True)
        [run] = export_topics(["late"], str(tmp_path), spark=spark, url=forgetful.base_url, settings=settings)["late"]
    assert [(gap.reason, gap.span.start) for gap in run.gaps] == [("retention", 100)]
    verdict = verified(LocalStorage(str(tmp_path)), "late", lambda: spark)
    assert verdict.faults == ()
    assert verdict.gap_offsets == run.gaps[0].span.length
