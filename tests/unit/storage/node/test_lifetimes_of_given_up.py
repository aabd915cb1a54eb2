"""Messages whose attempts are used up, and whose time to live ends: before that, after it, or while a person is waited
for. What has expired holds up nobody, in any mode."""

from typing import Any

import pytest

from acklog.wire.batch import encode_batch
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.errors import ServerError
from cluster.model.values import Exhausted, Expired, Group, GroupMode, GroupSettings, Topic, TopicConfig
from storage.rpc import messages
from storage.rpc.membership_messages import Ownership
from tests.support.simulated_node import SimulatedNode, with_node

MODES = list(GroupMode)
IN_ORDER = [GroupMode.KEY_ORDERED, GroupMode.EXCLUSIVE]
BLOCKS = {"max_attempts": 1, "on_exhausted": Exhausted.BLOCK}
TTL_MS = 1_000


async def send(sim: SimulatedNode, topic: Topic, *, ttl_ms: int | None = TTL_MS) -> None:
    """The first one of a key lives for some time, the one behind it for ever."""
    records = [Record(b"A", key="k", ttl_ms=ttl_ms), Record(b"B", key="k", ttl_ms=10**9)]
    await sim.node.produce(messages.ProduceRequest(topic.id, 0, encode_batch(records)))


async def receive(sim: SimulatedNode, topic: Topic, group: Group, **options: Any) -> list[messages.DeliveredMessage]:
    claims = [Ownership(topic.id, 0, 1)] if group.mode is GroupMode.EXCLUSIVE else []
    return (await sim.receive(topic, group, max_messages=1, claims=claims, **options)).messages


async def group_of(sim: SimulatedNode, mode: GroupMode, **settings: Any) -> Group:
    return await sim.groups.create("workers", mode=mode, settings=GroupSettings(**settings))


async def position(sim: SimulatedNode, topic: Topic) -> messages.GroupPosition:
    [found] = (await sim.positions(topic)).groups
    return found


async def causes_of_letters(sim: SimulatedNode) -> list[str | None]:
    letters = sim.metadata.topic("orders.workers.dlq")
    if letters is None:
        return []
    return [(record.headers or {}).get("acklog-dead-letter-cause") for record in await sim.records_in_log(letters)]


async def fail_first(sim: SimulatedNode, topic: Topic, group: Group, *, after_ms: int) -> None:
    """Its only attempt ends, so long after it was given."""
    [first] = await receive(sim, topic, group)
    assert first.record.body == b"A"
    await sim.clock.sleep(after_ms)
    assert await sim.settle("nack", topic, group, [first], delay_ms=0) == [""]
    await sim.clock.sleep(100)


async def assert_goes_on(sim: SimulatedNode, topic: Topic, group: Group) -> None:
    [following] = await receive(sim, topic, group)
    assert following.record.body == b"B"
    await sim.settle("ack", topic, group, [following])
    assert (await position(sim, topic)).progress == 2


@pytest.mark.parametrize("mode", MODES)
def test_what_comes_back_for_the_last_time_after_its_end_has_expired(mode: GroupMode) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await group_of(sim, mode, max_attempts=1)
        await send(sim, topic)
        await fail_first(sim, topic, group, after_ms=TTL_MS + 1)
        found = await position(sim, topic)
        assert (found.progress, found.expired, found.dead_lettered) == (1, 1, 0)
        assert await causes_of_letters(sim) == []
        await assert_goes_on(sim, topic, group)

    with_node(main)


@pytest.mark.parametrize("mode", MODES)
def test_its_letter_says_that_it_has_expired_where_the_group_wants_one(mode: GroupMode) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await group_of(sim, mode, max_attempts=1, on_expired=Expired.DEAD_LETTER)
        await send(sim, topic)
        await fail_first(sim, topic, group, after_ms=TTL_MS + 1)
        await sim.clock.sleep(2_000)
        found = await position(sim, topic)
        assert (found.progress, found.expired, found.dead_lettered) == (1, 1, 1)
        assert await causes_of_letters(sim) == ["expired"]
        await assert_goes_on(sim, topic, group)

    with_node(main)


@pytest.mark.parametrize("mode", MODES)
def test_what_used_up_its_attempts_before_its_end_is_a_letter_for_that(mode: GroupMode) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await group_of(sim, mode, max_attempts=1)
        await send(sim, topic)
        await fail_first(sim, topic, group, after_ms=0)
        await sim.clock.sleep(2_000)
        found = await position(sim, topic)
        assert (found.progress, found.expired, found.dead_lettered) == (1, 0, 1)
        assert await causes_of_letters(sim) == [None]

    with_node(main)


