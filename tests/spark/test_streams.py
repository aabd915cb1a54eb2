"""Streams that are stopped at random points and go on from their checkpoint, and workers that are killed."""

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, udf
from pyspark.sql.types import LongType

import acklog
from acklog import OutgoingMessage
from tests.support.server_process import REPOSITORY, ServerProcess
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]
COUNT = 3_000
WAIT_S = 240
DRIVER_KILLS = 3


def fill(client: acklog.Client, topic: str) -> None:
    client.topics.create(topic, 3)
    client.send_many(topic, [OutgoingMessage(n, key=f"k{n}") for n in range(COUNT)])


def source(spark: SparkSession, server: ServerProcess, topic: str, **options: str) -> DataFrame:
    given = {"url": server.base_url, "topic": topic, "startingOffsets": "earliest", **options}
    return spark.readStream.format("acklog").options(**given).load()


def bodies(client: acklog.Client, topic: str) -> Counter[int]:
    found: Counter[int] = Counter()
    for partition in range(client.topics.get(topic).partitions):
        offset, end = 0, 1
        while offset < end:
            page = client.records(topic, partition, offset=offset)
            found.update(message.body for message in page.messages)
            offset, end = page.next_offset, page.high_watermark
    return found


def ends(query: Any) -> bool:
    """Run a query to its end, whatever end that is."""
    try:
        return bool(query.awaitTermination(WAIT_S))
    except Exception:  # a query that fails as it should
        return True


