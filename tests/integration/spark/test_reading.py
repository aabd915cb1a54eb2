"""Planning and fetching against a real server."""

from collections.abc import Sequence

import pyarrow as pa
import pytest

import acklog
from acklog import OutgoingMessage
from pyspark_acklog import fetch, plan
from pyspark_acklog.failures import DataLossError, OptionError, SparkSourceError, TopicChangedError
from pyspark_acklog.options import ReadOptions, parse_read
from pyspark_acklog.ranges import OffsetRange
from tests.support.lasting_ports import lasting_ports
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration
SEGMENT_BYTES_MIN = 1024 * 1024


def options(server: ServerProcess, topic: str, **given: str) -> ReadOptions:
    return parse_read({"url": server.base_url, "topic": topic, "timeoutSeconds": "20", **given})


def fill(client: acklog.Client, topic: str, count: int, *, partitions: int = 2, requests: int = 1) -> None:
    client.topics.create(topic, partitions)
    for number in range(requests):
        messages = [
            OutgoingMessage(
                {"n": n}, key=f"k{n}", tags=["even"] if n % 2 == 0 else ["odd", "x"], partition=n % partitions
            )
            for n in range(number * count // requests, (number + 1) * count // requests)
        ]
        client.send_many(topic, messages)


def pinned(options: ReadOptions) -> list[OffsetRange]:
    with options.connection.client() as client:
        return plan.pin(client, options)


def bodies(ranges: Sequence[OffsetRange], options: ReadOptions) -> list[str]:
    return [
        body for each in ranges for batch in fetch.batches(each, options.fetch) for body in batch["body"].to_pylist()
    ]


def test_everything_once_in_order(server: ServerProcess, client: acklog.Client, topic: str) -> None:
    fill(client, topic, 5_000, requests=7)
    given = options(server, topic, fetchBytes="64 KiB")
    ranges = pinned(given)
    assert [(each.partition, each.start, each.end) for each in ranges] == [(0, 0, 2_500), (1, 0, 2_500)]
    assert bodies(ranges, given) == [f'{{"n":{n}}}' for p in (0, 1) for n in range(p, 5_000, 2)]
    # What comes later is not read: the end is pinned.
    client.send(topic, "later", partition=0)
    assert bodies(ranges, given)[2_499:2_501] == ['{"n":4998}', '{"n":1}']


def test_pieces_make_the_whole(server: ServerProcess, client: acklog.Client, topic: str) -> None:
    fill(client, topic, 1_000, partitions=1)
    given = options(server, topic)
    [whole] = pinned(given)
    pieces = [whole.within(0, 1), whole.within(1, 333), whole.within(333, 999), whole.within(999, None)]
    assert bodies(pieces, given) == bodies([whole], given)
    assert bodies([whole.within(7, 7)], given) == []


def test_where_it_begins_and_ends(server: ServerProcess, client: acklog.Client, topic: str) -> None:
    fill(client, topic, 100)
    client.receive(topic, group=f"g-{topic}", max_messages=10, auto_ack=True)
    times = [client.records(topic, p).messages[0].append_time_ms for p in (0, 1)]

    def bounds(**given: str) -> list[tuple[int, int]]:
        return [(each.start, each.end) for each in pinned(options(server, topic, **given))]

    assert bounds(startingOffsets="latest") == [(50, 50), (50, 50)]
    assert bounds(startingOffsets='{"0": 7}', endingOffsets='{"1": 9}') == [(7, 50), (0, 9)]
    assert bounds(startingTimestamp=str(max(times) + 1)) == [(50, 50), (50, 50)]
    assert bounds(startingTimestamp=str(min(times)), endingTimestamp=str(max(times) + 1)) == [(0, 50), (0, 50)]
    assert sum(start for start, _ in bounds(startingGroup=f"g-{topic}")) == 10
    assert sum(end for _, end in bounds(endingGroup=f"g-{topic}")) == 10


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"startingOffsets": '{"0": 101}'}, "ends at 50, 101 is beyond it"),
        ({"endingOffsets": '{"1": 51}'}, "option 'endingOffsets'"),
        ({"startingOffsets": '{"5": 1}'}, "has the partitions 0 to 1, not 5"),
        ({"startingGroup": "nobody"}, "GROUP_NOT_FOUND"),
    ],
)
def test_positions_that_are_not_there(
    server: ServerProcess, client: acklog.Client, given: dict[str, str], line: str
) -> None:
    if "positions" not in [each.name for each in client.topics.list()]:
        fill(client, "positions", 100)
    with pytest.raises(SparkSourceError, match=line):
        pinned(options(server, "positions", **given))


def test_topics_by_pattern(server: ServerProcess, client: acklog.Client) -> None:
    for name in ("pattern.a", "pattern.b", "patternless"):
        fill(client, name, 2, partitions=1)
    given = parse_read({"url": server.base_url, "topicPattern": r"pattern\..*"})
    assert [each.topic for each in pinned(given)] == ["pattern.a", "pattern.b"]
    with pytest.raises(OptionError, match="no topic matches"):
        pinned(parse_read({"url": server.base_url, "topicPattern": "nothing.*"}))


def test_an_unknown_topic_and_its_near_name(server: ServerProcess, client: acklog.Client) -> None:
    fill(client, "flights", 2)
    with pytest.raises(SparkSourceError, match=r"similar: flights.* \(TOPIC_NOT_FOUND\)$"):
        pinned(options(server, "flihgts"))


def test_nobody_there() -> None:
    [port] = lasting_ports(1)
    with pytest.raises(SparkSourceError, match="no server can be reached at http") as caught:
        pinned(parse_read({"url": f"http://127.0.0.1:{port}", "topic": "a", "timeoutSeconds": "1"}))
    assert "\n" not in str(caught.value)


