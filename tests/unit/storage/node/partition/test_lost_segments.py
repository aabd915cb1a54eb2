"""A whole segment of the message log is lost: gone, emptied, or without a batch that can be read.

A retry whose key was stored there is not stored anew in silence (rules R28, R40), and where nothing of the window is
lost, nothing is refused.
"""

from collections.abc import Callable
from typing import Any

import pytest

from acklog.wire.batch import DedupKey, encode_batch
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.errors import ServerError
from cluster.model.values import Topic
from storage.rpc import messages
from tests.sim.sim_disk import SimDisk
from tests.support.simulated_node import SimulatedNode, with_node

WINDOW_MS = 60_000
SEGMENT_BYTES = 2000


def keyed(name: str) -> bytearray:
    return encode_batch([Record(name.encode() * 100)], keys=[DedupKey(0, name, b"%8s" % name.encode())])


async def produce(sim: SimulatedNode, topic: Topic, batch: bytearray, **options: Any) -> messages.ProduceResponse:
    return await sim.node.produce(messages.ProduceRequest(topic.id, 0, batch, **options))


async def make_topic(sim: SimulatedNode, **config: Any) -> Topic:
    return await sim.topic(**{"dedup_window_ms": WINDOW_MS, "segment_bytes": SEGMENT_BYTES} | config)


async def send(sim: SimulatedNode, topic: Topic, first: int, end: int) -> None:
    for number in range(first, end):
        await produce(sim, topic, keyed(f"key-{number:03}"))


def segments(sim: SimulatedNode, topic: Topic) -> list[str]:
    directory = f"partitions/{topic.id}-0/"
    return [path for path in sorted(sim.disk.files()) if path.startswith(f"{directory}0") and path.endswith(".log")]


def gone(disk: SimDisk, path: str) -> None:
    disk.remove(path)


def gone_with_its_index(disk: SimDisk, path: str) -> None:
    disk.remove(path)
    index = path.replace(".log", ".index")
    if disk.exists(index):
        disk.remove(index)


def emptied(disk: SimDisk, path: str) -> None:
    file = disk.open(path)
    file.truncate(0)
    file.sync()
    file.close()


def zeroed(disk: SimDisk, path: str) -> None:
    file = disk.open(path)
    file.write(0, [bytes(file.size())])
    file.sync()
    file.close()


def zeroed_without_index(disk: SimDisk, path: str) -> None:
    zeroed(disk, path)
    disk.remove(path.replace(".log", ".index"))


async def check_damaged(sim: SimulatedNode, topic: Topic, name: str) -> int:
    """In how many ms the key may be new again."""
    with pytest.raises(ServerError) as refused:
        await produce(sim, topic, keyed(name))
    assert refused.value.code is ProblemCode.DEDUP_WINDOW_DAMAGED
    assert 0 < (refused.value.retry_after_ms or 0) <= WINDOW_MS
    await sim.send(topic, b"without a key")
    return refused.value.retry_after_ms or 0


LOSSES = [gone, gone_with_its_index, emptied, zeroed, zeroed_without_index]


@pytest.mark.parametrize("lose", LOSSES)
@pytest.mark.parametrize("which", [0, 1, -1], ids=["first", "middle", "last"])
def test_keys_of_a_lost_segment_are_not_taken_for_new(which: int, lose: Callable[[SimDisk, str], None]) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await make_topic(sim)
        await send(sim, topic, 0, 12)
        await sim.stop()
        paths = segments(sim, topic)
        assert len(paths) > 2
        bases = [int(path.rpartition("/")[2].removesuffix(".log")) for path in paths] + [12]
        lost = range(bases[:-1][which], bases[1:][which])
        lose(sim.disk, paths[which])
        for starts in range(3):
            await sim.start()
            for number in set(range(12)) - set(lost):
                [known] = (await produce(sim, topic, keyed(f"key-{number:03}"))).known
                assert known.offset == number
            await check_damaged(sim, topic, f"key-{lost[0]:03}")
            if starts == 0:
                await sim.lose_power()
            else:
                await sim.clock.sleep(5_000)  # retention has been at work
                await sim.stop()

    with_node(main)


