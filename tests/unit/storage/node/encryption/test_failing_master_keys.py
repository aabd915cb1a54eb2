"""Who has the master key fails, hangs or answers wrongly: what that keeps from being served, and what it does not."""

import asyncio
from collections.abc import Sequence

import pytest
from structlog.testing import capture_logs

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model import keys
from cluster.model.codec import decode, encode
from cluster.model.values import Topic
from cluster.ports.coordination import Put
from storage.encryption.master_key import MasterKeyError, MasterKeys
from storage.node.encryption.data_key_keeper import JOBS_AT_ONCE_MAX, PROBLEM
from tests.support.encrypted_node import encrypted_topic, master_key, with_keys
from tests.support.simulated_node import SimulatedNode

SECRET_REASON = "/opt/kms --password=hidden ended with 3: no access"


class FakeService:
    """The tests' master key behind a service: `fail`, `hang` and `lie` say of which topics, by what their data keys are
    bound to."""

    def __init__(self, *, fail: str = "none", hang: Sequence[str] = (), lie: str = "none") -> None:
        self._key = master_key()
        self.fail, self.lie = fail.encode(), lie.encode()
        self.hang = [each.encode() for each in hang]
        self.calls: list[bytes] = []

    @property
    def id(self) -> str:
        return self._key.id

    def heal(self) -> None:
        self.fail = self.lie = b"none"
        self.hang = []

    async def wrap(self, data_key: bytes, *, bound: bytes) -> bytes:
        await self._trouble(bound)
        return await self._key.wrap(data_key, bound=bound)

    async def unwrap(self, wrapped: bytes, *, bound: bytes) -> bytes:
        self.calls.append(bound)
        await self._trouble(bound)
        return b"x" * 32 if self.lie in bound else await self._key.unwrap(wrapped, bound=bound)

    async def _trouble(self, bound: bytes) -> None:
        if self.fail in bound:
            raise MasterKeyError(SECRET_REASON)
        while any(each in bound for each in self.hang):
            await asyncio.sleep(1)


async def started_with(sim: SimulatedNode, service: FakeService) -> None:
    await sim.stop()
    sim.master_keys = MasterKeys(service)
    await sim.start()


async def refusal(sim: SimulatedNode, topic: Topic) -> ServerError:
    with pytest.raises(ServerError) as refused:
        await sim.send(topic, b"refused")
    assert refused.value.code is ProblemCode.UNAVAILABLE
    return refused.value


def test_a_wrong_answer_is_not_believed() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await encrypted_topic(sim)
        await sim.send(topic, b"1")
        service = FakeService(lie=topic.id)
        await started_with(sim, service)
        assert PROBLEM in (await refusal(sim, topic)).detail
        service.heal()
        await sim.clock.sleep(30_000)
        await sim.send(topic, b"2")
        assert await sim.bodies_in_log(topic) == [b"1", b"2"]

    with_keys(main)


def test_a_key_of_before_there_were_check_values_is_taken() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await encrypted_topic(sim)
        await sim.send(topic, b"1")
        await sim.stop()
        stored = await sim.store.get(keys.topic("orders"))
        assert stored is not None
        as_before = stored.value.replace(b'"check"', b'"unknown"')
        assert as_before != stored.value
        await sim.store.transact([], [Put(stored.key, encode(decode(Topic, as_before)))])
        await sim.start()
        await sim.send(topic, b"2")
        assert await sim.bodies_in_log(topic) == [b"1", b"2"]

    with_keys(main)


def test_keys_that_are_not_answered_hold_up_no_others() -> None:
    async def main(sim: SimulatedNode) -> None:
        standing = [await encrypted_topic(sim, f"a-first-{number}") for number in range(JOBS_AT_ONCE_MAX - 1)]
        others = [await encrypted_topic(sim, f"orders-{number}") for number in range(12)]
        for topic in (*standing, *others):
            await sim.send(topic, b"1")
        service = FakeService(hang=[topic.id for topic in standing])
        await started_with(sim, service)
        for topic in others:
            await sim.send(topic, b"2")
        await refusal(sim, standing[0])
        service.heal()
        await sim.clock.sleep(30_000)
        await sim.send(standing[0], b"2")
        assert await sim.bodies_in_log(standing[0]) == [b"1", b"2"]

    with_keys(main)


def test_a_topic_is_served_once_its_newest_key_is_there() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await encrypted_topic(sim)
        await sim.send(topic, b"1")
        await sim.topics.rotate_data_key("orders")
        await sim.clock.sleep(1_000)
        await sim.send(topic, b"2")
        service = FakeService(hang=[f"{topic.id} 1"])
        await started_with(sim, service)
        await sim.send(topic, b"3")
        assert sim.node.missing_data_keys == 1
        with pytest.raises(ServerError) as refused:
            await sim.bodies_in_log(topic)
        assert refused.value.code is ProblemCode.UNAVAILABLE
        assert "data key 1" in refused.value.detail
        service.heal()
        await sim.clock.sleep(5_000)
        assert await sim.bodies_in_log(topic) == [b"1", b"2", b"3"]
        assert sim.node.missing_data_keys == 0

    with_keys(main)


def test_the_newest_keys_of_all_topics_come_first() -> None:
    async def main(sim: SimulatedNode) -> None:
        topics = [await encrypted_topic(sim, f"orders-{number}") for number in range(5)]
        for topic in topics:
            for _ in range(3):
                await sim.topics.rotate_data_key(topic.name)
            while len(getattr(sim.metadata.topic(topic.name), "data_keys", ())) < 4:
                await sim.clock.sleep(10)
        service = FakeService()
        await started_with(sim, service)
        assert len(service.calls) == 20
        assert sorted(service.calls[:5]) == sorted(f"acklog-data-key {topic.id} 4".encode() for topic in topics)

    with_keys(main)


def test_callers_are_always_told_the_same_and_the_log_has_the_reason_once() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await encrypted_topic(sim)
        await sim.send(topic, b"1")
        with capture_logs() as lines:
            await started_with(sim, FakeService(fail=topic.id))
            for _ in range(10):
                detail = (await refusal(sim, topic)).detail
                assert PROBLEM in detail
                assert "kms" not in detail
                await sim.clock.sleep(700)
        told = [line for line in lines if line["event"] == "data_key_missing"]
        assert [line["reason"] for line in told] == [SECRET_REASON]

    with_keys(main)


def test_what_fails_is_asked_less_and_less() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await encrypted_topic(sim)
        await sim.send(topic, b"1")
        service = FakeService(fail=topic.id)
        await started_with(sim, service)
        await sim.clock.sleep(100_000)
        assert 8 <= len(service.calls) <= 16

    with_keys(main)
