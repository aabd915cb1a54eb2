"""A mirror in a world where every step may fail, whose processes are killed and replaced: nothing twice, nothing lost,
each partition in its order."""

import asyncio
import random

import pytest

from acklog.messages import OutgoingMessage
from acklog.mirror.mirror import state_topic_of
from acklog.mirror.mirror_path import path_of
from acklog.mirror.mirror_state import read_state
from acklog.positions import Position
from tests.sim.loop import SimLoop, simulate
from tests.support.mirror_life import MirrorLife
from tests.support.mirror_world import FakeCluster, FakeEnd, group_of

TOPICS = ("orders", "refunds")
PARTITIONS = 2
MESSAGES = 60
LIVES = 6
SEEDS = 40


async def produce(source: FakeCluster, chance: random.Random) -> None:
    for number in range(MESSAGES):
        topic = chance.choice(TOPICS)
        partition = chance.randrange(len(source.found[topic].partitions))
        source.append(topic, OutgoingMessage(number, key=f"k{number % 5}", partition=partition))
        if number == MESSAGES // 2:
            source.grow("orders", PARTITIONS + 1)
        await asyncio.sleep(chance.random() * 0.3)


async def history(seed: int) -> tuple[FakeCluster, FakeCluster]:
    chance = random.Random(seed)
    source, target = FakeCluster(chance, faults=0.05), FakeCluster(chance, faults=0.05)
    for topic in TOPICS:
        source.make(topic, PARTITIONS)
    loop = asyncio.get_running_loop()
    producing = loop.create_task(produce(source, chance))
    lives: list[tuple[MirrorLife, asyncio.Task[str]]] = []
    for number in range(LIVES):
        life = MirrorLife(source, target, chance, number)
        lives.append((life, loop.create_task(life.run())))
        await asyncio.sleep(chance.random() * 4)
        if chance.random() < 0.5:
            life.kill()
            if chance.random() < 0.5:
                lives[-1][1].cancel()
    await producing
    source.faults = target.faults = 0.0
    # One of before may still be about to begin, and then it is the later one.
    outcomes = []
    while "ended" not in outcomes:
        number = LIVES + len(outcomes)
        assert number < 2 * LIVES, outcomes
        outcomes.append(await MirrorLife(source, target, chance, number, ends_when_caught_up=True).run())
    for life, task in lives:
        life.kill()
        task.cancel()
    await asyncio.gather(*(task for _, task in lives), return_exceptions=True)
    return source, target


def copied(source: FakeCluster, target: FakeCluster, topic: str, partition: int) -> list[int]:
    """The source's offsets, in the order of the target's log."""
    found = []
    for record in target.found[f"eu.{topic}"].partitions[partition].records:
        [place] = path_of(record.message.headers)
        assert (place.topic_id, place.partition) == (source.found[topic].topic.id, partition)
        assert record.message.body == source.found[topic].partitions[partition].at(place.offset).message.body
        found.append(place.offset)
    return found


@pytest.mark.parametrize("seed", range(SEEDS))
def test_each_message_comes_once_and_in_order(seed: int) -> None:
    async def run(_loop: SimLoop) -> None:
        source, target = await history(seed)
        for topic in TOPICS:
            assert len(target.found[f"eu.{topic}"].partitions) == len(source.found[topic].partitions)
            for number, partition in enumerate(source.found[topic].partitions):
                assert copied(source, target, topic, number) == list(range(partition.committed)), (topic, number)
        kept = await read_state(FakeEnd(target), state_topic_of("test"))
        for checkpoint in kept.checkpoints.values():
            there = source.found[checkpoint.source_topic].partitions[checkpoint.partition]
            assert checkpoint.next_offset == there.committed

    simulate(seed, run)


def test_of_two_mirrors_the_later_one_goes_on() -> None:
    async def run(_loop: SimLoop) -> None:
        chance = random.Random(1)
        source, target = FakeCluster(chance), FakeCluster(chance)
        source.make("orders", 1)
        # No checkpoint comes in between: the first one hears of it by a message that it may not send.
        lives = [MirrorLife(source, target, chance, number, checkpoint_interval_ms=60_000) for number in range(2)]
        first = asyncio.get_running_loop().create_task(lives[0].run())
        await asyncio.sleep(1)
        second = asyncio.get_running_loop().create_task(lives[1].run())
        await asyncio.sleep(1)
        source.append("orders", OutgoingMessage(1, partition=0))
        assert await first == "fenced"
        assert list(target.found["eu.orders"].epochs.values()) == [2], "the first one has not taken the topic back"
        await asyncio.sleep(1)
        assert copied(source, target, "orders", 0) == [0]
        lives[1].mirror.stop()
        assert await second == "ended"

    simulate(1, run)


def test_both_sides_may_be_away_for_long() -> None:
    async def run(_loop: SimLoop) -> None:
        chance = random.Random(2)
        source, target = FakeCluster(chance), FakeCluster(chance)
        source.make("orders", 1)
        life = MirrorLife(source, target, chance, 0)
        running = asyncio.get_running_loop().create_task(life.run())
        for number in range(30):
            source.append("orders", OutgoingMessage(number, partition=0))
            life.ends[number % 2].is_cut = number % 7 < 3
            await asyncio.sleep(5)
        for end in life.ends:
            end.is_cut = False
        await asyncio.sleep(5)
        assert copied(source, target, "orders", 0) == list(range(30))
        life.mirror.stop()
        assert await running == "ended"

    simulate(2, run)


def test_positions_follow_and_are_left_alone_once_a_consumer_has_begun() -> None:
    async def run(_loop: SimLoop) -> None:
        chance = random.Random(3)
        source, target = FakeCluster(chance), FakeCluster(chance)
        source.make("orders", 1)
        source.found_groups["mail"] = group_of("mail")
        for number in range(20):
            source.append("orders", OutgoingMessage(number, partition=0))
        reader = FakeEnd(source)
        await reader.commit("mail", [at_offset("orders", 7)])
        life = MirrorLife(source, target, chance, 0)
        running = asyncio.get_running_loop().create_task(life.run())
        await asyncio.sleep(3)
        place = target.places[("mail", "eu.orders", 0)]
        assert place.progress == 7
        await reader.commit("mail", [at_offset("orders", 12)])
        await asyncio.sleep(1)
        assert target.places[("mail", "eu.orders", 0)].progress == 12
        await FakeEnd(target).commit("mail", [at_offset("eu.orders", 15)])
        await reader.commit("mail", [at_offset("orders", 20)])
        await asyncio.sleep(1)
        assert target.places[("mail", "eu.orders", 0)].progress == 15
        assert life.mirror.figures.groups["mail"].has_begun == 1
        life.mirror.stop()
        await running

    simulate(3, run)


def test_an_exclusive_group_is_left_to_its_members() -> None:
    async def run(_loop: SimLoop) -> None:
        chance = random.Random(4)
        source, target = FakeCluster(chance), FakeCluster(chance)
        source.make("orders", 1)
        source.found_groups["ledger"] = group_of("ledger", "exclusive")
        source.append("orders", OutgoingMessage(1, partition=0))
        await FakeEnd(source).commit("ledger", [at_offset("orders", 1)])
        assert await MirrorLife(source, target, chance, 0, ends_when_caught_up=True).run() == "ended"
        assert (target.found_groups, target.places) == ({}, {})

    simulate(4, run)


def at_offset(topic: str, offset: int) -> Position:
    return Position(topic, 0, offset)
