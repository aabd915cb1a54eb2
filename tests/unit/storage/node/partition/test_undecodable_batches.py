"""Batches whose checksums are right and whose content is not: refused where they come from a gateway, and where one is
in a log all the same, it harms itself only (rule R40)."""

import contextlib
import dataclasses
import struct

import pytest
from crc32c import crc32c

from acklog.wire.batch import (
    CONTENT_AT,
    FLAG_KEYED,
    HEADER_BYTES,
    BatchCorruptError,
    DedupKey,
    decode_records,
    encode_batch,
    verify_unstamped,
)
from acklog.wire.compression import Codec
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.errors import ServerError
from cluster.model.values import Topic
from storage.log.log_settings import LogStoreSettings
from storage.rpc import inspect_messages, messages
from tests.support.simulated_node import SMALL, SimulatedNode, with_node

FLAGS_AT, COUNT_AT, BASE_TIMESTAMP_AT, MAX_TIMESTAMP_AT, KEYS_LENGTH_AT = 36, 40, 44, 52, 80


def sealed(batch: bytearray) -> bytearray:
    """With checksums that fit."""
    struct.pack_into(">I", batch, 4, len(batch))
    struct.pack_into(">I", batch, 32, crc32c(bytes(batch[CONTENT_AT:])))
    return batch


def changed(batch: bytearray, at: int, form: str, value: int) -> bytearray:
    struct.pack_into(form, batch, at, value)
    return sealed(batch)


def batch_of(*bodies: bytes, codec: Codec = Codec.NONE, keys: list[DedupKey] | None = None) -> bytearray:
    return encode_batch([Record(body) for body in bodies], codec=codec, keys=keys)


def garbage(count: int) -> bytearray:
    """Structurally sound: a list of as many things as the header says, none of which is a message."""
    batch = batch_of(*[b"12345678"] * count)
    batch[HEADER_BYTES + 1 :] = b"\xc1" * (len(batch) - HEADER_BYTES - 1)
    return sealed(batch)


