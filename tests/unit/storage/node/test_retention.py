"""What retention removes from a node's logs, and what it never does."""

import msgspec
import pytest

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.values import RetentionMode
from storage.rpc.inspect_messages import InspectRequest
from tests.support.simulated_node import SimulatedNode, with_node


def test_retention_beats_what_is_not_acknowledged_and_the_jump_is_visible() -> None:
    """R32."""

    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(retention_ms=60_000, segment_bytes=500)
        group = await sim.group()
        for number in range(10):
            await sim.send(topic, b"%d" % number * 100)
        [old] = (await sim.receive(topic, group, max_messages=1)).messages
        await sim.clock.sleep(70_000)
        await sim.send(topic, b"new")
        position = await sim.positions(topic)
        assert position.log_start == 10
        assert (position.groups[0].progress, position.groups[0].lost) == (10, 10)
        assert [message.record.body for message in (await sim.receive(topic, group)).messages] == [b"new"]
        assert await sim.settle("ack", topic, group, [old]) == [""]
        with pytest.raises(ServerError) as gone:
            await sim.node.inspect(InspectRequest(topic.id, 0, 0, 1))
        assert gone.value.code is ProblemCode.MESSAGE_EXPIRED

    with_node(main)


def test_a_jump_of_the_wall_clock_removes_nothing() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(retention_ms=60_000, segment_bytes=500)
        for number in range(10):
            await sim.send(topic, b"%d" % number * 100)
        sim.machine_clock.jump(30 * 24 * 3600 * 1000)
        await sim.clock.sleep(5_000)
        assert (await sim.positions(topic)).log_start == 0

    with_node(main)


def test_retention_until_acked_frees_what_every_group_has_done() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(retention=RetentionMode.UNTIL_ACKED, segment_bytes=500)
        fast, slow = await sim.group("fast"), await sim.group("slow")
        for number in range(10):
            await sim.send(topic, b"%d" % number * 100)
        for group, count in ((fast, 10), (slow, 5)):
            await sim.settle("ack", topic, group, (await sim.receive(topic, group, max_messages=count)).messages)
        await sim.clock.sleep(5_000)
        log_start = (await sim.positions(topic)).log_start
        assert 0 < log_start <= 5

    with_node(main)


def test_retention_until_acked_keeps_the_keys_of_the_window() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(retention=RetentionMode.UNTIL_ACKED, segment_bytes=100, dedup_window_ms=60_000)
        group = await sim.group()
        first = await sim.send(topic, b"1" * 200, keys=["a"])
        await sim.send(topic, b"2" * 200)
        await sim.settle("ack", topic, group, (await sim.receive(topic, group)).messages)
        await sim.clock.sleep(5_000)
        await sim.stop()
        await sim.start()
        again = await sim.send(topic, b"1" * 200, keys=["a"])
        assert [known.offset for known in again.known] == [first.base_offset]

    with_node(main)


def test_smaller_files_have_retention_remove_what_it_would_keep_longer() -> None:
    """That is why a topic's files get smaller only where messages may be lost."""

    async def main(sim: SimulatedNode) -> None:
        for segment_bytes, kept in ((10_000, 10), (500, 0)):
            topic = await sim.topic(f"of-{segment_bytes}", retention_bytes=0, segment_bytes=10_000)
            for number in range(10):
                await sim.send(topic, b"%d" % number * 200)
            config = msgspec.structs.replace(topic.config, segment_bytes=segment_bytes)
            await sim.topics.update(topic.name, config=config)
            await sim.stop()
            await sim.start()
            await sim.send(topic, b"new")
            await sim.clock.sleep(5_000)
            assert len(await sim.bodies_in_log(topic)) == kept + 1

    with_node(main)


def test_keyed_batches_outlive_retention_by_size_for_their_window() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(retention_bytes=1000, segment_bytes=500, dedup_window_ms=60_000)
        for number in range(10):
            await sim.send(topic, b"%d" % number * 200, keys=[f"key {number}"])
        await sim.clock.sleep(5_000)
        assert (await sim.positions(topic)).log_start == 0
        await sim.clock.sleep(70_000)
        assert (await sim.positions(topic)).log_start > 0

    with_node(main)
