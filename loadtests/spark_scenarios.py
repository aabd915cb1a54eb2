"""What is measured of Spark reading topics, beside a bare client and Spark reading the same rows from Parquet."""

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

import msgspec
from pyspark.sql import DataFrame, SparkSession

from acklog.wire.log_page import MEDIA_TYPE
from examples.server_process import ServerProcess
from loadtests.bench_server import connected, create_topic
from loadtests.http_connection import HttpConnection, make_request
from loadtests.load import LoadFailedError, closed_loop
from loadtests.measurement import Measurement
from loadtests.payloads import batch_bodies, posts
from loadtests.result import Result
from loadtests.spark_fetch_once import Fetched
from loadtests.spark_plan import Size, SparkPlan

MB = 1_000_000
COUNT_TARGET = 500_000
FETCH_TARGET_MB = 300
FILL_SECONDS_MAX = 120.0
FETCH_TIMEOUT_S = 120.0
BATCH_MESSAGES = 1_000


@dataclass(frozen=True, slots=True)
class SparkBench:
    """`report` is called with each result as soon as it is there."""

    spark: SparkSession
    server: ServerProcess
    directory: Path
    plan: SparkPlan
    report: Callable[[Result], None]
    kafka: str | None = None
    """A Kafka broker's address, where there is one to be measured beside us."""

    def source(self, topic: str, **options: str) -> DataFrame:
        """The topic as a table."""
        return self.spark.read.format("acklog").options(url=self.server.url, topic=topic, **options).load()

    def kafka_source(self, topic: str) -> DataFrame:
        """The same messages in Kafka."""
        options = {"kafka.bootstrap.servers": str(self.kafka), "subscribe": topic, "startingOffsets": "earliest"}
        return self.spark.read.format("kafka").options(**options).load()


async def fill(bench: SparkBench, size: Size) -> Size:
    """The size with as many messages as there are now: each connection ends with a whole batch. Raises
    LoadFailedError."""
    await create_topic(bench.server, size.topic, bench.plan.partitions)
    requests = posts(batch_bodies(size.topic, BATCH_MESSAGES, body_bytes=size.body_bytes))
    batches = size.messages // BATCH_MESSAGES
    async with connected(bench.server, 4) as connections:
        load = await closed_loop(connections, requests, seconds=FILL_SECONDS_MAX, warm_up_s=0, answers_max=batches)
    if load.errors or load.answers < batches:
        raise LoadFailedError(f"only {load.answers:,} of {batches:,} batches were stored, {load.errors} failed")
    rows, _, _ = await _bare(bench, size)
    if bench.kafka is not None:
        await asyncio.to_thread(_fill_kafka, bench, size)
    return replace(size, messages=rows)


def _fill_kafka(bench: SparkBench, size: Size) -> None:
    """With the very messages of the topic, by Spark."""
    messages = bench.source(size.topic).select("key", "value")
    messages.write.format("kafka").options(**{"kafka.bootstrap.servers": str(bench.kafka), "topic": size.topic}).save()


async def reads(bench: SparkBench, size: Size) -> None:
    """The whole topic in each way, by turns. Raises LoadFailedError."""
    measurements = {
        what: Measurement(f"{size.name}: {what}", unit)
        for what, unit in {
            BARE: "rows/s",
            BARE_BYTES: "MB/s",
            FETCH: "MB/s",
            COUNT: "rows/s",
            NARROW: "rows/s",
            TO_PARQUET: "rows/s",
            FROM_PARQUET: "rows/s",
            PARQUET_TO_PARQUET: "rows/s",
            **({KAFKA_COUNT: "rows/s", KAFKA_TO_PARQUET: "rows/s"} if bench.kafka else {}),
        }.items()
    }
    await asyncio.to_thread(_spark_round, bench, size, {})
    for _ in range(bench.plan.rounds):
        rows, size_bytes, seconds = await _bare(bench, size)
        measurements[BARE].add(rows / seconds)
        measurements[BARE_BYTES].add(size_bytes / seconds / MB)
        measurements[FETCH].add(await _fetched(bench, size) / MB)
        await asyncio.to_thread(_spark_round, bench, size, measurements)
    _report(bench, size, measurements)


BARE, BARE_BYTES = "records endpoint, bare client", "records endpoint, bare client, bytes"
FETCH = "the source's fetch alone"
COUNT, NARROW = "source → count", "source, one column → count"
TO_PARQUET, FROM_PARQUET = "source → Parquet", "Parquet → count"
PARQUET_TO_PARQUET = "Parquet → Parquet"
KAFKA_COUNT, KAFKA_TO_PARQUET = "Kafka's source → count", "Kafka's source → Parquet"


