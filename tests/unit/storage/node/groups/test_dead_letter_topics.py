"""Where dead letters go, and how many topics are made for them."""

from collections import Counter
from typing import Any, cast

import pytest

from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.catalog.topic_admin import TopicAdmin
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model.mapping_starts import is_in_force
from cluster.model.values import Group, GroupMode, GroupSettings, Topic, TopicConfig
from storage.node.groups.dead_letter_sink import DeadLetter
from storage.node.groups.dead_letter_topics import DeadLetterTopics, dead_letter_topic_name
from tests.support.manual_clock import ManualClock
from tests.support.simulated_node import SimulatedNode, with_node


def topic(name: str) -> Topic:
    return Topic(id=name, name=name, partitions=2, replication_factor=1, created_at_ms=0, config=TopicConfig())


class Catalogue:
    """As much of the metadata view and of `TopicAdmin` as is asked."""

    def __init__(self, *names: str) -> None:
        self.by_name = {name: topic(name) for name in names}

    def topic(self, name: str) -> Topic | None:
        return self.by_name.get(name)

    def topics(self) -> list[Topic]:
        return list(self.by_name.values())

    async def get_or_create(self, name: str, **_settings: Any) -> Topic:
        return self.by_name.setdefault(name, topic(name))


async def test_beyond_the_limit_none_is_made_and_those_that_exist_are_used() -> None:
    catalogue = Catalogue("a", "b", "c")
    sink = DeadLetterTopics(
        cast(TopicAdmin, catalogue),
        cast(MetadataView, catalogue),
        lambda _node: pytest.fail("there is nothing to append"),
        clock=ManualClock(),
        topics_max=4,
    )
    group = Group("g", "g", 0, GroupMode.SHARED, GroupSettings())
    await sink.append(topic("a"), group, [])
    assert dead_letter_topic_name(topic("a"), group) in catalogue.by_name
    with pytest.raises(ServerError, match=r"make 'b\.g\.dlq' by hand") as caught:
        await sink.append(topic("b"), group, [])
    assert caught.value.code is ProblemCode.TOO_MANY_TOPICS
    await sink.append(topic("a"), group, [])
    await catalogue.get_or_create("b.g.dlq")
    await sink.append(topic("b"), group, [])


@pytest.mark.parametrize(
    ("chosen", "sources", "expected"),
    [
        (None, None, "b.g.dlq"),
        ("a.loot", None, "a.loot"),
        ("a.loot", ("a.*",), "b.g.dlq"),
        ("a.loot", ("a.*", "b"), "a.loot"),
        ("a.loot", (), "b.g.dlq"),
        ("b", None, "b.g.dlq"),
    ],
)
def test_a_letter_goes_to_what_was_chosen_for_its_topic(
    chosen: str | None, sources: tuple[str, ...] | None, expected: str
) -> None:
    group = Group("g", "g", 0, settings=GroupSettings(dead_letter_topic=chosen), dead_letter_sources=sources)
    assert dead_letter_topic_name(topic("b"), group) == expected


def test_for_which_topics_letters_go_where_is_known_after_a_restart() -> None:
    """R39."""

    async def main(sim: SimulatedNode) -> None:
        settings = GroupSettings(max_attempts=1, visibility_ms=1000, dead_letter_topic="a.loot")
        group = await sim.groups.get_or_create(
            "ga", mode=GroupMode.SHARED, settings=settings, dead_letter_sources=("a.*",)
        )
        topics = [await sim.topic(name) for name in ("a.orders", "b")]
        await sim.stop()
        await sim.start()
        for each in topics:
            await sim.send(each, each.name.encode())
            assert (await sim.receive(each, group)).messages
        await sim.clock.sleep(10_000)
        for name, source in (("a.loot", b"a.orders"), ("b.ga.dlq", b"b")):
            target = sim.metadata.topic(name)
            assert target is not None
            assert await sim.bodies_in_log(target) == [source]

    with_node(main)


def letter(offset: int, key: str | None = None) -> DeadLetter:
    return DeadLetter(0, offset, 0, 1, 0, 16, Record(b"%d" % offset, key))


