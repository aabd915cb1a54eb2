"""What a node remembers of idempotency keys, on virtual time and a simulated disk (rules R19, R28)."""

import asyncio
import dataclasses

import pytest

from acklog.wire.batch import DedupKey, encode_batch
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.errors import AcklogError
from storage.delivery.dedup_window import ENTRY_OVERHEAD_BYTES
from storage.rpc import messages
from tests.support.simulated_node import SMALL, SimulatedNode, with_node


def test_keys_are_remembered_over_a_restart_and_forgotten_after_the_window() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(dedup_window_ms=60_000)
        first = await sim.send(topic, b"1", keys=["a"])
        await sim.lose_power()
        await sim.start()
        again = await sim.send(topic, b"1", keys=["a"])
        assert [(known.offset, known.conflict) for known in again.known] == [(first.base_offset, False)]
        other = await sim.send(topic, b"2", keys=["a"])
        assert [known.conflict for known in other.known] == [True]
        await sim.clock.sleep(61_000)
        assert (await sim.send(topic, b"2", keys=["a"])).known == []
        assert await sim.bodies_in_log(topic) == [b"1", b"2"]

    with_node(main)


def test_a_retry_that_comes_while_the_first_try_is_written_waits_for_its_outcome() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        first, second = await asyncio.gather(sim.send(topic, b"1", keys=["a"]), sim.send(topic, b"1", keys=["a"]))
        assert sorted([len(first.known), len(second.known)]) == [0, 1]
        assert await sim.bodies_in_log(topic) == [b"1"]

    with_node(main)


def test_a_run_is_remembered_over_a_restart_by_one_key() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(dedup_window_ms=60_000)
        await sim.send(topic, b"before")
        first = await sim.send(topic, b"1", b"2", b"3", run_key="request\n")
        await sim.lose_power()
        await sim.start()
        again = await sim.send(topic, b"1", b"2", b"3", run_key="request\n")
        assert first.base_offset == 1
        assert again.known == [messages.KeyedResult(0, 1, first.leader_epoch, False, 3)]
        for others in ([b"1", b"2"], [b"1", b"2", b"4"], [b"1", b"2", b"3", b"4"]):
            other = await sim.send(topic, *others, run_key="request\n")
            assert [(known.conflict, known.count) for known in other.known] == [(True, len(others))]
        assert await sim.bodies_in_log(topic) == [b"before", b"1", b"2", b"3"]
        await sim.clock.sleep(61_000)
        assert (await sim.send(topic, b"4", run_key="request\n")).known == []

    with_node(main)


def test_a_retry_of_a_run_that_is_being_written_waits_for_it() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        tries = [sim.send(topic, b"1", b"2", run_key="request\n") for _ in range(3)]
        answers = sorted(await asyncio.gather(*tries), key=lambda answer: -answer.base_offset)
        [first, *others] = answers
        assert first.known == []
        known = messages.KeyedResult(0, first.base_offset, first.leader_epoch, False, 2)
        assert [other.known for other in others] == [[known], [known]]
        assert await sim.bodies_in_log(topic) == [b"1", b"2"]

    with_node(main)


def test_runs_of_any_length_cost_the_window_the_same() -> None:
    """The memory for four keys holds forty thousand messages, before and after a restart."""

    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        bodies = [b"%d" % number for number in range(10_000)]
        for number in range(4):
            await sim.send(topic, *bodies, run_key=f"{number}\n")
        await sim.stop()
        await sim.start()
        with pytest.raises(AcklogError) as refused:
            await sim.send(topic, b"1", run_key="one more\n")
        assert refused.value.code is ProblemCode.DEDUP_WINDOW_FULL
        for number in range(4):
            [known] = (await sim.send(topic, *bodies, run_key=f"{number}\n")).known
            assert (known.offset, known.count, known.conflict) == (10_000 * number, 10_000, False)

    with_node(main, dataclasses.replace(SMALL, dedup_window_bytes_max=4 * (ENTRY_OVERHEAD_BYTES + 2)))


@pytest.mark.parametrize(
    "key", [DedupKey(0, "a", b"12345678", 3), DedupKey(2, "a", b"12345678"), DedupKey(-1, "a", b"12345678", 2)]
)
def test_a_key_that_covers_records_beyond_its_batch_is_refused(key: DedupKey) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        batch = encode_batch([Record(b"1"), Record(b"2")], keys=[key])
        with pytest.raises(AcklogError, match="there are 2") as refused:
            await sim.node.produce(messages.ProduceRequest(topic.id, 0, batch))
        assert refused.value.code is ProblemCode.INVALID_FIELD
        assert await sim.bodies_in_log(topic) == []

    with_node(main)
