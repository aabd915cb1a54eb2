"""Consumers of groups that keep an order, in virtual time: several workers, failures, partitions that come and go."""

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any

import pytest

from acklog import AsyncClient, Message, TopicPartition
from acklog.consumer.async_consumer import AsyncConsumer, AsyncHandler
from acklog.consumer.settlements import SettlementProblem
from acklog.consumer.source import Mode
from acklog.errors import InvalidArgument, MemberFenced
from tests.sim.loop import SimLoop, simulate
from tests.unit.sdk.fake_group import TOPIC, FakeGroup, Stored

Program = Callable[[AsyncConsumer], Awaitable[None]]
SEEDS = range(20)


def keyed(count: int, keys: int, seed: int) -> list[Stored]:
    chooser = random.Random(seed)
    return [Stored(0, offset, f"k{chooser.randrange(keys)}") for offset in range(count)]


def in_partitions(partitions: int, count: int) -> list[Stored]:
    return [Stored(partition, offset, None) for offset in range(count) for partition in range(partitions)]


def places(*partitions: int) -> list[TopicPartition]:
    return [TopicPartition(TOPIC, each) for each in partitions]


def run(group: FakeGroup, program: Program, *, seed: int = 0, **options: Any) -> None:
    async def main(_loop: SimLoop) -> None:
        async with AsyncClient(transport=group) as client:
            await program(client.consumer(TOPIC, group="mail", mode=group.mode, **options))

    simulate(seed, main)


class Work:
    """A handler that fails at random, and judges what it is given: in each lane one message at a time, none before the
    one before it is done."""

    def __init__(self, group: FakeGroup, seed: int, *, failing: float) -> None:
        self.done: dict[object, list[int]] = defaultdict(list)
        self.at_once = 0
        self._group = group
        self._random = random.Random(seed)
        self._failing = failing
        self._under_way: Counter[object] = Counter()

    async def __call__(self, message: Message) -> None:
        lane = self._group.lane(message)
        assert not self._under_way[lane], "two of one lane at once"
        expected = [each.offset for each in self._group.stored if self._group.lane(each) == lane]
        assert message.offset == expected[len(self.done[lane])], "one behind another that is not done"
        self._under_way[lane] += 1
        self.at_once = max(self.at_once, self._under_way.total())
        try:
            await asyncio.sleep(self._random.random() * 0.05)
            if self._random.random() < self._failing:
                raise ArithmeticError
            self.done[lane].append(message.offset)
        finally:
            self._under_way[lane] -= 1


async def serve_all(consumer: AsyncConsumer, group: FakeGroup, work: AsyncHandler, concurrency: int) -> None:
    serving = asyncio.get_running_loop().create_task(consumer.serve(work, concurrency=concurrency))
    while not all(each.is_done for each in group.stored):
        assert not serving.done()
        await asyncio.sleep(0.1)
    consumer.stop()
    await serving


@pytest.mark.parametrize("seed", SEEDS)
def test_workers_side_by_side_keep_the_order_of_each_key(seed: int) -> None:
    group = FakeGroup(keyed(120, 8, seed), "keyOrdered")
    work = Work(group, seed, failing=0.1)
    run(group, lambda consumer: serve_all(consumer, group, work, 4), seed=seed)
    assert work.at_once == 4


@pytest.mark.parametrize("seed", SEEDS)
def test_workers_side_by_side_keep_the_order_of_each_partition(seed: int) -> None:
    group = FakeGroup(in_partitions(4, 30), "exclusive")
    group.assign(w=[0, 1, 2, 3])
    work = Work(group, seed, failing=0.1)
    run(group, lambda consumer: serve_all(consumer, group, work, 4), seed=seed, consumer="w")
    assert work.at_once == 4
    assert group.left == ["w"]


def test_messages_without_a_key_are_in_no_order() -> None:
    group = FakeGroup([Stored(0, offset, None) for offset in range(12)], "keyOrdered")
    at_once = Counter[str]()

    async def handle(_message: Message) -> None:
        at_once["now"] += 1
        at_once["most"] = max(at_once["most"], at_once["now"])
        await asyncio.sleep(1)
        at_once["now"] -= 1

    async def program(consumer: AsyncConsumer) -> None:
        await serve_all(consumer, group, handle, 3)

    run(group, program)
    assert at_once["most"] == 3


@pytest.mark.parametrize("mode", ["keyOrdered", "exclusive"])
def test_one_who_iterates_may_hold_several_of_a_lane(mode: Mode) -> None:
    """A batch is of one worker: it is settled as one, and where it fails it comes back whole, in order."""
    group = FakeGroup([Stored(0, offset, "k") for offset in range(10)], mode)
    group.assign(w=[0])
    seen: list[list[int]] = []
    problems: list[SettlementProblem] = []

    async def program(consumer: AsyncConsumer) -> None:
        async with consumer, aclosing(consumer.batches(5, linger_ms=50)) as batches:
            async for batch in batches:
                with suppress(ArithmeticError):
                    async with batch:
                        seen.append([message.offset for message in batch])
                        if len(seen) == 1:
                            raise ArithmeticError
                if len(seen) > 1 and batch[-1].offset == 9:
                    break

    run(group, program, consumer="w", on_problem=problems.append)
    assert seen[0] == [0, 1, 2, 3, 4]
    assert [offset for each in seen[1:] for offset in each] == list(range(10))
    assert group.nacked == [(0, 0)]
    assert problems == []


