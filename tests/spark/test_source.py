"""The data source inside Spark: what a user writes, against a real server. What is not marked `spark` is part of every
run of the tests."""

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import acklog
from acklog import OutgoingMessage
from pyspark_acklog.failures import one_line
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.xdist_group("spark")  # before xdist looks at the tests: two JVMs would be one too many

COUNT = 1_000


@pytest.fixture(scope="module")
def flights(server: ServerProcess) -> str:
    with acklog.Client(server.base_url) as client:
        client.topics.create("flights", 3)
        client.send_many(
            "flights",
            [
                OutgoingMessage(
                    {"n": n, "carrier": f"C{n % 4}"} if n != 500 else "bad",
                    key=f"k{n}",
                    tags=["late"] if n % 10 == 0 else None,
                    headers={"n": str(n)} if n % 2 else None,
                    partition=n % 3,
                    timestamp_ms=1_700_000_000_000 + n,
                )
                for n in range(COUNT)
            ],
        )
    return "flights"


def read(spark: SparkSession, server: ServerProcess, topic: str, **options: str) -> DataFrame:
    return spark.read.format("acklog").options(url=server.base_url, topic=topic, **options).load()


def test_a_topic_is_a_table(spark: SparkSession, server: ServerProcess, flights: str) -> None:
    table = read(spark, server, flights, maxBytesPerPartition="64 KiB")
    rows = {row["key"]: row for row in table.collect()}
    assert len(rows) == COUNT
    row = rows["k11"]
    assert (row["topic"], row["partition"], row["offset"]) == ("flights", 2, 3)
    assert (bytes(row["value"]), row["body"]) == (b'{"n":11,"carrier":"C3"}', '{"n":11,"carrier":"C3"}')
    assert (row["headers"], row["tags"]) == ({"n": "11"}, None)
    assert rows["k10"]["tags"] == ["late"]
    assert rows["k500"]["body"] == "bad"
    assert row["timestamp"].timestamp() * 1000 == pytest.approx(1_700_000_000_011)


@pytest.mark.spark
def test_filters_are_pushed_down(spark: SparkSession, server: ServerProcess, flights: str) -> None:
    table = read(spark, server, flights)
    chosen = table.where("partition = 1 AND offset >= 10 AND offset < 20")
    assert sorted(row["offset"] for row in chosen.collect()) == list(range(10, 20))
    # Spark has nothing left to compare: all of it was taken over.
    plan = chosen._jdf.queryExecution().executedPlan().toString()
    assert "Filter (" not in plan, plan
    late = table.where("timestamp >= timestamp '2023-11-14 22:13:20.990 UTC'")
    assert late.count() == 10
    assert read(spark, server, flights, tags="late").count() == 100
    matching = read(spark, server, flights, filter='tag = "late" and not exists(header.n) and key like "k9%"')
    assert sorted(row["key"] for row in matching.collect()) == ["k90", *(f"k9{n}0" for n in range(10))]
    assert table.where("key = 'k7' and topic = 'flights' and appendTime > timestamp '2020-01-01'").count() == 1
    assert table.where("appendTime < timestamp '2020-01-01'").count() == 0


@pytest.mark.spark
def test_bodies_become_columns(spark: SparkSession, server: ServerProcess, flights: str) -> None:
    options = {"schema": "n bigint, carrier string"}
    side = read(spark, server, flights, badBodies="column", **options)
    assert [row["badBody"] for row in side.where("badBody is not null").collect()] == ['"bad"']
    assert {row["carrier"]: row["count"] for row in side.groupBy("carrier").count().collect()} == {
        "C0": 249,
        "C1": 250,
        "C2": 250,
        "C3": 250,
        None: 1,
    }
    assert read(spark, server, flights, badBodies="null", **options).where("n is null").count() == 1
    with pytest.raises(Exception) as caught:
        read(spark, server, flights, **options).collect()
    assert one_line(caught.value).startswith("the body at offset 166 of flights-2 does not fit option 'schema'")


@pytest.mark.spark
def test_only_some_columns(spark: SparkSession, server: ServerProcess, flights: str) -> None:
    reader = spark.read.format("acklog").schema("offset bigint, key string")
    table = reader.options(url=server.base_url, topic=flights).load()
    assert table.columns == ["offset", "key"]
    assert table.count() == COUNT


@pytest.mark.spark
@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"topic": "flihgts"}, "planning the read: there is no topic 'flihgts'; similar: flights"),
        (
            {"topic": "flights", "startingOffset": "1"},
            "option 'startingoffset': there is no such option; did you mean 'startingOffsets'",
        ),
        ({"topic": "flights", "url": "http://127.0.0.1:9"}, "planning the read: no server can be reached at"),
        ({"topic": "flights", "schema": "offset bigint"}, "option 'schema'"),
        ({"topic": "flights", "filter": "tag ="}, "option 'filter': at position 5: expected a text in quotes"),
        ({"topic": "flights", "maxMessagesPerTrigger": "5"}, "option 'maxMessagesPerTrigger': is for readStream"),
    ],
)
def test_failures_are_one_line(
    spark: SparkSession, server: ServerProcess, flights: str, options: dict[str, str], line: str
) -> None:
    given = {"url": server.base_url, "timeoutSeconds": "1", **options}
    with pytest.raises(Exception) as caught:
        spark.read.format("acklog").options(**given).load().collect()
    told = one_line(caught.value)
    assert told.startswith(line), told
    assert "\n" not in told


@pytest.mark.spark
def test_there_and_back(spark: SparkSession, server: ServerProcess, client: acklog.Client, flights: str) -> None:
    client.topics.create("there-and-back", 3)
    for _ in range(2):  # the second time it is the same write again
        table = read(spark, server, flights, endingOffsets='{"0": 100, "1": 100, "2": 100}').drop("topic")
        table.write.format("acklog").mode("append").options(
            url=server.base_url, topic="there-and-back", writeId="w1"
        ).save()
    copied = read(spark, server, "there-and-back")
    columns = ["key", "value", "body", "tags", "timestamp"]
    first = read(spark, server, flights).where("offset < 100").select(*columns)
    assert copied.count() == 300
    assert copied.select(*columns).exceptAll(first).count() == 0


@pytest.mark.spark
def test_a_stream_goes_on_where_it_was(
    spark: SparkSession, server: ServerProcess, client: acklog.Client, tmp_path: Path
) -> None:
    client.topics.create("in", 2)
    client.topics.create("out", 2)
    for start in (0, 150):
        client.send_many("in", [OutgoingMessage({"n": n}, key=f"k{n}") for n in range(start, start + 150)])
        source = spark.readStream.format("acklog").options(
            url=server.base_url, topic="in", startingOffsets="earliest", maxMessagesPerTrigger="100"
        )
        query = (
            source.load()
            .select("key", "value")
            .writeStream.format("acklog")
            .options(url=server.base_url, topic="out", checkpointLocation=str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(240)
        assert query.exception() is None
    assert len(query.recentProgress) == 2  # 150 messages, 100 at a time
    assert Counter(row["key"] for row in read(spark, server, "out").collect()) == Counter(f"k{n}" for n in range(300))