WRONG = {
    "count": changed(batch_of(b"1"), COUNT_AT, ">I", 4_000_000_000),
    "count of one more": changed(batch_of(b"1"), COUNT_AT, ">I", 2),
    "payload": sealed(batch_of(b"1")[:HEADER_BYTES] + b"\xff" * 50),
    "no payload": sealed(batch_of(b"1")[:HEADER_BYTES]),
    "long list": sealed(
        changed(batch_of(b"1"), COUNT_AT, ">I", 4_000_000_000)[:HEADER_BYTES]
        + b"\xdd"
        + struct.pack(">I", 4_000_000_000)
    ),
    "zstd count": changed(batch_of(b"1", codec=Codec.ZSTD), COUNT_AT, ">I", 4_000_000_000),
    "zstd payload": sealed(batch_of(b"1", codec=Codec.ZSTD)[:HEADER_BYTES] + b"\xff" * 50),
    "lz4 count": changed(batch_of(b"1", codec=Codec.LZ4), COUNT_AT, ">I", 4_000_000_000),
    "lz4 payload": sealed(batch_of(b"1", codec=Codec.LZ4)[:HEADER_BYTES] + b"\xff" * 50),
    "codec": changed(batch_of(b"1"), FLAGS_AT, ">H", 7),
    "flags": changed(batch_of(b"1"), FLAGS_AT, ">H", 1 << 9),
    "keyed without keys": changed(batch_of(b"1"), FLAGS_AT, ">H", FLAG_KEYED),
    "keys": sealed(batch_of(b"1", keys=[DedupKey(0, "a", b"12345678")])[: HEADER_BYTES + 1] + b"\xff" * 50),
    "keys without keyed": changed(batch_of(b"1", keys=[DedupKey(0, "a", b"12345678")]), FLAGS_AT, ">H", 0),
    "times": changed(changed(batch_of(b"1"), BASE_TIMESTAMP_AT, ">q", 9), MAX_TIMESTAMP_AT, ">q", 8),
    "time": changed(changed(batch_of(b"1"), BASE_TIMESTAMP_AT, ">q", 1), MAX_TIMESTAMP_AT, ">q", 1 << 62),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_readers_rely_on_is_checked_before_it_is_appended(name: str) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        with pytest.raises(ServerError) as refused:
            await sim.node.produce(messages.ProduceRequest(topic.id, 0, bytearray(WRONG[name])))
        assert refused.value.code is ProblemCode.INVALID_FIELD
        assert refused.value.field == "batch"
        assert (await sim.send(topic, b"1")).base_offset == 0

    with_node(main)


@pytest.mark.parametrize("codec", list(Codec))
def test_what_gateways_send_is_taken(codec: Codec) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        records = [Record(b""), Record(b"2", "key", {"a": "b"}, ["tag"], 5, "text/plain")] * 40_000
        for count in (1, 15, 16, 17, 65_535, 65_536):
            batch = encode_batch(records[:count], codec=codec)
            await sim.node.produce(messages.ProduceRequest(topic.id, 0, batch))

    with_node(main, dataclasses.replace(SMALL, log_store=LogStoreSettings(journal_file_bytes=8 << 20, reserve_bytes=0)))


async def append_anyway(sim: SimulatedNode, batch: bytearray) -> int:
    """As a version did that checked less."""
    replica = sim.node.replicas()[0]
    return (await replica.logs[0].append(batch, leader_epoch=replica.leader_epoch)).base_offset


async def poisoned(sim: SimulatedNode, batch: bytearray) -> tuple[Topic, int]:
    """A topic with a message before the batch and one behind it, and where that begins."""
    topic = await sim.topic()
    await sim.send(topic, b"before")
    await append_anyway(sim, bytearray(batch))
    return topic, (await sim.send(topic, b"behind")).base_offset


IN_THE_LOG = {
    "garbage": garbage(25),
    "fewer than it says": changed(batch_of(b"1", b"2"), COUNT_AT, ">I", 25),
    "more than it says": changed(batch_of(*[b"1"] * 30), COUNT_AT, ">I", 25),
    "zstd": changed(WRONG["zstd payload"].copy(), COUNT_AT, ">I", 25),
    "lz4": changed(WRONG["lz4 payload"].copy(), COUNT_AT, ">I", 25),
    "codec": changed(WRONG["codec"].copy(), COUNT_AT, ">I", 25),
}


@pytest.mark.parametrize("name", IN_THE_LOG)
def test_a_receive_steps_over_a_batch_that_cannot_be_decoded(name: str) -> None:
    async def main(sim: SimulatedNode) -> None:
        group = await sim.group()
        topic, behind = await poisoned(sim, IN_THE_LOG[name])
        assert behind == 26
        for _ in range(2):
            await sim.node.seek(messages.SeekRequest(topic.id, 0, group.id, "earliest"))
            first = (await sim.receive(topic, group, max_messages=1)).messages
            second = (await sim.receive(topic, group, max_messages=1)).messages
            assert [message.record.body for message in first + second] == [b"before", b"behind"]
            await sim.stop()
            await sim.start()
        with pytest.raises(ServerError, match="RECORDS_CORRUPT"):
            await sim.node.inspect(inspect_messages.InspectRequest(topic.id, 0, 5, 1))

    with_node(main)


def test_a_message_that_cannot_be_decoded_is_done_with_when_its_attempts_are_used_up() -> None:
    """There is nothing to put into the dead-letter topic, now or ever. It is counted there, and the group goes on."""

    async def main(sim: SimulatedNode) -> None:
        group = await sim.group(max_attempts=2, visibility_ms=1_000)
        topic, behind = await poisoned(sim, garbage(25))
        await sim.node.seek(messages.SeekRequest(topic.id, 0, group.id, "earliest"))
        for _ in range(3):
            with contextlib.suppress(ServerError):
                delivered = (await sim.receive(topic, group)).messages
                assert set(await sim.settle("ack", topic, group, delivered)) <= {""}
            await sim.clock.sleep(2_000)
        [position] = (await sim.positions(topic)).groups
        assert (position.progress, position.dead_lettered) == (behind + 1, 25)
        await sim.lose_power()
        await sim.start()
        [position] = (await sim.positions(topic)).groups
        assert (position.progress, position.dead_lettered) == (behind + 1, 25)

    with_node(main)


@pytest.mark.parametrize("name", ["fewer than it says", "more than it says"])
def test_a_decoded_batch_has_as_many_messages_as_it_says(name: str) -> None:
    """Or their offsets would be those of others."""
    batch = IN_THE_LOG[name]
    with pytest.raises(BatchCorruptError, match="25 messages"):
        decode_records(batch, verify_unstamped(batch))
