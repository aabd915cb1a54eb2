"""The work that is measured as a limit is really done."""

import json

import msgspec
import pytest
from crc32c import crc32c

from acklog.wire.partitioner import partition_for_key
from loadtests.codec_limit import measure_packing, pack
from loadtests.payloads import KEYS, batch_bodies, posts, single_bodies


def test_packing_keeps_every_message_in_its_partition_and_checksums_it() -> None:
    body = batch_bodies("q", 50)[1]
    packed = pack(body, 8)
    expected: dict[int, list[list[object]]] = {}
    for message in json.loads(body)["messages"]:
        stored = [json.dumps(message["body"]).encode(), message["key"]]
        expected.setdefault(partition_for_key(message["key"].encode(), 8), []).append(stored)
    assert {partition: msgspec.msgpack.decode(content) for partition, (content, _) in packed.items()} == expected
    assert all(crc32c(content) == checksum for content, checksum in packed.values())


def test_what_is_no_batch_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        pack(b'{"queue": "q"}', 8)


def test_packing_is_measured_in_messages() -> None:
    assert measure_packing(batch_bodies("q", 5), messages=5, partitions=2, seconds=0.01) > 0


def test_a_batch_has_bodies_of_100_bytes_and_many_keys() -> None:
    bodies = batch_bodies("q", 1000)
    messages = [message for body in bodies for message in json.loads(body)["messages"]]
    assert {len(json.dumps(message["body"])) for message in messages} == {100}
    assert len({message["key"] for message in messages}) == KEYS


def test_a_limit_gets_the_same_bodies_as_the_result() -> None:
    bodies = single_bodies("q")
    for result, limit in zip(posts(bodies), posts(bodies, "/answers/x"), strict=True):
        assert result.partition(b"\r\n\r\n")[2] == limit.partition(b"\r\n\r\n")[2]
        assert result.startswith(b"POST /messages ")
        assert limit.startswith(b"POST /answers/x ")