@pytest.mark.parametrize("mode", IN_ORDER)
@pytest.mark.parametrize("after_ms", [0, TTL_MS + 1])
@pytest.mark.parametrize("on_expired", list(Expired))
def test_what_is_blocked_waits_for_a_person_until_its_end(mode: GroupMode, after_ms: int, on_expired: Expired) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await group_of(sim, mode, on_expired=on_expired, **BLOCKS)
        await send(sim, topic)
        await fail_first(sim, topic, group, after_ms=after_ms)
        assert (await position(sim, topic)).blocked == (0 if after_ms else 1)
        if not after_ms:
            assert await receive(sim, topic, group) == []
        got = await receive(sim, topic, group, wait_ms=3_000)  # whoever waits hears of it
        assert [message.record.body for message in got] == [b"B"]
        await sim.settle("ack", topic, group, got)
        await sim.clock.sleep(1_000)
        found, is_letter = await position(sim, topic), on_expired is Expired.DEAD_LETTER
        assert (found.progress, found.blocked, found.expired, found.dead_lettered) == (2, 0, 1, int(is_letter))
        assert await causes_of_letters(sim) == (["expired"] if is_letter else [])

    with_node(main)


@pytest.mark.parametrize("mode", IN_ORDER)
def test_a_new_leader_knows_when_what_is_blocked_ends(mode: GroupMode) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await group_of(sim, mode, **BLOCKS)
        await send(sim, topic)
        await fail_first(sim, topic, group, after_ms=0)
        await sim.lose_power()
        await sim.start()
        assert (await position(sim, topic)).blocked == 1
        await sim.clock.sleep(TTL_MS)
        assert (await position(sim, topic)).blocked == 0
        await assert_goes_on(sim, topic, group)

    with_node(main)


def test_a_shorter_time_to_live_of_the_topic_holds_for_what_is_blocked() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await group_of(sim, GroupMode.KEY_ORDERED, **BLOCKS)
        await send(sim, topic, ttl_ms=None)
        await fail_first(sim, topic, group, after_ms=0)
        await sim.clock.sleep(60_000)
        assert (await position(sim, topic)).blocked == 1
        await sim.topics.update("orders", config=TopicConfig(ttl_ms=90_000))
        await sim.clock.sleep(20_000)
        assert (await position(sim, topic)).blocked == 1
        await sim.clock.sleep(20_000)
        assert (await position(sim, topic)).blocked == 0
        await assert_goes_on(sim, topic, group)

    with_node(main)


def test_what_was_released_begins_anew_and_expires_at_its_turn() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await group_of(sim, GroupMode.KEY_ORDERED, **BLOCKS)
        await send(sim, topic)
        await fail_first(sim, topic, group, after_ms=0)
        [state] = sim.node.partitions_led()[0].delivery.state.groups()
        await sim.node.partitions_led()[0].delivery.commit(
            state.release_blocked(0, wall_now_ms=sim.clock.now_ms()).record  # type: ignore[arg-type]
        )
        [first] = await receive(sim, topic, group)
        assert (first.record.body, first.attempt) == (b"A", 1)
        await sim.clock.sleep(TTL_MS + 1)
        assert await sim.settle("ack", topic, group, [first]) == [""], "who has it keeps it"

    with_node(main)


def test_a_look_that_fails_is_tried_again_after_a_pause_however_much_is_settled_meanwhile() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await group_of(sim, GroupMode.KEY_ORDERED, **BLOCKS)
        await send(sim, topic)
        [replica] = sim.node.replicas()
        assert replica.partition is not None
        tries, record_at = 0, replica.partition.reader.record_at

        async def fails(offset: int, *, readable_end: int) -> Any:
            nonlocal tries
            tries += 1
            raise ServerError(ProblemCode.UNAVAILABLE, "not now")

        replica.partition.reader.record_at = fails  # type: ignore[method-assign]
        await fail_first(sim, topic, group, after_ms=0)
        for number in range(50):
            await sim.send(topic, b"%d" % number)
            await sim.settle("ack", topic, group, await receive(sim, topic, group))
            await sim.clock.sleep(100)
        assert 4 <= tries <= 7
        replica.partition.reader.record_at = record_at  # type: ignore[method-assign]
        await sim.clock.sleep(TTL_MS)
        assert (await position(sim, topic)).expired == 1

    with_node(main)