def test_partitions_that_come_and_go_are_told_and_kept_apart() -> None:
    group = FakeGroup(in_partitions(3, 50), "exclusive")
    group.assign(w=[0, 1])
    told: list[tuple[str, list[TopicPartition]]] = []
    seen: list[int] = []

    async def program(consumer: AsyncConsumer) -> None:
        async with consumer:
            async for message in consumer:
                async with message:
                    seen.append(message.partition)
                if len(seen) == 10:
                    assert consumer.assigned == frozenset(places(0, 1))
                    group.assign(w=[1, 2])
                    while consumer.assigned != frozenset(places(1, 2)):
                        await asyncio.sleep(0.01)
                    moved_at = len(seen)
                if len(seen) == 80:
                    break
            assert 0 not in seen[moved_at:]
            assert {1, 2} <= set(seen[moved_at:])

    run(
        group,
        program,
        consumer="w",
        on_assigned=lambda found: told.append(("+", list(found))),
        on_revoked=lambda found: told.append(("-", list(found))),
    )
    assert told == [("+", places(0, 1)), ("-", places(0)), ("+", places(2)), ("-", places(1, 2))]
    # What had been received of the partition that went was given back at once: one message, those behind it with it.
    left = [each for each in group.stored if each.partition == 0 and not each.is_done]
    assert [each.leased_until_s for each in left] == [-1.0] * len(left)


def test_a_member_that_was_given_up_joins_again() -> None:
    group = FakeGroup(in_partitions(1, 20), "exclusive")
    group.assign(w=[0])
    revoked: list[object] = []

    async def program(consumer: AsyncConsumer) -> None:
        async with consumer:
            async for message in consumer:
                async with message:
                    pass
                if message.offset == 5:
                    del group.members["w"]
                    while consumer.assigned:
                        await asyncio.sleep(0.01)
                    group.assign(w=[0])
                if message.offset == 19:
                    break

    run(group, program, consumer="w", on_revoked=revoked.append)
    assert len(group.calls("PUT", "/groups/mail/members/w")) == 2
    assert revoked == [places(0), places(0)]


def test_a_name_that_another_process_has_taken_ends_the_consumer() -> None:
    group = FakeGroup(in_partitions(1, 20), "exclusive")
    group.assign(w=[0])

    async def program(consumer: AsyncConsumer) -> None:
        def be_replaced(_message: Message) -> None:
            group.refusals["w"] = "MEMBER_FENCED"
            group.assign(w=[0])

        with pytest.raises(MemberFenced):
            await consumer.serve(be_replaced)

    run(group, program, consumer="w")


def test_who_is_cut_off_for_a_session_hands_out_nothing_more() -> None:
    group = FakeGroup(in_partitions(1, 40), "exclusive", session_timeout_ms=10_000)
    group.assign(w=[0])

    async def program(consumer: AsyncConsumer) -> None:
        async with consumer:
            async for message in consumer:
                async with message:
                    pass
                break
            group.is_down = True
            until_s = asyncio.get_running_loop().time() + 9
            while asyncio.get_running_loop().time() < until_s:
                assert consumer.assigned
                await asyncio.sleep(1)
            while consumer.assigned:
                await asyncio.sleep(1)
            group.is_down = False
            while not consumer.assigned:
                await asyncio.sleep(0.1)

    run(group, program, consumer="w")


def test_a_paused_partition_waits_and_goes_on_where_it_was() -> None:
    group = FakeGroup(in_partitions(2, 30), "exclusive")
    group.assign(w=[0, 1])
    seen: list[tuple[int, int]] = []

    async def program(consumer: AsyncConsumer) -> None:
        async with consumer:
            async for message in consumer:
                async with message:
                    seen.append((message.partition, message.offset))
                if len(seen) == 10:
                    consumer.pause(*places(0))
                    assert consumer.paused == frozenset(places(0))
                    paused_at = consumer.position(places(0)[0])
                if message.partition == 1 and message.offset == 29:
                    assert (0, paused_at) not in seen
                    consumer.resume(*places(0))
                if len(seen) == 60:
                    break

    run(group, program, consumer="w")
    for partition in (0, 1):
        assert [offset for each, offset in seen if each == partition] == list(range(30))


def test_a_seek_makes_what_was_received_void() -> None:
    group = FakeGroup(in_partitions(1, 30), "exclusive")
    group.assign(w=[0])
    seen: list[int] = []

    async def program(consumer: AsyncConsumer) -> None:
        async with consumer:
            async for message in consumer:
                async with message:
                    seen.append(message.offset)
                if message.offset == 2:
                    await consumer.seek(places(0)[0], 20)
                    assert consumer.position(places(0)[0]) is None
                if message.offset == 29:
                    break

    run(group, program, consumer="w")
    assert seen == [0, 1, 2, *range(20, 30)]


def test_wrong_use_is_refused() -> None:
    async def main(_loop: SimLoop) -> None:
        async with AsyncClient(transport=FakeGroup([], "shared")) as client:
            with pytest.raises(InvalidArgument, match="shared, keyOrdered or exclusive"):
                client.consumer("t", mode="ordered")  # type: ignore[arg-type]
            with pytest.raises(InvalidArgument, match="rack is for members"):
                client.consumer("t", mode="shared", rack="a")
            with pytest.raises(InvalidArgument, match="give consumer="):
                client.consumer("t", mode="exclusive", static=True)
            with pytest.raises(InvalidArgument, match="auto_ack"):
                client.consumer("t", mode="keyOrdered", auto_ack=True)
            with pytest.raises(InvalidArgument, match="give the group a filter"):
                client.consumer("t", mode="keyOrdered", message_filter='tag = "a"')
            with pytest.raises(InvalidArgument, match="exclusive"):
                client.consumer("t").pause(TopicPartition("t", 0))
            consumer = client.consumer("t", mode="exclusive")
            with pytest.raises(InvalidArgument, match="not assigned"):
                consumer.pause(TopicPartition("t", 0))

    simulate(0, main)