@pytest.mark.parametrize("seed", range(3))
def test_a_topic_to_a_topic_with_stops_at_random(
    spark: SparkSession, server: ServerProcess, client: acklog.Client, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    fill(client, f"from-{seed}")
    client.topics.create(f"to-{seed}", 2, dedup_window_ms=0)  # the log alone tells what was stored

    def start() -> Any:
        return (
            source(spark, server, f"from-{seed}", maxMessagesPerTrigger="500")
            .select(col("key"), col("value"))
            .writeStream.format("acklog")
            .options(url=server.base_url, topic=f"to-{seed}", batchMessages="20")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )

    for _ in range(4):
        query = start()
        goal = sum(bodies(client, f"to-{seed}").values()) + chance.randrange(1, 700)
        wait_until(
            lambda goal=goal, query=query: sum(bodies(client, f"to-{seed}").values()) >= goal or not query.isActive,
            seconds=WAIT_S,
            what="rows",
        )
        query.stop()
    last = start()
    assert last.awaitTermination(WAIT_S)
    assert bodies(client, f"to-{seed}") == Counter(range(COUNT))


def test_a_driver_that_is_killed_at_random(server: ServerProcess, client: acklog.Client, tmp_path: Path) -> None:
    """SIGKILL to the driver and its JVM in the middle of epochs; the next driver goes on from the checkpoint."""
    chance = random.Random(5)
    fill(client, "killed-from")
    client.topics.create("killed-driver-to", 2, dedup_window_ms=0)
    command = [sys.executable, "-m", "tests.spark.stream_driver", server.base_url, "killed-from", "killed-driver-to"]

    def start() -> "subprocess.Popen[bytes]":
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(
            [*command, str(tmp_path / "checkpoint")], cwd=REPOSITORY, start_new_session=True, **quiet
        )

    def stored() -> int:
        return sum(bodies(client, "killed-driver-to").values())

    for _ in range(DRIVER_KILLS):
        driver, goal = start(), stored() + chance.randrange(50, 700)
        wait_until(lambda goal=goal: stored() >= goal, seconds=WAIT_S, what="rows")
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
    before = stored()
    assert before < COUNT, "it was never killed in the middle"
    last = start()
    assert last.wait(WAIT_S) == 0
    assert bodies(client, "killed-driver-to") == Counter(range(COUNT))


def test_an_epoch_that_is_done_again_adds_nothing(
    spark: SparkSession, server: ServerProcess, client: acklog.Client, tmp_path: Path
) -> None:
    """The driver dies after the tasks have written, before it notes that the epoch is done."""
    fill(client, "again-from")
    client.topics.create("again-to", 2, dedup_window_ms=0)

    def run() -> None:
        query = (
            source(spark, server, "again-from", maxMessagesPerTrigger="1000")
            .select("key", "value")
            .writeStream.format("acklog")
            .options(url=server.base_url, topic="again-to", checkpointLocation=str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(WAIT_S)

    run()
    for epoch in (2, 2, 2):
        for name in (str(epoch), f".{epoch}.crc"):
            (tmp_path / "checkpoint" / "commits" / name).unlink(missing_ok=True)
        run()
    assert bodies(client, "again-to") == Counter(range(COUNT))


def test_files_of_a_stream_hold_every_message_once(
    spark: SparkSession, server: ServerProcess, client: acklog.Client, tmp_path: Path
) -> None:
    fill(client, "files-from")
    table = str(tmp_path / "table")
    for _ in range(4):
        query = (
            source(spark, server, "files-from", maxMessagesPerTrigger="400")
            .selectExpr("cast(body AS bigint) AS n")
            .writeStream.format("parquet")
            .options(path=table, checkpointLocation=str(tmp_path / "checkpoint"))
            .trigger(processingTime="0 seconds")
            .start()
        )
        wait_until(lambda query=query: len(query.recentProgress) >= 2, seconds=WAIT_S, what="two micro-batches")
        query.stop()
    query = (
        source(spark, server, "files-from")
        .selectExpr("cast(body AS bigint) AS n")
        .writeStream.format("parquet")
        .options(path=table, checkpointLocation=str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(WAIT_S)
    assert Counter(row["n"] for row in spark.read.parquet(table).collect()) == Counter(range(COUNT))


def test_workers_that_are_killed(
    spark: SparkSession, server: ServerProcess, client: acklog.Client, tmp_path: Path
) -> None:
    """Tasks whose worker dies in the middle are done again, and neither lose nor double a row."""
    client.topics.create("killed-to", 2, dedup_window_ms=0)
    flags = tmp_path / "flags"
    flags.mkdir()

    @udf(LongType())
    def deadly(n: int) -> int:
        # The first attempt of each task dies in its middle.
        try:
            if n % 1_000 == 700:
                os.close(os.open(flags / str(n), os.O_CREAT | os.O_EXCL))
                os.kill(os.getpid(), signal.SIGKILL)
        except FileExistsError:
            pass
        return n

    rows = spark.range(0, COUNT, 1, 3).select(deadly("id").alias("body"))
    rows.write.format("acklog").mode("append").options(
        url=server.base_url, topic="killed-to", batchMessages="50"
    ).save()
    assert len(list(flags.iterdir())) == 3
    assert bodies(client, "killed-to") == Counter(range(COUNT))


@pytest.fixture
def made_anew(client: acklog.Client) -> str:
    fill(client, "anew")
    return "anew"


def test_a_topic_made_anew_ends_the_stream(
    spark: SparkSession, server: ServerProcess, client: acklog.Client, tmp_path: Path, made_anew: str
) -> None:
    def run() -> Any:
        query = (
            source(spark, server, made_anew)
            .writeStream.format("noop")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        ends(query)
        return query.exception()

    assert run() is None
    client.topics.delete(made_anew)
    fill(client, made_anew)
    failure = run()
    assert failure is not None
    assert "was deleted and made anew" in str(failure)


def test_topics_and_partitions_that_come_later(
    spark: SparkSession, server: ServerProcess, client: acklog.Client, tmp_path: Path
) -> None:
    client.topics.create("later-to", 1)

    def run() -> None:
        options = {"url": server.base_url, "topicPattern": r"later\..*", "startingOffsets": "earliest"}
        query = (
            spark.readStream.format("acklog")
            .options(**options)
            .load()
            .select("value")
            .writeStream.format("acklog")
            .options(url=server.base_url, topic="later-to", checkpointLocation=str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(WAIT_S)

    client.topics.create("later.a", 1)
    client.send("later.a", 1)
    run()
    client.topics.update("later.a", partitions=2)
    client.topics.create("later.b", 1)
    client.send("later.a", 2, partition=1)
    client.send("later.b", 3)
    run()
    assert bodies(client, "later-to") == Counter([1, 2, 3])
