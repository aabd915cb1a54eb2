"""What the options take, and what they say about what they do not."""

from pathlib import Path

import pytest

from acklog.command.session import VARIABLES
from pyspark_acklog.failures import OptionError
from pyspark_acklog.option_table import OPTIONS
from pyspark_acklog.options import KIB, MIB, BadBodies, ReadFrom, WriteIdentity, parse_read, parse_write
from pyspark_acklog.positions import AtOffsets, AtTime, Bound, OfGroup

DOCS = Path(__file__).resolve().parents[3] / "docs" / "spark.md"


@pytest.fixture(autouse=True)
def _no_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def test_what_is_not_given_has_the_documented_default() -> None:
    options = parse_read({"topic": "flights"})
    assert options.connection.urls == ("http://127.0.0.1:8080",)
    assert (options.topics, options.starting, options.ending) == (("flights",), None, Bound.LATEST)
    assert (options.fetch.fetch_bytes, options.max_bytes_per_partition) == (4 * MIB, 64 * MIB)
    assert (options.fetch.fail_on_data_loss, options.fetch.read_from) == (True, ReadFrom.LEADER)
    written = parse_write({"topic": "flights"})
    assert (written.identity, written.batch_messages, written.batch_bytes) == (WriteIdentity.DURABLE, 2000, MIB)


def test_names_are_taken_in_any_case_and_spark_s_own_options_pass() -> None:
    options = parse_read({"TOPIC": " a , b,a", "maxbytesperpartition": "128k", "checkpointLocation": "/x"})
    assert (options.topics, options.max_bytes_per_partition) == (("a", "b"), 128 * KIB)


