"""Batches that a node begins with at once, without a task that waits for it: the promises are those of a produce."""

import asyncio
import dataclasses

import pytest

from acklog.wire.batch import DedupKey, encode_batch
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.errors import ServerError
from cluster.model.values import Topic
from storage.rpc.in_process import InProcessNode
from storage.rpc.messages import ACKS_ALL, ProduceRequest, ProduceResponse
from tests.support.simulated_node import SMALL, SimulatedNode, with_node


def request(topic: Topic, body: bytes = b"1", *, acks: int = ACKS_ALL, timeout_ms: int = 10_000) -> ProduceRequest:
    return ProduceRequest(topic.id, 0, encode_batch([Record(body)]), acks, timeout_ms)


async def opened_topic(sim: SimulatedNode) -> Topic:
    topic = await sim.topic()
    await sim.positions(topic)  # waits until the partition is open
    return topic


def waiter() -> "asyncio.Future[ProduceResponse]":
    return asyncio.get_running_loop().create_future()


def test_who_waits_is_told_where_the_batch_is_and_a_power_loss_keeps_it() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await opened_topic(sim)
        waiting = [waiter() for _ in range(3)]
        for number, each in enumerate(waiting):
            assert sim.node.begin_produce(request(topic, b"%d" % number), each)
            assert not each.done()
        answers = await asyncio.gather(*waiting)
        assert [answer.base_offset for answer in answers] == [0, 1, 2]
        assert answers[0].append_time_ms > 0
        await sim.lose_power()
        await sim.start()
        assert await sim.bodies_in_log(topic) == [b"0", b"1", b"2"]

    with_node(main)


def test_batches_with_keys_or_a_producer_are_for_produce() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await opened_topic(sim)
        keyed = encode_batch([Record(b"1")], keys=[DedupKey(0, "key", b"12345678")])
        numbered = encode_batch([Record(b"1")], producer_id=5, producer_epoch=0, base_sequence=7)
        for batch in (keyed, numbered):
            assert not sim.node.begin_produce(ProduceRequest(topic.id, 0, batch), waiter())
        assert await sim.bodies_in_log(topic) == []

    with_node(main)


def test_a_retry_in_process_is_for_produce() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await opened_topic(sim)
        again = ProduceRequest(topic.id, 0, encode_batch([Record(b"1")]), is_retry=True)
        assert not InProcessNode(sim.node).begin_produce(again, waiter())
        assert await sim.bodies_in_log(topic) == []

    with_node(main)


def test_the_senders_own_bytes_are_never_stamped() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await opened_topic(sim)
        sent = request(topic)
        before = bytes(sent.batch)
        waiting = waiter()
        assert InProcessNode(sim.node).begin_produce(sent, waiting)
        await waiting
        assert bytes(sent.batch) == before

    with_node(main)


def test_what_is_not_open_here_and_a_node_that_stops_are_for_produce() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await opened_topic(sim)
        elsewhere = ProduceRequest(topic.id, 1, encode_batch([Record(b"1")]))
        assert not sim.node.begin_produce(elsewhere, waiter())
        sim.node.stop_waiting()
        assert not sim.node.begin_produce(request(topic), waiter())

    with_node(main)


def test_what_is_wrong_is_said_at_once_and_nothing_is_done() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await opened_topic(sim)
        damaged = request(topic)
        damaged.batch[-1] ^= 1
        for wrong in (damaged, request(topic, acks=2)):
            with pytest.raises(ServerError) as refused:
                sim.node.begin_produce(wrong, waiter())
            assert refused.value.code is ProblemCode.INVALID_FIELD
        assert await sim.bodies_in_log(topic) == []

    with_node(main)


def test_a_full_inbox_answers_overloaded_and_loses_nothing() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await opened_topic(sim)
        taken, refusals = [], []
        for _ in range(20):
            waiting = waiter()
            try:
                assert sim.node.begin_produce(request(topic, b"x" * 1000), waiting)
                taken.append(waiting)
            except ServerError as error:
                refusals.append(error.code)
        assert set(refusals) == {ProblemCode.OVERLOADED}
        await asyncio.gather(*taken)
        assert len(await sim.bodies_in_log(topic)) == len(taken) == 20 - len(refusals)
        assert sim.node.begin_produce(request(topic), waiter()), "what is written makes room"

    with_node(main, dataclasses.replace(SMALL, partition_inbox_bytes_max=5_000))


def test_without_acks_it_is_told_at_once() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await opened_topic(sim)
        waiting = waiter()
        assert sim.node.begin_produce(request(topic, acks=0), waiting)
        assert waiting.result().base_offset == -1

    with_node(main)


def test_when_the_time_is_up_it_is_told_once_that_nobody_knows() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await opened_topic(sim)
        waiting = waiter()
        assert sim.node.begin_produce(request(topic, timeout_ms=0), waiting)
        with pytest.raises(ServerError) as late:
            await waiting
        assert late.value.code is ProblemCode.OUTCOME_UNKNOWN
        await sim.send(topic, b"2")
        assert await sim.bodies_in_log(topic) == [b"1", b"2"]

    with_node(main)


def test_who_does_not_wait_any_more_disturbs_nobody() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await opened_topic(sim)
        gone, other = waiter(), waiter()
        for waiting in (gone, other):
            assert sim.node.begin_produce(request(topic), waiting)
        gone.cancel()
        assert (await other).base_offset == 1
        assert sim.node.failure is None

    with_node(main)


def test_a_failed_sync_is_told() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await opened_topic(sim)
        sim.disk.fail_next_sync()
        waiting = waiter()
        assert sim.node.begin_produce(request(topic), waiting)
        with pytest.raises(ServerError) as failed:
            await waiting
        assert failed.value.code is ProblemCode.STORAGE_FAILED
        assert sim.node.failure

    with_node(main)