def test_another_gateway_answers(server: ServerProcess, client: acklog.Client, topic: str) -> None:
    fill(client, topic, 10)
    [port] = lasting_ports(1)
    given = parse_read({"url": f"http://127.0.0.1:{port},{server.base_url}", "topic": topic})
    assert len(bodies(pinned(given), given)) == 10


def test_tags(server: ServerProcess, client: acklog.Client, topic: str) -> None:
    fill(client, topic, 100)
    assert len(bodies(pinned(given := options(server, topic, tags="even")), given)) == 50
    assert len(bodies(pinned(given := options(server, topic, tags="x,odd")), given)) == 50
    assert bodies(pinned(given := options(server, topic, tags="nothing")), given) == []


def test_a_filter_is_pushed_down_to_the_servers(server: ServerProcess, client: acklog.Client, topic: str) -> None:
    fill(client, topic, 10_000, requests=100)
    given = options(server, topic, filter='key in ("k7", "k4711") and tag = "x"', fetchBytes="64 KiB")
    ranges = pinned(given)
    assert bodies(ranges, given) == ['{"n":7}', '{"n":4711}']
    sent = sum(page.size_bytes for each in ranges for page in fetch.pages(each, given.fetch))
    whole = options(server, topic, fetchBytes="64 KiB")
    everything = sum(page.size_bytes for each in ranges for page in fetch.pages(each, whole.fetch))
    assert sent * 20 < everything
    [first, _] = ranges
    narrow = options(server, topic, filter='key = "k200"')
    assert bodies([first.within(101, None)], narrow) == []  # its batch may begin before the range


@pytest.mark.slow
def test_what_retention_has_removed_is_told(server: ServerProcess, client: acklog.Client, topic: str) -> None:
    client.topics.create(topic, 1, segment_bytes=SEGMENT_BYTES_MIN, retention_bytes=SEGMENT_BYTES_MIN)
    client.send(topic, 0)
    given = options(server, topic, fetchBytes="64k")
    [first] = pinned(given)

    def log_start() -> int:
        client.send_many(topic, [OutgoingMessage("x" * 100_000) for _ in range(20)])
        return client.topics.partition(topic, 0).log_start or 0

    start = wait_until(log_start, seconds=60, what="retention")
    with pytest.raises(DataLossError, match=rf"offsets 0 to 0 of {topic}-0 are not there any more: retention"):
        bodies([first], given)
    [now] = pinned(given)
    whole = OffsetRange(topic, now.topic_id, 0, 0, now.end)
    lenient = options(server, topic, failOnDataLoss="false", fetchBytes="64k")
    gaps: list[fetch.Gap] = []
    found = [
        offset
        for batch in fetch.batches(whole, lenient.fetch, on_gap=gaps.append)
        for offset in batch["offset"].to_pylist()
    ]
    assert [(gap.start, gap.reason) for gap in gaps] == [(0, "retention")]
    assert gaps[0].end >= start
    assert found == [*range(gaps[0].end, now.end)]
    with pytest.raises(DataLossError):
        pinned(options(server, topic, startingOffsets='{"0": 0}'))
    assert pinned(options(server, topic, startingOffsets='{"0": 0}', failOnDataLoss="false"))[0].start >= start


def test_a_topic_made_anew_is_another(server: ServerProcess, client: acklog.Client, topic: str) -> None:
    fill(client, topic, 10)
    given = options(server, topic)
    ranges = pinned(given)
    client.topics.delete(topic)
    with pytest.raises(TopicChangedError, match="was deleted"):
        bodies(ranges, given)
    fill(client, topic, 10)
    with pytest.raises(TopicChangedError, match="was deleted and made anew"):
        bodies(ranges, given)


def test_the_rate_is_kept(server: ServerProcess, client: acklog.Client, topic: str) -> None:
    client.topics.create(topic, 1)
    client.send_many(topic, [OutgoingMessage("x" * 1_000) for _ in range(300)])
    given = options(server, topic, maxBytesPerSecond="1m", fetchBytes="64k")
    [range_] = pinned(given)
    from acklog.runtime import monotonic_ms

    began_ms = monotonic_ms()
    pages = list(fetch.pages(range_, given.fetch))
    assert monotonic_ms() - began_ms >= sum(page.size_bytes for page in pages[:-1]) / 1_048.576 * 0.9


def test_a_range_beyond_the_log_is_a_loss(server: ServerProcess, client: acklog.Client, topic: str) -> None:
    fill(client, topic, 10, partitions=1)
    given = parse_read({"url": server.base_url, "topic": topic, "timeoutSeconds": "1"})
    [range_] = pinned(given)
    longer = OffsetRange(topic, range_.topic_id, 0, 0, 11)
    with pytest.raises(SparkSourceError, match="messages were lost"):
        list(fetch.batches(longer, given.fetch))


def test_a_reader_that_stops_early_leaves_nothing_behind(
    server: ServerProcess, client: acklog.Client, topic: str
) -> None:
    fill(client, topic, 5_000, partitions=1, requests=5)
    given = options(server, topic, fetchBytes="64k")
    [range_] = pinned(given)
    batches = fetch.batches(range_, given.fetch)
    first = next(batches)
    batches.close()  # type: ignore[attr-defined]
    assert isinstance(first, pa.RecordBatch)


def test_data_loss_has_a_line_of_its_own() -> None:
    error = plan.lost("flights", 3, 5, 9)
    assert isinstance(error, DataLossError)
    assert error.line.startswith("offsets 5 to 8 of flights-3 are not there any more")