class Letters:
    """A dead-letter topic of a running node, and the sink that writes to it."""

    def __init__(self, sim: SimulatedNode, source: Topic, group: Group, target: Topic) -> None:
        self._sim = sim
        self._source = source
        self._group = group
        self._target = target
        self._sink = DeadLetterTopics(sim.topics, sim.metadata, lambda _: sim.node, clock=sim.clock)

    @classmethod
    async def made(cls, sim: SimulatedNode) -> "Letters":
        source = await sim.topic(partitions=3)
        return cls(sim, source, await sim.group(), await sim.topic("orders.workers.dlq", partitions=3))

    async def append(self, letters: list[DeadLetter]) -> None:
        await self._sink.append(self._source, self._group, letters)

    def name_of(self, letter: DeadLetter) -> str:
        return f"{self._group.id}-{self._source.id}-{letter.partition}-{letter.offset}"

    async def change(self, how: str) -> None:
        if how == "decommission":
            await self._sim.topics.decommission(self._target.name, [0])
            await self._begun(1)
            return
        for partitions in (5, 7) if how == "grow twice" else (7,):
            await self._sim.topics.update(self._target.name, partitions=partitions)
            while len(self._sim.metadata.partitions(self._target.id)) < partitions:
                await self._sim.clock.sleep(1)
        await self._begun(2 if how == "grow twice" else 1)

    async def _begun(self, mapping: int) -> None:
        """Until then no letter is taken; it is tried again later."""
        while not is_in_force(mapping, self._sim.metadata.partitions(self._target.id)):
            await self._sim.clock.sleep(1)

    async def stored(self) -> Counter[bytes]:
        found: Counter[bytes] = Counter()
        for state in self._sim.metadata.partitions(self._target.id):
            found.update(await self._sim.bodies_in_log(self._target, state.partition))
        return found


@pytest.mark.parametrize("how", ["grow", "grow twice", "decommission"])
def test_letters_that_are_tried_again_after_their_topic_has_changed_are_there_once(how: str) -> None:
    """R28, R29: the first try was a crash before the messages were done in their own topic."""

    async def main(sim: SimulatedNode) -> None:
        letters = await Letters.made(sim)
        first = [letter(offset, f"customer-{offset}" if offset % 2 else None) for offset in range(20)]
        await letters.append(first[:15])
        await letters.change(how)
        await letters.append(first)
        await letters.append(first)
        assert await letters.stored() == {each.record.body: 1 for each in first}

    with_node(main)


def test_a_letter_whose_partition_was_decommissioned_goes_to_another() -> None:
    async def main(sim: SimulatedNode) -> None:
        letters = await Letters.made(sim)
        await letters.change("decommission")
        await letters.append([letter(offset, f"customer-{offset}") for offset in range(10)] + [letter(10)])
        assert (await letters.stored()).total() == 11

    with_node(main)


def test_who_comes_by_an_earlier_mapping_stores_no_letter_any_more() -> None:
    """Another node may have looked for it there since, and stored it elsewhere."""

    async def main(sim: SimulatedNode) -> None:
        letters = await Letters.made(sim)
        before = sim.metadata.topic("orders.workers.dlq")
        await letters.change("grow")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sim.metadata, "topic", lambda _name: before)
            with pytest.raises(ServerError) as caught:
                await letters.append([letter(0, "a")])
        assert caught.value.code is ProblemCode.CONFLICT
        assert await letters.stored() == {}

    with_node(main)


@pytest.mark.parametrize("how", ["not at all", "grow"])
def test_who_sends_something_else_under_a_letters_name_does_not_keep_it_out(how: str) -> None:
    async def main(sim: SimulatedNode) -> None:
        letters = await Letters.made(sim)
        target = sim.metadata.topic("orders.workers.dlq")
        assert target is not None
        for partition in range(3):
            await sim.send(target, b"stranger", keys=[letters.name_of(letter(1))], partition=partition)
        for _ in range(2):
            await letters.append([letter(0), letter(1), letter(2)])
        if how == "grow":
            await letters.change(how)
            await letters.append([letter(0), letter(1), letter(2)])
        assert await letters.stored() == {b"stranger": 3, b"0": 1, b"1": 1, b"2": 1}

    with_node(main)


def test_a_node_that_cannot_be_asked_yet_takes_letters_all_the_same() -> None:
    async def main(sim: SimulatedNode) -> None:
        async def unknown_call(_request: object) -> None:
            raise ServerError(ProblemCode.UNSUPPORTED, "no such call")

        letters = await Letters.made(sim)
        await letters.change("grow")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sim.node, "known_keys", unknown_call)
            await letters.append([letter(0, "a")])
        assert await letters.stored() == {b"0": 1}

    with_node(main)
