"""What a mirror does about what is missing: it stops that topic, or says so and goes on."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence

import pytest

from acklog.catalog import Topic
from acklog.errors import Forbidden, InvalidArgument
from acklog.messages import OutgoingMessage
from acklog.mirror.mirror_gap import GapKind
from acklog.mirror.mirror_path import path_of
from acklog.wire.limits import HEADERS_MAX
from tests.sim.loop import SimLoop, simulate
from tests.support.mirror_life import MirrorLife
from tests.support.mirror_world import FakeCluster, FakeEnd


class GapWorld:
    """Two clusters, and mirrors of the topic `orders` one after the other."""

    def __init__(self) -> None:
        self.chance = random.Random(5)
        self.source, self.target = FakeCluster(self.chance), FakeCluster(self.chance)
        self.source.make("orders", 1)
        self._lives = 0

    def send(self, *bodies: object, **fields: object) -> None:
        for body in bodies:
            self.source.append("orders", OutgoingMessage(body, partition=0, **fields))  # type: ignore[arg-type]

    async def copy(self, **changes: object) -> MirrorLife:
        """A mirror from its start until all is copied, or it has stopped."""
        self._lives += 1
        life = MirrorLife(self.source, self.target, self.chance, self._lives, ends_when_caught_up=True, **changes)
        assert await life.run() == "ended"
        return life

    @property
    def copied(self) -> list[object]:
        return [each.message.body for each in self.target.found["eu.orders"].partitions[0].records]


def in_world(test: Callable[[GapWorld], Awaitable[None]]) -> None:
    async def run(_loop: SimLoop) -> None:
        await test(GapWorld())

    simulate(5, run)


def test_what_retention_removed_before_it_was_copied_stops_the_topic() -> None:
    async def test(world: GapWorld) -> None:
        world.send(*range(5))
        await world.copy()
        world.send(*range(5, 10))
        world.source.found["orders"].partitions[0].remove_before(8)
        life = await world.copy()
        assert [(each.kind, each.from_offset, each.below_offset) for each in life.gaps] == [(GapKind.REMOVED, 5, 8)]
        assert "removed offsets 5 to 7" in life.mirror.figures.stopped["orders"]
        assert world.copied == list(range(5))
        going_on = await world.copy(on_gap="skip")
        assert world.copied == [*range(5), 8, 9]
        assert going_on.mirror.figures.topics["orders"].of(0).skipped == 3
        assert going_on.mirror.figures.gap_count == 1

    in_world(test)


@pytest.mark.parametrize("cluster", ["source", "target"])
def test_a_topic_that_was_made_anew_is_not_taken_for_the_one_before(cluster: str) -> None:
    async def test(world: GapWorld) -> None:
        world.send(0, 1, 2)
        await world.copy()
        if cluster == "source":
            world.source.make("orders", 1)
            world.send("new")
        else:
            world.target.make("eu.orders", 1)
        life = await world.copy()
        kind = GapKind.SOURCE_REMADE if cluster == "source" else GapKind.TARGET_REMADE
        assert [each.kind for each in life.gaps] == [kind]
        assert "orders" in life.mirror.figures.stopped
        before = [0, 1, 2] if cluster == "source" else []
        assert world.copied == before
        await world.copy(on_gap="skip")
        assert world.copied == ([*before, "new"] if cluster == "source" else [0, 1, 2])

    in_world(test)


def test_a_topic_that_is_made_anew_while_it_is_copied_is_noticed() -> None:
    async def test(world: GapWorld) -> None:
        world.send(0, 1, 2)
        life = MirrorLife(world.source, world.target, world.chance, 1)
        running = asyncio.get_running_loop().create_task(life.run())
        await asyncio.sleep(2)
        world.source.make("orders", 1)
        world.send(*"abcdef")
        await asyncio.sleep(2)
        assert life.gaps[0].kind is GapKind.SOURCE_REMADE
        assert world.copied == [0, 1, 2]
        life.mirror.stop()
        await running

    in_world(test)


def test_a_topic_that_is_made_anew_between_two_pages_is_noticed_by_its_messages() -> None:
    async def test(world: GapWorld) -> None:
        world.send(*range(200))
        life = MirrorLife(world.source, world.target, world.chance, 1, copies_max=1, look_interval_ms=60_000)
        running = asyncio.get_running_loop().create_task(life.run())
        await asyncio.sleep(0.5)
        world.source.make("orders", 1)
        world.send(*"x" * 200)
        await asyncio.sleep(10)
        assert [each.kind for each in life.gaps] == [GapKind.SOURCE_REMADE]
        assert world.copied == list(range(len(world.copied)))
        assert world.copied
        life.mirror.stop()
        await running

    in_world(test)


def test_a_topic_that_is_made_anew_with_fewer_partitions_is_caught_up_with() -> None:
    async def test(world: GapWorld) -> None:
        world.source.make("orders", 3)
        for partition in range(3):
            world.source.append("orders", OutgoingMessage(partition, partition=partition))
        life = MirrorLife(world.source, world.target, world.chance, 1, on_gap="skip")
        running = asyncio.get_running_loop().create_task(life.run())
        await asyncio.sleep(2)
        world.source.append("orders", OutgoingMessage("late", partition=2))
        world.source.make("orders", 1)
        world.send("new")
        await asyncio.sleep(3)
        topic = life.mirror.figures.topics["orders"]
        assert (list(topic.partitions), topic.is_caught_up) == ([0], True)
        assert world.copied == [0, "new"]
        life.mirror.stop()
        await running

    in_world(test)


def test_a_topic_that_is_deleted_ends_and_the_others_go_on() -> None:
    async def test(world: GapWorld) -> None:
        world.source.make("refunds", 1)
        world.send(0)
        life = MirrorLife(world.source, world.target, world.chance, 1)
        running = asyncio.get_running_loop().create_task(life.run())
        await asyncio.sleep(2)
        del world.source.found["orders"]
        await asyncio.sleep(2)
        world.source.append("refunds", OutgoingMessage(1, partition=0))
        await asyncio.sleep(2)
        assert life.gaps[0].kind is GapKind.SOURCE_GONE
        assert life.mirror.figures.stopped == {"orders": "orders is not there any more in the source"}
        assert len(world.target.found["eu.refunds"].partitions[0].records) == 1
        life.mirror.stop()
        await running

    in_world(test)


def test_a_log_that_was_cut_is_told_by_its_epoch() -> None:
    async def test(world: GapWorld) -> None:
        world.send(0, 1, 2, 3)
        await world.copy()
        world.source.found["orders"].partitions[0].cut(2)
        world.send("x", "y", "z")
        life = await world.copy()
        assert [(each.kind, each.from_offset) for each in life.gaps] == [(GapKind.SOURCE_CUT, 2)]
        assert world.copied == [0, 1, 2, 3]
        await world.copy(on_gap="skip")
        assert world.copied == [0, 1, 2, 3, "x", "y", "z"]
        assert (await world.copy()).gaps == []

    in_world(test)


def test_copies_that_the_target_lost_are_a_gap_and_come_again_for_who_goes_on() -> None:
    async def test(world: GapWorld) -> None:
        world.send(0, 1, 2, 3)
        await world.copy()
        world.target.found["eu.orders"].partitions[0].cut(2)
        life = await world.copy()
        assert [each.kind for each in life.gaps] == [GapKind.TARGET_CUT]
        await world.copy(on_gap="skip")
        assert world.copied == [0, 1, 2, 3]

    in_world(test)


def test_a_message_that_the_target_cannot_take_stops_the_topic_in_front_of_it() -> None:
    async def test(world: GapWorld) -> None:
        world.send(0, 1)
        world.send("full", headers={f"h{number}": "x" for number in range(HEADERS_MAX)})
        world.send(3)
        life = await world.copy()
        assert [(each.kind, each.from_offset, each.below_offset) for each in life.gaps] == [(GapKind.REFUSED, 2, 3)]
        assert world.copied == [0, 1]
        await world.copy(on_gap="skip")
        assert world.copied == [0, 1, 3]

    in_world(test)


def test_what_retention_of_the_target_removed_is_no_gap() -> None:
    async def test(world: GapWorld) -> None:
        world.send(*range(6))
        await world.copy()
        world.target.found["eu.orders"].partitions[0].remove_before(6)
        world.send(6)
        life = await world.copy()
        assert (life.gaps, world.copied) == ([], [6])

    in_world(test)


def test_who_begins_at_the_latest_stays_behind_what_was_there_also_after_a_restart() -> None:
    async def test(world: GapWorld) -> None:
        world.send(0, 1)
        await world.copy(begins_at="latest")
        world.send(2)
        await world.copy(begins_at="latest")
        assert world.copied == [2]

    in_world(test)


def test_a_topic_grows_in_the_target_when_what_was_before_is_copied() -> None:
    async def test(world: GapWorld) -> None:
        world.send(*range(50))
        life = MirrorLife(world.source, world.target, world.chance, 1, copies_max=1)
        copied_then: list[int] = []

        class WatchedEnd(FakeEnd):
            async def grow_topic(self, topic: str, partitions: int) -> None:
                copied_then.append(len(world.copied))
                await super().grow_topic(topic, partitions)

        life.mirror._means.target = WatchedEnd(world.target)
        running = asyncio.get_running_loop().create_task(life.run())
        await asyncio.sleep(0.3)
        world.source.grow("orders", 3)
        world.source.append("orders", OutgoingMessage("later", partition=2))
        await asyncio.sleep(60)
        assert copied_then == [50]
        [record] = world.target.found["eu.orders"].partitions[2].records
        assert path_of(record.message.headers)[0].partition == 2
        life.mirror.stop()
        await running

    in_world(test)


def test_another_name_in_the_target_is_another_copy() -> None:
    async def test(world: GapWorld) -> None:
        world.send(0, 1, 2)
        await world.copy()
        life = await world.copy(prefix="west.")
        assert life.gaps == []
        assert len(world.target.found["west.orders"].partitions[0].records) == 3
        assert world.copied == [0, 1, 2]

    in_world(test)


def test_messages_go_both_ways_and_none_comes_back() -> None:
    async def test(world: GapWorld) -> None:
        world.target.make("orders", 1)
        lives = [
            MirrorLife(world.source, world.target, world.chance, 1, prefix="a."),
            MirrorLife(world.target, world.source, world.chance, 2, prefix="b."),
        ]
        running = [asyncio.get_running_loop().create_task(life.run()) for life in lives]
        for number in range(10):
            world.send(number)
            world.target.append("orders", OutgoingMessage(-number, partition=0))
            await asyncio.sleep(1)
        await asyncio.sleep(10)
        here = {name for name in world.source.found if not name.startswith("acklog-mirror.")}
        there = {name for name in world.target.found if not name.startswith("acklog-mirror.")}
        assert {"orders", "b.orders"} <= here <= {"orders", "b.orders", "b.a.orders"}
        assert {"orders", "a.orders"} <= there <= {"orders", "a.orders", "a.b.orders"}
        bodies = {name: [r.message.body for r in world.source.found[name].partitions[0].records] for name in here}
        assert (bodies["orders"], bodies["b.orders"]) == (list(range(10)), [-number for number in range(10)])
        assert bodies.get("b.a.orders", []) == []
        for life in lives:
            life.mirror.stop()
        await asyncio.gather(*running)

    in_world(test)


def test_a_circle_is_refused_at_the_start() -> None:
    async def test(world: GapWorld) -> None:
        world.send(1)
        forth = MirrorLife(world.source, world.target, world.chance, 1, prefix="", ends_when_caught_up=True)
        await forth.run()
        back = MirrorLife(world.target, world.source, world.chance, 2, prefix="")
        with pytest.raises(InvalidArgument, match="is copied to it by another mirror"):
            await back.run()

    in_world(test)


def test_a_cluster_is_not_copied_to_itself() -> None:
    async def test(world: GapWorld) -> None:
        with pytest.raises(InvalidArgument, match="the same cluster"):
            await MirrorLife(world.source, world.source, world.chance, 1).run()

    in_world(test)


def test_a_wrong_token_ends_it_at_the_start() -> None:
    async def test(world: GapWorld) -> None:
        class ClosedEnd(FakeEnd):
            async def topics(self) -> Sequence[Topic]:
                raise Forbidden("not for you", code="FORBIDDEN", retriable=False)

        life = MirrorLife(world.source, world.target, world.chance, 1)
        life.mirror._means.source = ClosedEnd(world.source)
        with pytest.raises(Forbidden):
            await life.mirror.run()

    in_world(test)


def test_a_target_that_forgets_names_too_soon_is_refused() -> None:
    async def test(world: GapWorld) -> None:
        world.target.make("eu.orders", 1, dedup_window_ms=59_999)
        life = await world.copy()
        assert "dedupWindowMs has to be 60000" in life.mirror.figures.stopped["orders"]
        world.target.make("eu.orders", 1, dedup_window_ms=60_000)
        assert (await world.copy()).mirror.figures.stopped == {}

    in_world(test)


def test_two_mirrors_of_other_names_do_not_fight_for_ever() -> None:
    async def test(world: GapWorld) -> None:
        lives = [MirrorLife(world.source, world.target, world.chance, number, name=f"m{number}") for number in range(2)]
        running = [asyncio.get_running_loop().create_task(life.run()) for life in lives]
        for number in range(40):
            world.send(number)
            await asyncio.sleep(1)
        await asyncio.sleep(20)
        assert world.copied == list(range(40))
        stopped = [life.mirror.figures.stopped.get("orders", "") for life in lives]
        assert sorted(bool(each) for each in stopped) == [False, True]
        for life in lives:
            life.mirror.stop()
        await asyncio.gather(*running)

    in_world(test)
