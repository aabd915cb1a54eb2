"""One rotten batch harms itself only (rule R40): every kind of batch, rotten at every place, on virtual time."""

import msgspec
import pytest

from acklog.wire.batch import (
    CONTENT_AT,
    HEADER_BYTES,
    BatchHeader,
    DedupKey,
    decode_records,
    encode_batch,
    read_header,
    verify,
)
from acklog.wire.compression import Codec
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.errors import ServerError
from cluster.model.values import Group, Topic
from storage.rpc import messages
from tests.support.simulated_node import SimulatedNode, with_node

WINDOW_MS = 60_000
BATCHES = 24
SEGMENT_BYTES = 3000
KINDS = ("plain", "keyed", "compressed")


def body_of(number: int) -> bytes:
    return b"%06d" % number * 50


def batch_of(number: int) -> bytearray:
    kind = KINDS[number % len(KINDS)]
    keys = [DedupKey(0, f"key-{number}", b"%08d" % number)] if kind == "keyed" else []
    codec = Codec.ZSTD if kind == "compressed" else Codec.NONE
    return encode_batch([Record(body_of(number))], keys=keys, codec=codec)


async def produce(sim: SimulatedNode, topic: Topic, batch: bytearray) -> messages.ProduceResponse:
    return await sim.node.produce(messages.ProduceRequest(topic.id, 0, batch))


async def fill(sim: SimulatedNode, topic: Topic) -> None:
    """Half of the batches before the window, half in it."""
    for number in range(BATCHES):
        if number == BATCHES // 2:
            await sim.clock.sleep(2 * WINDOW_MS)
        await produce(sim, topic, batch_of(number))
        await sim.clock.sleep(100)


def places(sim: SimulatedNode, topic: Topic) -> list[tuple[str, int, BatchHeader]]:
    """Path, position and header of each batch in the partition's segments."""
    found = []
    for path, content in sorted(sim.disk.files().items()):
        if path.startswith(f"partitions/{topic.id}-0/0") and path.endswith(".log"):
            at = 0
            while at < len(content):
                header = read_header(content, at)
                found.append((path, at, header))
                at += header.length
    return found


def behind_damage(error: ServerError, offset: int) -> int:
    """Where readers go on."""
    following = error.extra["next_offset"]
    assert error.code is ProblemCode.RECORDS_CORRUPT
    assert isinstance(following, int)
    assert following > offset
    return following


async def readable(sim: SimulatedNode, topic: Topic, message_filter: str = "") -> dict[int, bytes]:
    """Bodies by offset, stepping over what is refused."""
    bodies: dict[int, bytes] = {}
    positions = await sim.positions(topic)
    offset = positions.log_start
    while offset < positions.high_watermark:
        try:
            request = messages.RecordsRequest(topic.id, 0, offset, filter=message_filter)
            answer = await sim.node.records(request)
        except ServerError as error:
            offset = behind_damage(error, offset)
            continue
        at = 0
        while at < len(answer.batches):
            header = verify(answer.batches, at)
            for index, record in enumerate(decode_records(answer.batches, header, at)):
                bodies[header.base_offset + index] = record.body
            at += header.length
        offset = answer.next_offset
    return bodies


async def received(sim: SimulatedNode, topic: Topic, group: Group) -> dict[int, bytes]:
    bodies: dict[int, bytes] = {}
    for _ in range(3):
        try:
            answer = await sim.receive(topic, group, max_messages=100)
        except ServerError as error:
            behind_damage(error, -1)
            continue
        bodies |= {message.offset: message.record.body for message in answer.messages}
    return bodies


