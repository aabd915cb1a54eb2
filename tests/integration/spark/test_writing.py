"""What tasks write, and write again, against a real server."""

from collections import Counter
from collections.abc import Iterator

import msgspec
import pyarrow as pa
import pytest
from pyspark.sql import types as t

import acklog
from pyspark_acklog.failures import OptionError, WriteError
from pyspark_acklog.ledger import LEDGER_TOPIC, open_ledger
from pyspark_acklog.options import parse_write
from pyspark_acklog.task_writer import TaskWriter, Written
from pyspark_acklog.write_identity import HEADER, TaskIdentity
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.integration
SCHEMA = t.StructType([t.StructField("key", t.StringType()), t.StructField("body", t.LongType())])
IDENTITY = TaskIdentity("query", 7, 3)


@pytest.fixture(autouse=True)
def _ledger(client: acklog.Client) -> None:
    open_ledger(client)


def batches(count: int, *, size: int = 100) -> Iterator[pa.RecordBatch]:
    for start in range(0, count, size):
        numbers = list(range(start, min(start + size, count)))
        yield pa.record_batch(
            [pa.array([f"k{n % 17}" for n in numbers]), pa.array(numbers, pa.int64())], names=["key", "body"]
        )


def writer(server: ServerProcess, topic: str, identity: TaskIdentity = IDENTITY, **given: str) -> TaskWriter:
    options = parse_write(
        {"url": server.base_url, "topic": topic, "batchMessages": "50", "timeoutSeconds": "20", **given}
    )
    return TaskWriter(options, SCHEMA, identity, since=0)


def stored(client: acklog.Client, topic: str) -> Counter[int]:
    found: Counter[int] = Counter()
    for partition in range(client.topics.get(topic).partitions):
        offset, end = 0, 1
        while offset < end:
            page = client.records(topic, partition, offset=offset)
            found.update(message.body for message in page.messages)
            offset, end = page.next_offset, page.high_watermark
    return found


def interrupted(server: ServerProcess, topic: str, rows: int) -> None:
    """An attempt that dies after some rows, with full requests sent and others not."""

    def dying() -> Iterator[pa.RecordBatch]:
        yield from batches(rows)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        writer(server, topic).write(dying())


@pytest.fixture
def short_window(client: acklog.Client, topic: str) -> str:
    """A topic that forgets idempotency keys at once: only the log can tell what was stored."""
    client.topics.create(topic, 3, dedup_window_ms=0)
    return topic


@pytest.mark.parametrize("rows_before", [0, 100, 500, 1_000])
def test_a_retry_adds_what_is_missing_also_after_the_window(
    server: ServerProcess, client: acklog.Client, short_window: str, rows_before: int
) -> None:
    interrupted(server, short_window, rows_before)
    written = writer(server, short_window).write(batches(1_000))
    assert stored(client, short_window) == Counter(range(1_000))
    assert written.messages == 1_000
    assert (written.repeated > 0) == (rows_before >= 500)
    again = writer(server, short_window).write(batches(1_000, size=33))
    assert (again.repeated, again.requests) == (written.requests, written.requests)
    assert stored(client, short_window) == Counter(range(1_000))


def test_other_tasks_and_epochs_write_their_own(
    server: ServerProcess, client: acklog.Client, short_window: str
) -> None:
    for identity in (IDENTITY, TaskIdentity("query", 7, 4), TaskIdentity("query", 8, 3), TaskIdentity("other", 7, 3)):
        assert writer(server, short_window, identity).write(batches(100)).repeated == 0
    assert stored(client, short_window) == Counter(dict.fromkeys(range(100), 4))


def test_a_topic_that_grows_between_two_tries(server: ServerProcess, client: acklog.Client, short_window: str) -> None:
    interrupted(server, short_window, 800)
    client.topics.update(short_window, partitions=7)
    writer(server, short_window).write(batches(1_000))
    assert stored(client, short_window) == Counter(range(1_000))


def test_others_write_in_between(server: ServerProcess, client: acklog.Client, short_window: str) -> None:
    interrupted(server, short_window, 600)
    client.send_many(short_window, [acklog.OutgoingMessage(-1, headers={"h": "v"}) for _ in range(50)])
    writer(server, short_window).write(batches(1_000))
    assert stored(client, short_window) == Counter(range(1_000)) + Counter({-1: 50})


def test_keys_land_where_the_server_would_put_them(server: ServerProcess, client: acklog.Client, topic: str) -> None:
    client.topics.create(topic, 5)
    client.topics.decommission(topic, [2])
    writer(server, topic).write(batches(100))
    for key in (f"k{n}" for n in range(17)):
        sent = client.send(topic, -1, key=key)
        there = [m.partition for p in range(5) for m in client.records(topic, p).messages if m.key == key]
        assert set(there) == {sent.partition}


