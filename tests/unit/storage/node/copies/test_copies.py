"""A partition that is backed up, and one that is filled again, with crashes in between."""

import pytest

from acklog.wire.batch import encode_batch, stamp
from acklog.wire.log_page import runs
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.errors import ServerError
from cluster.model.values import Encryption, Topic, TopicConfig
from storage.rpc.copy_messages import BATCHES, GROUPS, SCHEDULE, STATE, CopyRequest, CopyResponse
from storage.rpc.messages import RecordsRequest
from tests.support.encrypted_node import on_disk, with_keys
from tests.support.simulated_node import SimulatedNode, with_node

RESTORE = "r1"


async def restoring(sim: SimulatedNode, **config: object) -> Topic:
    topic = await sim.topics.get_or_create(
        "back",
        partitions=1,
        config=TopicConfig(**config),  # type: ignore[arg-type]
        replication_factor=1,
        restore_id=RESTORE,
    )
    while not sim.metadata.partitions(topic.id):
        await sim.clock.sleep(1)
    return topic


def batch(base_offset: int, *bodies: bytes, append_ms: int = 1_000) -> bytes:
    made = encode_batch([Record(body) for body in bodies])
    stamp(made, base_offset=base_offset, leader_epoch=77, append_time_ms=append_ms)
    return bytes(made)


async def fill(sim: SimulatedNode, topic: Topic, content: bytes, **options: object) -> CopyResponse:
    request = CopyRequest(topic.id, 0, BATCHES, RESTORE, content, **options)  # type: ignore[arg-type]
    return await sim.node.copy(request)


async def refused(sim: SimulatedNode, request: CopyRequest) -> ProblemCode:
    with pytest.raises(ServerError) as raised:
        await sim.node.copy(request)
    return raised.value.code


def test_what_is_filled_is_durable_at_its_offsets_with_its_times() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await restoring(sim)
        assert (await fill(sim, topic, batch(5, b"a", b"b"))).high_watermark == 7
        await sim.lose_power()
        await sim.start()
        again = await fill(sim, topic, batch(5, b"a", b"b") + batch(7, b"c", append_ms=2_000), fill_to=12)
        assert again.high_watermark == 12
        await sim.topics.finish_restore("back", RESTORE, decommissioned=())
        await sim.clock.sleep(1_000)
        found = await sim.node.records(RecordsRequest(topic.id, 0, 0, -1, 100_000))
        assert [
            (first, header.append_time_ms, [each.body for each in records])
            for header, first, records in runs(found.batches, 0)
        ] == [
            (5, 1_000, [b"a", b"b"]),
            (7, 2_000, [b"c"]),
        ]
        assert (await sim.send(topic, b"new")).base_offset == 12

    with_node(main)


def test_nothing_else_is_done_with_it_and_nothing_becomes_of_its_messages() -> None:
    """They are older than their retention, and nobody has seen them."""

    async def main(sim: SimulatedNode) -> None:
        topic = await restoring(sim, retention_ms=60_000, segment_bytes=500)
        group = await sim.group()
        for number in range(10):
            await fill(sim, topic, batch(number, b"x" * 100, append_ms=1_000 + number))
        await sim.clock.sleep(200_000)
        assert (await sim.node.copy(CopyRequest(topic.id, 0, STATE))).log_start == 0
        for use in (
            sim.send(topic, b"early"),
            sim.receive(topic, group),
            sim.node.records(RecordsRequest(topic.id, 0, 0, -1, 1_000)),
        ):
            with pytest.raises(ServerError) as raised:
                await use
            assert raised.value.code is ProblemCode.TOPIC_RESTORING
        await sim.topics.finish_restore("back", RESTORE, decommissioned=())
        await sim.clock.sleep(200_000)
        assert (await sim.positions(topic)).log_start == 10

    with_node(main)


def test_groups_go_on_where_they_were_also_after_a_crash() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        for number in range(6):
            await sim.send(topic, b"%d" % number)
        leases = (await sim.receive(topic, group, max_messages=4)).messages
        await sim.settle("ack", topic, group, [leases[0], leases[2]])
        state = await sim.node.copy(CopyRequest(topic.id, 0, STATE, group_ids={group.id: ""}))
        assert state.group_ids == [group.id]
        back, other = await restoring(sim), await sim.group("others")
        await fill(sim, back, b"".join(batch(number, b"%d" % number) for number in range(5)))
        request = CopyRequest(back.id, 0, GROUPS, RESTORE, state.state, group_ids={group.id: other.id})
        await sim.node.copy(request)
        await sim.lose_power()
        await sim.start()
        await sim.node.copy(request)
        await sim.topics.finish_restore("back", RESTORE, decommissioned=())
        await sim.clock.sleep(1_000)
        [position] = (await sim.positions(back)).groups
        assert (position.group_id, position.progress, position.done_above) == (other.id, 1, 1)
        received = (await sim.receive(back, other, max_messages=10)).messages
        assert [message.offset for message in received] == [1, 3, 4]

    with_node(main)


def test_what_no_restore_may_do() -> None:
    async def main(sim: SimulatedNode) -> None:
        whole, back = await sim.topic(), await restoring(sim)
        fine = batch(0, b"a")
        assert await refused(sim, CopyRequest(whole.id, 0, BATCHES, RESTORE, fine)) is ProblemCode.TOPIC_NOT_RESTORING
        assert await refused(sim, CopyRequest(whole.id, 0, BATCHES, "", fine)) is ProblemCode.TOPIC_NOT_RESTORING
        assert await refused(sim, CopyRequest(back.id, 0, BATCHES, "r2", fine)) is ProblemCode.TOPIC_NOT_RESTORING
        assert await refused(sim, CopyRequest(back.id, 0, BATCHES, RESTORE, b"?")) is ProblemCode.INVALID_FIELD
        assert await refused(sim, CopyRequest(back.id, 0, "other", RESTORE, fine)) is ProblemCode.INVALID_FIELD
        assert await refused(sim, CopyRequest(back.id, 0, GROUPS, RESTORE, b"?")) is ProblemCode.INVALID_FIELD
        wrong_log = CopyRequest(back.id, 0, BATCHES, RESTORE, fine, log="other")
        assert await refused(sim, wrong_log) is ProblemCode.INVALID_FIELD
        await fill(sim, back, batch(0, b"a", b"b"))
        across = CopyRequest(back.id, 0, BATCHES, RESTORE, batch(1, b"b", b"c"))
        assert await refused(sim, across) is ProblemCode.RESTORE_CONFLICT
        assert (await sim.node.copy(CopyRequest(back.id, 0, STATE))).high_watermark == 2
        assert (await sim.node.copy(CopyRequest(whole.id, 0, STATE))).high_watermark == 0
        assert (await fill(sim, back, b"", log=SCHEDULE)).schedule_end == 0

    with_node(main)


def test_what_comes_into_an_encrypted_topic_is_on_no_disk_in_clear() -> None:
    """A backup has it in clear, as whoever may receive it gets it."""

    async def main(sim: SimulatedNode) -> None:
        topic = await restoring(sim, encryption=Encryption.ON)
        await fill(sim, topic, batch(3, b"a body to hide"))
        assert on_disk(sim, b"a body to hide") == []
        await sim.lose_power()
        await sim.start()
        await sim.topics.finish_restore("back", RESTORE, decommissioned=())
        await sim.clock.sleep(1_000)
        found = await sim.node.records(RecordsRequest(topic.id, 0, 0, -1, 100_000))
        assert [records[0].body for _, _, records in runs(found.batches, 0)] == [b"a body to hide"]

    with_keys(main)