async def check_keys(sim: SimulatedNode, topic: Topic, rotten: int) -> None:
    """Keys that can be read are answered as ever. Others are refused for as long as a rotten batch may have held
    them: to append one would store a message twice, in silence."""
    for number in range(BATCHES // 2, BATCHES):
        if KINDS[number % len(KINDS)] == "keyed" and number != rotten:
            [known] = (await produce(sim, topic, batch_of(number))).known
            assert (known.offset, known.conflict) == (number, False)
    new = encode_batch([Record(b"new")], keys=[DedupKey(0, "new", b"new     ")])
    if rotten < BATCHES // 2:
        assert (await produce(sim, topic, new)).known == []
        return
    unknown = messages.KnownKeysRequest(topic.id, 0, [DedupKey(0, "new", b"x", 1)], 1, 0, 5_000)
    asked = [produce(sim, topic, new), sim.node.known_keys(unknown)]
    if KINDS[rotten % len(KINDS)] == "keyed":
        asked.append(produce(sim, topic, batch_of(rotten)))
    for answer in asked:
        with pytest.raises(ServerError) as refused:
            await answer
        assert refused.value.code is ProblemCode.DEDUP_WINDOW_DAMAGED
        assert 0 < (refused.value.retry_after_ms or 0) <= WINDOW_MS


@pytest.mark.parametrize("index", ["whole", "gone"])
@pytest.mark.parametrize("at", [2, 12, CONTENT_AT + 6, HEADER_BYTES + 4, -5])
@pytest.mark.parametrize("rotten", [*range(9), *range(BATCHES // 2, BATCHES // 2 + 9), BATCHES - 2, BATCHES - 1])
def test_a_rotten_batch_harms_itself_only(rotten: int, at: int, index: str) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(dedup_window_ms=WINDOW_MS, segment_bytes=SEGMENT_BYTES)
        group = await sim.group()
        await sim.receive(topic, group)
        await fill(sim, topic)
        await sim.stop()
        path, position, header = places(sim, topic)[rotten]
        sim.disk.bit_rot(path, position + (at if at >= 0 else header.length + at), 3)
        index_path = path.removesuffix(".log") + ".index"
        if index == "gone" and sim.disk.exists(index_path):
            sim.disk.remove(index_path)
        whole = {number: body_of(number) for number in range(BATCHES) if number != rotten}
        await sim.start()
        assert await readable(sim, topic) == whole
        assert await readable(sim, topic, "not exists(tag)") == whole
        assert await received(sim, topic, group) == whole
        await check_keys(sim, topic, rotten)
        later = (await sim.send(topic, b"later")).base_offset
        await sim.lose_power()
        await sim.start()
        assert (await readable(sim, topic)).items() >= (whole | {later: b"later"}).items()

    with_node(main)


def new_keyed_batch(name: str = "new") -> bytearray:
    return encode_batch([Record(b"new")], keys=[DedupKey(0, name, b"new     ")])


async def with_rot_in_the_window(sim: SimulatedNode) -> Topic:
    """One rotten keyed batch, 22, that the node has met at its start."""
    topic = await sim.topic(dedup_window_ms=WINDOW_MS, segment_bytes=SEGMENT_BYTES)
    await fill(sim, topic)
    await sim.stop()
    path, position, _ = places(sim, topic)[22]
    sim.disk.bit_rot(path, position + HEADER_BYTES + 4, 3)
    await sim.start()
    with pytest.raises(ServerError, match="DEDUP_WINDOW_DAMAGED"):
        await produce(sim, topic, new_keyed_batch())
    return topic


def test_unknown_keys_are_taken_again_when_the_damage_has_left_the_window() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await with_rot_in_the_window(sim)
        await sim.clock.sleep(WINDOW_MS - 2_000)
        with pytest.raises(ServerError) as refused:
            await produce(sim, topic, new_keyed_batch())
        await sim.clock.sleep(refused.value.retry_after_ms or 0)
        assert (await produce(sim, topic, new_keyed_batch())).known == []

    with_node(main)


def test_a_shorter_window_ends_the_refusal_of_unknown_keys() -> None:
    """The way out for who takes duplicates rather than a pause."""

    async def main(sim: SimulatedNode) -> None:
        topic = await with_rot_in_the_window(sim)
        await sim.clock.sleep(1_000)
        await sim.topics.update(topic.name, config=msgspec.structs.replace(topic.config, dedup_window_ms=1_000))
        await sim.clock.sleep(1)
        assert (await produce(sim, topic, new_keyed_batch())).known == []

    with_node(main)


def test_keys_of_a_segment_that_is_gone_count_as_unreadable() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(dedup_window_ms=WINDOW_MS, segment_bytes=SEGMENT_BYTES)
        await fill(sim, topic)
        await sim.stop()
        before = sorted({path for path, _, _ in places(sim, topic)})[-2]
        gone = {header.base_offset for path, _, header in places(sim, topic) if path == before}
        sim.disk.remove(before)
        await sim.start()
        assert set(await readable(sim, topic)) == set(range(BATCHES)) - gone
        with pytest.raises(ServerError, match="DEDUP_WINDOW_DAMAGED"):
            await produce(sim, topic, new_keyed_batch())

    with_node(main)


def test_a_start_reads_keys_from_the_window_on_and_no_earlier() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(dedup_window_ms=WINDOW_MS)
        for _ in range(40):
            await sim.send(topic, bytes(50_000))
        await sim.clock.sleep(2 * WINDOW_MS)
        await produce(sim, topic, new_keyed_batch())
        await sim.stop()
        await sim.start()
        log = sim.node.replicas()[0].logs[0]
        [(first, end, _)] = await log.keyed_ranges_since(sim.clock.now_ms() - WINDOW_MS)
        assert (first, end) == (39, 41), "one row of the index before it"

    with_node(main)


@pytest.mark.parametrize("rotten", range(BATCHES))
def test_a_time_is_found_beside_damage_and_nothing_of_that_time_is_left_out(rotten: int) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(dedup_window_ms=WINDOW_MS, segment_bytes=SEGMENT_BYTES)
        await fill(sim, topic)
        await sim.stop()
        headers = [header for _, _, header in places(sim, topic)]
        path, position, _ = places(sim, topic)[rotten]
        sim.disk.bit_rot(path, position + 2, 3)
        await sim.start()
        log = sim.node.replicas()[0].logs[0]
        for wanted, header in enumerate(headers):
            found = await log.offset_at_time(header.append_time_ms)
            assert found in ({rotten, wanted} if wanted == rotten + 1 else {wanted})
        assert await log.offset_at_time(headers[-1].append_time_ms + 1) in {BATCHES, max(rotten, BATCHES - 1)}

    with_node(main)


def test_batches_that_are_sent_again_are_known_beside_damage() -> None:
    """Of those that may be rotten nobody can tell, which is what their sender hears."""

    def sequenced(sequence: int) -> bytearray:
        return encode_batch([Record(body_of(sequence))], producer_id=7, producer_epoch=0, base_sequence=sequence)

    async def retry(sim: SimulatedNode, topic: Topic, sequence: int) -> int:
        request = messages.ProduceRequest(topic.id, 0, sequenced(sequence), is_retry=True)
        return (await sim.node.produce(request)).base_offset

    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(segment_bytes=SEGMENT_BYTES)
        for sequence in range(6):
            await produce(sim, topic, sequenced(sequence))
        await sim.stop()
        path, position, _ = places(sim, topic)[3]
        sim.disk.bit_rot(path, position + HEADER_BYTES + 4, 3)
        await sim.start()
        assert [await retry(sim, topic, sequence) for sequence in (0, 1, 2, 4, 5)] == [0, 1, 2, 4, 5]
        with pytest.raises(ServerError, match="OUTCOME_UNKNOWN"):
            await retry(sim, topic, 3)
        assert (await produce(sim, topic, sequenced(6))).base_offset == 6, "no retry"
        await sim.clock.sleep(400_000)
        assert await retry(sim, topic, 9) == 7

    with_node(main)