@pytest.mark.parametrize("lose", LOSSES)
def test_the_only_segment_is_lost(lose: Callable[[SimDisk, str], None]) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await make_topic(sim, segment_bytes=1 << 20)
        await send(sim, topic, 0, 3)
        await sim.stop()
        [path] = segments(sim, topic)
        lose(sim.disk, path)
        await sim.start()
        with pytest.raises(ServerError, match="DEDUP_WINDOW_DAMAGED"):
            await produce(sim, topic, keyed("key-001"))
        await sim.clock.sleep(3_000)
        await sim.stop()
        await sim.start()
        left_ms = await check_damaged(sim, topic, "key-001")
        await sim.clock.sleep(left_ms)
        answer = await produce(sim, topic, keyed("key-001"))
        assert (answer.base_offset, answer.known) == (4, [])

    with_node(main)


@pytest.mark.parametrize("lose", LOSSES)
def test_all_before_the_last_segment_is_older_than_the_window(lose: Callable[[SimDisk, str], None]) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await make_topic(sim)
        await send(sim, topic, 0, 10)
        await sim.clock.sleep(WINDOW_MS + 1)
        count = len(segments(sim, topic))
        for number in range(10, 20):
            await produce(sim, topic, keyed(f"key-{number:03}"))
            if len(segments(sim, topic)) > count:
                break
        await sim.stop()
        lose(sim.disk, segments(sim, topic)[-1])
        await sim.start()
        await check_damaged(sim, topic, f"key-{number:03}")

    with_node(main)


def test_the_whole_directory_is_lost() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await make_topic(sim)
        await send(sim, topic, 0, 12)
        await sim.stop()
        for path in [each for each in sim.disk.files() if each.startswith(f"partitions/{topic.id}-0/0")]:
            sim.disk.remove(path)
        await sim.start()
        await check_damaged(sim, topic, "key-001")

    with_node(main)


@pytest.mark.parametrize("lose", [gone, emptied])
@pytest.mark.parametrize("which", [0, 1])
def test_a_segment_of_before_the_window_costs_nothing(which: int, lose: Callable[[SimDisk, str], None]) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await make_topic(sim)
        await send(sim, topic, 0, 12)
        await sim.clock.sleep(WINDOW_MS + 1)
        await send(sim, topic, 12, 14)
        await sim.stop()
        lose(sim.disk, segments(sim, topic)[which])
        await sim.start()
        assert (await produce(sim, topic, keyed("new"))).known == []

    with_node(main)


def test_what_retention_removed_is_not_lost() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await make_topic(sim, retention_ms=1_000, dedup_window_ms=2_000)
        await send(sim, topic, 0, 12)
        await sim.clock.sleep(10_000)
        assert (await sim.positions(topic)).log_start == 12
        await send(sim, topic, 12, 14)
        for number in range(2):
            await sim.stop()
            await sim.start()
            assert (await produce(sim, topic, keyed(f"new-{number}"))).base_offset == 14 + number

    with_node(main)


@pytest.mark.parametrize("which", [0, 1, -1], ids=["first", "middle", "last"])
def test_keys_stay_damaged_while_retention_goes_on(which: int) -> None:
    """What is lost is no segment that is too old: the next start would not know of it."""

    async def main(sim: SimulatedNode) -> None:
        topic = await make_topic(sim, retention_ms=10_000, retention_bytes=1)
        await send(sim, topic, 0, 12)
        await sim.stop()
        emptied(sim.disk, segments(sim, topic)[which])
        await sim.start()
        await sim.clock.sleep(20_000)
        await sim.stop()
        await sim.start()
        await check_damaged(sim, topic, "new")
        await sim.clock.sleep(2 * WINDOW_MS)
        assert (await sim.positions(topic)).log_start >= 12, "it goes with the rest"
        assert (await produce(sim, topic, keyed("new"))).known == []

    with_node(main)


@pytest.mark.parametrize("which", [0, 1, -1], ids=["first", "middle", "last"])
def test_batches_that_are_sent_again_may_be_in_a_lost_segment(which: int) -> None:
    def sequenced(sequence: int) -> bytearray:
        record = Record(b"%03d" % sequence * 200)
        return encode_batch([record], producer_id=7, producer_epoch=0, base_sequence=sequence)

    async def main(sim: SimulatedNode) -> None:
        topic = await make_topic(sim)
        for sequence in range(9):
            await produce(sim, topic, sequenced(sequence))
        await sim.stop()
        paths = segments(sim, topic)
        lost = int(paths[which].rpartition("/")[2].removesuffix(".log"))
        gone(sim.disk, paths[which])
        await sim.start()
        with pytest.raises(ServerError, match="OUTCOME_UNKNOWN"):
            await produce(sim, topic, sequenced(lost), is_retry=True)

    with_node(main)