def test_a_url_may_name_several_gateways() -> None:
    urls = parse_read({"topic": "a", "url": "http://one:1/, https://two:2/path"}).connection.urls
    assert urls == ("http://one:1", "https://two:2/path")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"startingOffsets": "latest"}, Bound.LATEST),
        (
            {"startingOffsets": '{"0": 3, "1": "latest", "2": -2}'},
            AtOffsets({"": {0: 3, 1: Bound.LATEST, 2: Bound.EARLIEST}}),
        ),
        ({"startingOffsets": '{"a": {"7": 1}}'}, AtOffsets({"a": {7: 1}})),
        ({"startingTimestamp": "1700000000000"}, AtTime(1_700_000_000_000)),
        ({"startingTimestamp": "2026-11-21T08:00:00Z"}, AtTime(1_795_248_000_000)),
        ({"startingTimestamp": "2026-11-21T09:00:00+01:00"}, AtTime(1_795_248_000_000)),
        ({"startingGroup": "mail"}, OfGroup("mail")),
    ],
)
def test_where_to_begin(given: dict[str, str], expected: object) -> None:
    assert parse_read({"topic": "a", **given}).starting == expected


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({}, "give either 'topic' or 'topicPattern'"),
        ({"topic": "a", "topicPattern": "b"}, "give either 'topic' or 'topicPattern'"),
        (
            {"topic": "a", "startingOffset": "1"},
            "option 'startingOffset': there is no such option; did you mean 'startingOffsets'",
        ),
        ({"topic": "a", "zzz": "1"}, "there are url, profile,"),
        ({"kafka.bootstrap.servers": "b:9092"}, "option 'kafka.bootstrap.servers': is an option of Spark's source for"),
        ({"subscribe": "a"}, "name the topics by option 'topic'"),
        ({"topic": "a", "maxOffsetsPerTrigger": "9"}, "bound a micro-batch by option 'maxMessagesPerTrigger'"),
        ({"topic": "a", "kafka.security.protocol": "SSL"}, "is a setting of a Kafka client"),
        ({"topic": "a", "path": "/x"}, "name the topic by option 'topic'"),
        ({"topicPattern": "("}, "is no regular expression"),
        ({"topic": "a", "url": "localhost"}, "option 'url': 'localhost' is no URL"),
        ({"topic": "a", "url": "http://a", "profile": "b"}, "either a profile or a url"),
        ({"topic": "a", "token": "a b"}, "option 'token'"),
        ({"topic": "a", "tokenFile": "/nowhere/token"}, "option 'tokenFile': /nowhere/token cannot be read"),
        ({"topic": "a", "url": "https://a", "caFile": "/nowhere/ca"}, "option 'caFile': /nowhere/ca cannot be read"),
        (
            {"topic": "a", "url": "https://a,http://b", "caFile": "ca"},
            "option 'caFile': is for https, and http://b would",
        ),
        ({"topic": "a", "url": "https://a", "certificateFile": "a"}, "option 'keyFile': is needed with"),
        ({"topic": "a", "url": "https://a", "keyFile": "a"}, "option 'certificateFile': is needed with"),
        ({"topic": "a", "startingOffsets": "first"}, "option 'startingOffsets': 'first' is neither"),
        ({"topic": "a", "startingOffsets": '{"0": -3}'}, "an offset is 0 or more"),
        ({"topic": "a", "startingOffsets": '{"x": 3}'}, "'x' is no number of a partition"),
        ({"topic": "a", "startingOffsets": '{"b": {"0": 1}}'}, "topic 'b' is not among those that are read"),
        ({"topic": "a,b", "startingOffsets": '{"0": 1}'}, "since several are read"),
        (
            {"topic": "a", "startingOffsets": "latest", "startingGroup": "g"},
            "give either startingOffsets or startingGroup",
        ),
        ({"topic": "a", "endingTimestamp": "yesterday"}, "option 'endingTimestamp': 'yesterday' is neither"),
        ({"topic": "a", "maxBytesPerPartition": "1k"}, "is not a whole number from 65536 to"),
        ({"topic": "a", "fetchBytes": "17m"}, "to 16777216"),
        ({"topic": "a", "failOnDataLoss": "maybe"}, "must be true or false"),
        ({"topic": "a", "readFrom": "anyone"}, "'anyone' is not one of leader, nearest"),
        ({"topic": "a", "badBodies": "null"}, "goes with option 'schema'"),
        ({"topic": "a", "writeId": "w"}, "option 'writeId': is not for reading"),
        ({"topic": "a", "tags": "x" * 65}, "more than 64 bytes"),
        ({"topic": "a", "tags": ",".join(f"t{n}" for n in range(257))}, "option 'tags': at position"),
        (
            {"topic": "a", "filter": 'tag = "x" and'},
            "option 'filter': at position 13: expected tag, key or header.name, exists, not or (, found the end",
        ),
        ({"topic": "a", "filter": "body = 'x'"}, "option 'filter': at position 0: expected tag, key"),
        ({"topic": "a", "timeoutSeconds": "0"}, "from 1 to 3600"),
    ],
)
def test_what_cannot_be_right_is_told_in_one_line(given: dict[str, str], line: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse_read(given)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"topic": "a", "startingOffsets": "latest"}, "option 'startingOffsets': is not for writing"),
        ({"topic": "a,b"}, "name one topic"),
        ({"topic": "a", "writeId": "a b"}, "option 'writeId'"),
        ({"topic": "a", "batchMessages": "10001"}, "from 1 to 10000"),
        ({"topic": "a", "writeIdentity": "none"}, "not one of durable, window"),
    ],
)
def test_what_cannot_be_written_with(given: dict[str, str], line: str) -> None:
    with pytest.raises(OptionError, match=line):
        parse_write(given)


def test_limits_are_inclusive() -> None:
    assert parse_write({"batchMessages": "10000", "batchBytes": "8 MiB"}).batch_bytes == 8 * MIB
    assert parse_read({"topic": "a", "fetchBytes": "64 KiB"}).fetch.fetch_bytes == 64 * KIB
    assert parse_read({"topic": "a", "schema": "n int", "badBodies": "Column"}).bad_bodies is BadBodies.COLUMN


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, ""),
        ({"tags": " , ", "filter": " "}, ""),
        ({"tags": "b, a,b"}, 'tag in ("a", "b")'),
        ({"filter": "key LIKE 'user-%'"}, 'key like "user-%"'),
        ({"tags": "a", "filter": 'key = "x" or key = "y"'}, 'tag = "a" and (key = "x" or key = "y")'),
    ],
)
def test_tags_and_a_filter_are_one_filter(given: dict[str, str], text: str) -> None:
    fetch = parse_read({"topic": "a", **given}).fetch
    assert fetch.filter_text == text
    assert (fetch.message_filter is not None) == bool(text)


def test_the_token_is_not_printed() -> None:
    assert "hunter2" not in repr(parse_read({"topic": "a", "token": "hunter2"}))


def test_the_documented_table_is_the_table() -> None:
    rows = [f"| `{each.name}` | {each.default and f'`{each.default}`'} | {each.meaning} |" for each in OPTIONS]
    text = DOCS.read_text()
    assert [row for row in rows if row not in text] == []