def _report(bench: SparkBench, size: Size, measured: dict[str, Measurement]) -> None:
    bare = measured[BARE].limit("bare client")
    for what in (BARE, BARE_BYTES, FROM_PARQUET, PARQUET_TO_PARQUET):
        bench.report(measured[what].result())
    fetch = measured[FETCH].result(limits=(measured[BARE_BYTES].limit("bare client"),))
    count = measured[COUNT].result(limits=(bare, measured[FROM_PARQUET].limit("Parquet → count")))
    if size.topic == bench.plan.large.topic:
        fetch = measured[FETCH].result(
            limits=fetch.limits, target_text=f"≥ {FETCH_TARGET_MB} MB/s", is_met=fetch.value >= FETCH_TARGET_MB
        )
    if size.topic == bench.plan.small.topic:
        count = measured[COUNT].result(
            limits=count.limits, target_text=f"≥ {COUNT_TARGET:,}/s", is_met=count.value >= COUNT_TARGET
        )
    bench.report(fetch)
    bench.report(count)
    bench.report(measured[NARROW].result(limits=(bare, measured[FROM_PARQUET].limit("Parquet → count"))))
    bench.report(measured[TO_PARQUET].result(limits=(bare, measured[PARQUET_TO_PARQUET].limit("Parquet → Parquet"))))
    if bench.kafka is not None:
        for theirs, ours in ((KAFKA_COUNT, COUNT), (KAFKA_TO_PARQUET, TO_PARQUET)):
            bench.report(measured[theirs].result(limits=(measured[ours].limit(f"Acklog, {ours}"),)))


async def _bare(bench: SparkBench, size: Size) -> tuple[int, int, float]:
    """Rows, bytes and seconds of as many connections as Spark has tasks; nothing is made of the answers."""
    shares = [share_of(bench.plan, task) for task in range(bench.plan.tasks)]
    began = perf_counter()
    async with connected(bench.server, len(shares)) as connections:
        read = await asyncio.gather(
            *[_read(connection, size, share, bench.plan) for connection, share in zip(connections, shares, strict=True)]
        )
    seconds = perf_counter() - began
    return sum(rows for rows, _ in read), sum(size_bytes for _, size_bytes in read), seconds


def share_of(plan: SparkPlan, task: int) -> list[int]:
    """The partitions that a task reads."""
    return list(range(task, plan.partitions, plan.tasks))


async def _read(connection: HttpConnection, size: Size, partitions: list[int], plan: SparkPlan) -> tuple[int, int]:
    rows = size_bytes = 0
    for partition in partitions:
        offset = 0
        while True:
            where = f"/topics/{size.topic}/partitions/{partition}/records?offset={offset}&maxBytes={plan.page_bytes}"
            answer = await connection.request(make_request("GET", where, accept=MEDIA_TYPE))
            if answer.status != 200:
                raise LoadFailedError(f"{where}: {answer.status} {answer.body[:300]!r}")
            following = int(answer.header("x-acklog-next-offset"))
            if following == offset:
                break
            rows += following - offset
            size_bytes += len(answer.body)
            offset = following
    return rows, size_bytes


async def _fetched(bench: SparkBench, size: Size) -> float:
    """Bytes per second of as many processes as Spark has tasks. Raises LoadFailedError."""
    found = await asyncio.gather(*[_fetch_once(bench, size, task) for task in range(bench.plan.tasks)])
    seconds = max(each.ended for each in found) - min(each.began for each in found)
    return sum(each.size_bytes for each in found) / seconds


async def _fetch_once(bench: SparkBench, size: Size, task: int) -> Fetched:
    partitions = [argument for number in share_of(bench.plan, task) for argument in ("--partition", str(number))]
    arguments = ["--url", bench.server.url, "--topic", size.topic, *partitions]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "loadtests.spark_fetch_once", *arguments, stdout=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(FETCH_TIMEOUT_S):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        raise LoadFailedError(f"the fetch of {size.topic} ended with {process.returncode}")
    return msgspec.json.decode(output, type=Fetched)


def _spark_round(bench: SparkBench, size: Size, measured: dict[str, Measurement]) -> None:
    """Without measurements: the round that warms Spark up. Raises LoadFailedError for a wrong count."""
    files, again = str(bench.directory / size.topic), str(bench.directory / f"{size.topic}-again")

    def timed(what: str, action: Callable[[], int | None]) -> None:
        began = perf_counter()
        counted = action()
        seconds = perf_counter() - began
        if counted is not None and counted != size.messages:
            raise LoadFailedError(f"{what}: {counted:,} rows instead of {size.messages:,}")
        if what in measured:
            measured[what].add(size.messages / seconds)

    timed(COUNT, lambda: bench.source(size.topic).count())
    timed(NARROW, lambda: _one_column(bench, size.topic).count())
    timed(TO_PARQUET, lambda: bench.source(size.topic).write.mode("overwrite").parquet(files))
    timed(FROM_PARQUET, lambda: _all_columns_counted(bench.spark.read.parquet(files)))
    timed(PARQUET_TO_PARQUET, lambda: bench.spark.read.parquet(files).write.mode("overwrite").parquet(again))
    if bench.kafka is not None:
        timed(KAFKA_COUNT, lambda: bench.kafka_source(size.topic).count())
        timed(KAFKA_TO_PARQUET, lambda: bench.kafka_source(size.topic).write.mode("overwrite").parquet(again))


def _one_column(bench: SparkBench, topic: str) -> DataFrame:
    reader = bench.spark.read.format("acklog").options(url=bench.server.url, topic=topic)
    return reader.schema("offset bigint").load()


def _all_columns_counted(table: DataFrame) -> int:
    """Parquet answers a mere count from its footers; the source has no such thing, so this reads what it reads."""
    return table.where("value is not null and body is not null and key is not null").count()
