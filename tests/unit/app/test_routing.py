import asyncio
from collections import Counter
from itertools import pairwise

import pytest

from acklog.wire.problems import ProblemCode
from app.routing import PartitionLeaders
from app.sticky_partitions import StickyPartitions
from cluster.errors import AcklogError
from cluster.model import Topic
from storage.rpc.node_api import NodeApi
from tests.support.memory_gateway import MemoryWorld


def topic(partitions: int = 4, number: int = 1) -> Topic:
    return Topic(f"{number:013d}", f"t{number}", partitions, 1, 0)


def sticky(*, leaderless: frozenset[int] = frozenset(), topics_max: int = 10) -> StickyPartitions:
    return StickyPartitions(
        lambda _topic, partition: partition not in leaderless, run_bytes=1000, topics_max=topics_max
    )


def test_a_run_stays_on_one_partition_until_it_is_long_or_ended() -> None:
    partitions = sticky()
    assert [partitions.choose(topic(), 100) for _ in range(12)] == [0] * 10 + [1] * 2
    partitions.end_run(topic().id)
    assert partitions.choose(topic(), 100) == 2


def test_every_partition_gets_the_same_share_whatever_the_sizes() -> None:
    partitions = sticky()
    loads: Counter[int] = Counter()
    for number in range(4000):
        size = 1 + (number * 7919) % 900 + (3000 if number % 5 == 0 else 0)
        loads[partitions.choose(topic(), size)] += size
        if number % 3 == 0:
            partitions.end_run(topic().id)
    assert max(loads.values()) - min(loads.values()) < 10_000


def test_empty_messages_are_spread_as_well() -> None:
    partitions = sticky()
    chosen = []
    for _ in range(8):
        chosen.append(partitions.choose(topic(), 0))
        partitions.end_run(topic().id)
    assert Counter(chosen) == dict.fromkeys(range(4), 2)


def test_partitions_without_a_leader_are_passed_over_while_others_have_one() -> None:
    partitions = sticky(leaderless=frozenset({0, 2}))
    assert {partitions.choose(topic(), 2000) for _ in range(8)} == {1, 3}
    none_has_one = sticky(leaderless=frozenset(range(4)))
    assert {none_has_one.choose(topic(), 2000) for _ in range(8)} == set(range(4))


def test_new_partitions_are_used() -> None:
    partitions = sticky()
    partitions.choose(topic(1), 5)
    assert {partitions.choose(topic(3), 2000) for _ in range(3)} == {0, 1, 2}


def test_no_more_topics_are_remembered_than_allowed() -> None:
    partitions = sticky(topics_max=3)
    for number in range(10):
        partitions.choose(topic(4, number), 1)
    assert len(partitions) == 3
    partitions.end_run("unknown")


@pytest.fixture
def leaders(world: MemoryWorld) -> PartitionLeaders:
    gateway = world.gateway
    return PartitionLeaders(world.gateway)


async def test_unavailable_is_tried_again_with_pauses_that_grow_to_a_limit(
    leaders: PartitionLeaders, world: MemoryWorld
) -> None:
    orders = await world.topic()
    times: list[int] = []

    async def call(_node: NodeApi, _remaining_ms: int) -> None:
        times.append(world.clock.monotonic_ms())
        raise AcklogError(ProblemCode.UNAVAILABLE, "not me")

    calling = asyncio.create_task(leaders.call(orders.id, 0, call, deadline_ms=leaders.deadline_in(2000)))
    await world.clock.advance_ms(2500)
    with pytest.raises(AcklogError) as caught:
        await calling
    assert caught.value.code is ProblemCode.UNAVAILABLE
    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert pauses == sorted(pauses)
    assert max(pauses) <= 250
    assert 10 < len(times) < 30
    assert times[-1] < 2000


async def test_other_failures_are_not_tried_again(leaders: PartitionLeaders, world: MemoryWorld) -> None:
    orders = await world.topic()
    calls = 0

    async def call(_node: NodeApi, _remaining_ms: int) -> None:
        nonlocal calls
        calls += 1
        raise AcklogError(ProblemCode.OUTCOME_UNKNOWN, "who knows")

    with pytest.raises(AcklogError):
        await leaders.call(orders.id, 0, call, deadline_ms=leaders.deadline_in(2000))
    assert calls == 1


async def test_a_call_that_takes_too_long_is_given_up(leaders: PartitionLeaders, world: MemoryWorld) -> None:
    orders = await world.topic()

    async def call(_node: NodeApi, _remaining_ms: int) -> None:
        await asyncio.Event().wait()

    with pytest.raises(AcklogError) as caught:
        await leaders.call(orders.id, 0, call, deadline_ms=leaders.deadline_in(5))
    assert caught.value.code is ProblemCode.TIMED_OUT


async def test_a_deadline_that_has_passed_asks_nobody(leaders: PartitionLeaders, world: MemoryWorld) -> None:
    orders = await world.topic()
    with pytest.raises(AcklogError) as caught:
        await leaders.call(orders.id, 0, lambda node, _ms: node.produce(None), deadline_ms=-1)  # type: ignore[arg-type]
    assert caught.value.code is ProblemCode.TIMED_OUT
