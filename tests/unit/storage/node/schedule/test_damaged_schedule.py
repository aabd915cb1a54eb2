"""A part of a schedule log is lost or damaged on the only replica that has it (rules R35, R40)."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.values import Topic
from storage.rpc.messages import ProduceResponse
from storage.rpc.schedule_messages import DELIVERED, SCHEDULED
from tests.sim.sim_disk import SimDisk
from tests.support.schedules import KeptIndexes, listed, look, schedule
from tests.support.simulated_node import SMALL, SimulatedNode, with_node

SMALL_SEGMENTS = replace(SMALL, schedule_segment_bytes=2_000)
COUNT = 24
FAR_MS = 3_600_000


def segments(sim: SimulatedNode, topic: Topic) -> list[str]:
    directory = f"partitions/{topic.id}-0/schedule/0"
    return [path for path in sorted(sim.disk.files()) if path.startswith(directory) and path.endswith(".log")]


def base_of(path: str) -> int:
    return int(path.rpartition("/")[2].removesuffix(".log"))


def gone(disk: SimDisk, path: str) -> None:
    disk.remove(path)


def zeroed(disk: SimDisk, path: str) -> None:
    file = disk.open(path)
    file.write(0, [bytes(file.size())])
    file.sync()
    file.close()


async def scheduled(sim: SimulatedNode) -> tuple[Topic, list[ProduceResponse]]:
    topic = await sim.topic()
    sent = [await schedule(sim.node, topic, b"%d" % at + b"x" * 300, delay_ms=FAR_MS + at) for at in range(COUNT)]
    return topic, sent


async def schedule_many(sim: SimulatedNode, topic: Topic, *, delay_ms: int) -> int:
    """Some segments of them. The last one's offset in the schedule log."""
    for at in range(COUNT // 2):
        last = await schedule(sim.node, topic, b"%d" % at + b"y" * 300, delay_ms=delay_ms)
    return last.base_offset


async def code_of(sim: SimulatedNode, topic: Topic, sent: ProduceResponse, action: str = "look") -> ProblemCode | None:
    try:
        await look(sim.node, topic, sent, action, delay_ms=FAR_MS)
    except ServerError as error:
        return error.code
    return None


@pytest.mark.parametrize("lose", [gone, zeroed])
@pytest.mark.parametrize("which", [0, 1, -1], ids=["first", "middle", "last"])
def test_what_is_lost_is_corrupt_and_not_unknown(which: int, lose: Callable[[SimDisk, str], None]) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, sent = await scheduled(sim)
        await sim.stop()
        paths = segments(sim, topic)
        assert len(paths) > 2
        bases = [*map(base_of, paths), sent[-1].base_offset + 1]
        lost = range(bases[:-1][which], bases[1:][which])
        left = sum(each.base_offset not in lost for each in sent)  # notes have offsets, too
        lose(sim.disk, paths[which])
        for _ in range(2):  # also by an index that was made without it
            await sim.start()
            for each in sent:
                is_lost = each.base_offset in lost
                for action in ("look", "cancel", "move") if is_lost else ("look",):
                    assert await code_of(sim, topic, each, action) is (ProblemCode.RECORDS_CORRUPT if is_lost else None)
            unknown = ProduceResponse(sent[-1].base_offset + 100, 1, 0)
            assert await code_of(sim, topic, unknown) is ProblemCode.MESSAGE_NOT_FOUND
            assert len(await listed(sim.node, topic)) == left
            await sim.stop()
        await sim.start()
        await sim.clock.sleep(FAR_MS + 1_000)
        assert len(await sim.bodies_in_log(topic)) == left

    with_node(main, SMALL_SEGMENTS)


def test_all_of_it_is_lost() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, sent = await scheduled(sim)
        await sim.stop()
        for path in segments(sim, topic):
            sim.disk.remove(path)
        await sim.start()
        for each in sent:
            assert await code_of(sim, topic, each) is ProblemCode.RECORDS_CORRUPT
        assert await listed(sim.node, topic) == []
        new = await schedule(sim.node, topic, b"new", delay_ms=1_000)
        assert (await look(sim.node, topic, new)).state == SCHEDULED
        await sim.clock.sleep(2_000)
        assert (await look(sim.node, topic, new)).state == DELIVERED

    with_node(main, SMALL_SEGMENTS)


def test_what_was_delivered_is_not_delivered_again_though_the_record_of_it_is_lost() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, _ = await scheduled(sim)
        await schedule(sim.node, topic, b"soon", delay_ms=5_000)
        noted_at = (await schedule_many(sim, topic, delay_ms=FAR_MS)) + 1
        await sim.clock.sleep(6_000)
        assert await sim.bodies_in_log(topic) == [b"soon"]
        for _ in range(3):  # what is noted of these says where the next leader has to look
            await schedule_many(sim, topic, delay_ms=100)
            await sim.clock.sleep(1_000)
        before = await sim.bodies_in_log(topic)
        await sim.stop()
        zeroed(sim.disk, [path for path in segments(sim, topic) if base_of(path) <= noted_at][-1])
        await sim.start()
        await sim.clock.sleep(10_000)
        after = await sim.bodies_in_log(topic)
        assert after[: len(before)] == before
        assert after.count(b"soon") == 1

    with_node(main, SMALL_SEGMENTS)


def test_however_many_cannot_be_read_it_is_said_once() -> None:
    async def main(sim: SimulatedNode) -> None:
        sim.schedule_indexes = KeptIndexes()
        await sim.stop()
        await sim.start()
        topic, sent = await scheduled(sim)
        await listed(sim.node, topic)
        await sim.stop()
        for path in segments(sim, topic)[:2]:
            zeroed(sim.disk, path)
        await sim.start()
        with capture_logs() as lines:
            found = await listed(sim.node, topic)
        said = [line for line in lines if line["event"] == "scheduled_messages_unreadable"]
        assert [line["count"] for line in said] == [COUNT - len(found)]
        assert said[0]["count"] > 1
        assert await code_of(sim, topic, sent[0]) is ProblemCode.RECORDS_CORRUPT

    with_node(main, SMALL_SEGMENTS)
