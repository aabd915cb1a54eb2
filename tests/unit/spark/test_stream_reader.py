"""What the driver of a streaming query tells Spark. What the topics have is given; no server is asked."""

from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import StructType

from pyspark_acklog import plan, stream_reader
from pyspark_acklog.failures import DataLossError
from pyspark_acklog.options import ReadOptions, parse_read
from pyspark_acklog.ranges import OffsetRange, PinnedPartition
from pyspark_acklog.stream_reader import AcklogStreamReader

SCHEMA = StructType()
ALL = ReadAllAvailable()


class Topic:
    """One partition with messages of `message_bytes` up to `end`; more of them in `grown`."""

    def __init__(self, end: int, message_bytes: float) -> None:
        self.end = end
        self.message_bytes = message_bytes

        self.grown: list[OffsetRange] = []

    def pin(self, _client: object, _options: ReadOptions) -> list[PinnedPartition]:
        ranges = [OffsetRange("a", "id", 0, 0, self.end), *self.grown]
        return [PinnedPartition(each, self.message_bytes, each.start, each.end) for each in ranges]


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> Topic:
    given = Topic(100_000, 200.0)
    monkeypatch.setattr(plan, "pin_partitions", given.pin)
    return given


def reader(**options: str) -> AcklogStreamReader:
    return AcklogStreamReader(parse_read({"url": "http://127.0.0.1:1", "topic": "a", **options}), SCHEMA)


def place(offset: int, **more: int) -> dict[str, Any]:
    return {"a": {"id": "id", "offsets": {"0": offset}, **more}}


def test_a_micro_batch_that_is_read_again_has_the_same_tasks(topic: Topic) -> None:
    first = reader(maxBytesPerPartition="4m")
    end = first.latestOffset(place(0), ALL)
    tasks = [each.value for each in first.partitions(place(0), end)]
    assert len(tasks) == 5
    topic.message_bytes, topic.end = 900.0, 500_000
    again = reader(maxBytesPerPartition="8m")
    again.latestOffset(end, ALL)
    assert [each.value for each in again.partitions(place(0), end)] == tasks
    fresh = reader()
    assert [each.value for each in fresh.partitions(place(0), end)] == tasks, "it has seen nothing of the topic"


def test_a_checkpoint_that_does_not_say_how_it_is_cut_is_cut_by_what_is_assumed(topic: Topic) -> None:
    tasks = reader(maxBytesPerPartition="1m").partitions(place(0), place(3_000))
    assert [each.value.length for each in tasks] == [1_048, 1_048, 904]


def test_without_anything_new_spark_gets_the_place_that_it_has(topic: Topic) -> None:
    start = place(100_000, slice=7)
    assert reader().latestOffset(start, ALL) == start


@pytest.mark.parametrize(("fails", "first"), [("true", 0), ("false", 20)])
def test_a_partition_that_came_later_is_read_whole_unless_losses_are_passed_over(
    topic: Topic, fails: str, first: int
) -> None:
    topic.grown = [OffsetRange("a", "id", 1, 20, 30)]
    end = reader(failOnDataLoss=fails).latestOffset(place(100_000), ALL)
    assert end["a"]["offsets"] == {"0": 100_000, "1": first}


def test_a_query_of_what_is_there_now_waits_for_a_log_that_ends_before_it_and_fails(
    topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked once only, and would end as if there were nothing new."""
    now_s = 1_000.0

    def pass_s(duration_s: float) -> None:
        nonlocal now_s
        now_s += duration_s
        if now_s == 1_010:
            topic.end = 100_005

    monkeypatch.setattr(stream_reader, "monotonic", lambda: now_s)
    monkeypatch.setattr(stream_reader, "sleep", pass_s)
    catching_up = reader(timeoutSeconds="60")
    catching_up.prepareForTriggerAvailableNow()
    assert catching_up.latestOffset(place(100_001), ALL)["a"]["offsets"] == {"0": 100_005}
    topic.end = 5
    restored = reader(timeoutSeconds="60")
    restored.prepareForTriggerAvailableNow()
    with pytest.raises(DataLossError, match="was read already"):
        restored.latestOffset(place(100_001), ALL)


def test_a_log_that_ends_before_the_query_fails_it_after_a_while(topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 1_000.0
    monkeypatch.setattr(stream_reader, "monotonic", lambda: now_s)
    waiting = reader(timeoutSeconds="60")
    start = place(100_001)
    assert waiting.latestOffset(start, ALL) == start, "a leader that took over just now may not know it yet"
    now_s += 61
    with pytest.raises(DataLossError, match=r"a-0\[100000, 100001\) was read already"):
        waiting.latestOffset(start, ALL)
    topic.end = 100_002
    assert waiting.latestOffset(start, ALL)["a"]["offsets"] == {"0": 100_002}
    topic.end = 5
    patient = reader(timeoutSeconds="60", failOnDataLoss="false")
    for _ in range(2):
        now_s += 61
        assert patient.latestOffset(start, ALL) == start