def test_an_old_entry_is_found_behind_many(server: ServerProcess, client: acklog.Client, short_window: str) -> None:
    interrupted(server, short_window, 600)
    noise = acklog.OutgoingMessage("no entry at all")
    client.send_many(LEDGER_TOPIC, [noise for _ in range(3_000)])
    writer(server, short_window).write(batches(1_000))
    assert stored(client, short_window) == Counter(range(1_000))


def test_within_the_window_the_server_tells_other_rows(
    server: ServerProcess, client: acklog.Client, topic: str
) -> None:
    client.topics.create(topic, 1)
    options = {"writeIdentity": "window"}
    writer(server, topic, **options).write(batches(100))
    assert writer(server, topic, **options).write(batches(100)) == Written(100, 2, 0)
    other = (batch.set_column(1, "body", pa.array([-1] * batch.num_rows, pa.int64())) for batch in batches(100))
    with pytest.raises(WriteError, match="is not deterministic"):
        writer(server, topic, **options).write(other)
    assert stored(client, topic) == Counter(range(100))


def test_a_topic_made_anew_is_another(server: ServerProcess, client: acklog.Client, short_window: str) -> None:
    interrupted(server, short_window, 600)
    client.topics.delete(short_window)
    client.topics.create(short_window, 3)
    with pytest.raises(Exception, match="was deleted and made anew"):
        writer(server, short_window).write(batches(1_000))


def test_what_columns_become(server: ServerProcess, client: acklog.Client, topic: str) -> None:
    client.topics.create(topic, 2)
    schema = t.StructType(
        [
            t.StructField("topic", t.StringType()),
            t.StructField("partition", t.IntegerType()),
            t.StructField("offset", t.LongType()),
            t.StructField("key", t.StringType()),
            t.StructField("value", t.BinaryType()),
            t.StructField("body", t.StringType()),
            t.StructField("headers", t.MapType(t.StringType(), t.StringType())),
            t.StructField("tags", t.ArrayType(t.StringType())),
            t.StructField("timestamp", t.TimestampType()),
            t.StructField("appendTime", t.TimestampType()),
        ]
    )
    from pyspark.sql.pandas.types import to_arrow_schema

    rows = [
        (topic, 1, 9, "k", b'{"a": 1}', "x", [("h", "v"), (HEADER, "old/0/0/0")], ["t"], 1_500_000, 0),
        (topic, 1, 9, None, b"\xff\x00", None, None, None, None, 0),
        (topic, 1, 9, None, b' "kept" ', None, None, [], 2_000_000, 0),
    ]
    arrow = to_arrow_schema(schema, timezone="UTC")
    batch = pa.record_batch(
        [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), arrow, strict=True)],
        schema=arrow,
    )
    options = parse_write({"url": server.base_url})
    TaskWriter(options, schema, IDENTITY, since=0).write([batch])
    first, second, third = client.records(topic, 1).messages
    assert (first.key, first.body_bytes, first.tags, first.timestamp_ms) == ("k", b'{"a": 1}', ["t"], 1_500)
    assert first.headers == {"h": "v", HEADER: "query/7/3/0"}
    assert (second.body_bytes, second.content_type, second.headers) == (b"\xff\x00", "application/octet-stream", {})
    assert (third.body_bytes, third.timestamp_ms) == (b' "kept" ', 2_000)


@pytest.mark.parametrize(
    ("ddl", "line"),
    [
        ([("n", t.LongType())], "no place for column 'n'"),
        ([("key", t.StringType())], "nothing to write"),
        ([("body", t.StringType()), ("key", t.LongType())], "column 'key' must be string, not bigint"),
        ([("body", t.StringType()), ("headers", t.StringType())], "must be map<string,string>"),
    ],
)
def test_columns_that_cannot_be_written(server: ServerProcess, ddl: list[tuple[str, t.DataType]], line: str) -> None:
    schema = t.StructType([t.StructField(name, kind) for name, kind in ddl])
    with pytest.raises(OptionError, match=line):
        TaskWriter(parse_write({"url": server.base_url, "topic": "a"}), schema, IDENTITY, since=0)


def test_structures_become_json(server: ServerProcess, client: acklog.Client, topic: str) -> None:
    client.topics.create(topic, 1)
    kind = t.StructType([t.StructField("a", t.LongType()), t.StructField("m", t.MapType(t.StringType(), t.LongType()))])
    from pyspark.sql.pandas.types import to_arrow_schema

    schema = t.StructType([t.StructField("body", kind)])
    arrow = to_arrow_schema(schema, timezone="UTC")
    batch = pa.record_batch([pa.array([{"a": 1, "m": [("x", 2)]}, None], arrow.field("body").type)], schema=arrow)
    TaskWriter(parse_write({"url": server.base_url, "topic": topic}), schema, IDENTITY, since=0).write([batch])
    assert [msgspec.json.decode(each.body_bytes) for each in client.records(topic, 0).messages] == [
        {"a": 1, "m": {"x": 2}},
        None,
    ]
