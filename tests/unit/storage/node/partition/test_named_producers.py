"""A partition takes only the last life of a named producer, on virtual time and a simulated disk (rules R3, R16)."""

import pytest

from acklog.wire.batch import DedupKey, encode_batch
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.catalog.producer_admin import ProducerAdmin
from cluster.errors import ServerError
from cluster.model.values import Topic
from storage.node.partition.keyed_runs import KeyedRuns
from storage.rpc import messages
from storage.rpc.messages import KeyedResult
from storage.rpc.producer_epoch import ProducerEpoch
from tests.support.simulated_node import SimulatedNode, with_node


async def opened(sim: SimulatedNode, topic: Topic, instance: str) -> ProducerEpoch:
    admin = ProducerAdmin(sim.store, sim.metadata, clock=sim.clock, entropy=sim.entropy)
    producer = await admin.open(topic, "p", instance)
    return ProducerEpoch(producer.id, producer.epoch)


async def send(sim: SimulatedNode, topic: Topic, body: bytes, key: str, who: ProducerEpoch) -> messages.ProduceResponse:
    batch = encode_batch([Record(body)], keys=[DedupKey(0, key, body[:8].ljust(8))])
    return await sim.node.produce(messages.ProduceRequest(topic.id, 0, batch, producer=who))


async def refused(sim: SimulatedNode, topic: Topic, who: ProducerEpoch, key: str = "x") -> ProblemCode:
    with pytest.raises(ServerError) as caught:
        await send(sim, topic, b"never", key, who)
    return caught.value.code


def asked(topic: Topic, who: ProducerEpoch) -> messages.KnownKeysRequest:
    return messages.KnownKeysRequest(topic.id, 0, [], 0, 0, producer=who)


def test_from_the_next_opening_on_an_earlier_life_is_refused_also_after_a_power_cut() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        first = await opened(sim, topic, "a")
        stored = await send(sim, topic, b"1", "k", first)
        again = await send(sim, topic, b"1", "k", first)
        assert [known.offset for known in again.known] == [stored.base_offset]
        second = await opened(sim, topic, "b")
        for key in ("k", "new"):
            assert await refused(sim, topic, first, key) is ProblemCode.PRODUCER_FENCED
        await send(sim, topic, b"2", "k2", second)
        await sim.lose_power()
        await sim.start()
        assert await refused(sim, topic, first) is ProblemCode.PRODUCER_FENCED
        await send(sim, topic, b"3", "k3", second)
        assert await sim.bodies_in_log(topic) == [b"1", b"2", b"3"]

    with_node(main)


def test_what_was_not_heard_of_is_refused_for_now() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        other = await sim.topic("bills")
        who = await opened(sim, topic, "a")
        later = ProducerEpoch(who.producer_id, who.epoch + 1)
        for claim, place in ((later, topic), (ProducerEpoch("nobody", 1), topic), (who, other)):
            assert await refused(sim, place, claim) is ProblemCode.UNAVAILABLE
            with pytest.raises(ServerError) as caught:
                await sim.node.known_keys(asked(place, claim))
            assert caught.value.code is ProblemCode.UNAVAILABLE
        assert (await sim.node.known_keys(asked(topic, who))).known == []
        assert await sim.bodies_in_log(topic) == []

    with_node(main)


def test_an_opening_while_a_send_waits_for_its_keys_fences_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        first = await opened(sim, topic, "a")
        known = KeyedRuns.known

        async def known_late(runs: KeyedRuns, keys: list[DedupKey], count: int, timeout_ms: int) -> list[KeyedResult]:
            found = await known(runs, keys, count, timeout_ms)
            await opened(sim, topic, "b")
            return found

        monkeypatch.setattr(KeyedRuns, "known", known_late)
        assert await refused(sim, topic, first) is ProblemCode.PRODUCER_FENCED
        assert await sim.bodies_in_log(topic) == []

    with_node(main)
