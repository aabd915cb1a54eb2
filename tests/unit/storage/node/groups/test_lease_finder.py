"""A node whose groups see before they lease: what they are shown, what is recorded, and how long one receive looks.

No mode of the product sees yet, so `shared` is given the toy choosers here.
"""

import dataclasses
from collections.abc import Awaitable, Callable

import pytest

from acklog.wire.batch import encode_batch
from acklog.wire.record import Record, tag_bit
from cluster.model.values import Group, GroupMode, Topic
from storage.delivery import modes
from storage.delivery.candidates import WantedRange
from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.seeing_selection import Chooser
from storage.node.groups.candidate_feeds import AHEAD_PART, FilteredFeed
from storage.rpc import messages
from tests.support.simulated_node import SMALL, SimulatedNode, with_node
from tests.unit.storage.delivery.seeing_group import Seeing
from tests.unit.storage.delivery.toy_choosers import WithTag, in_key_order

LOOKS_MAX = 3
FEW = AHEAD_PART - 1
"""Runs, so that nothing is shown ahead."""
RED, BLUE = ["red"], ["blue"]
IS_RED = 'tag = "red"'


def with_seeing_node(
    monkeypatch: pytest.MonkeyPatch,
    new_chooser: Callable[[], Chooser],
    main: Callable[[SimulatedNode], Awaitable[None]],
    bounds: DeliverySettings | None = None,
) -> None:
    monkeypatch.setitem(modes._SELECTIONS, GroupMode.SHARED, lambda _terms, _bounds: Seeing(new_chooser))
    delivery = bounds or DeliverySettings()
    with_node(main, settings=dataclasses.replace(SMALL, looks_per_receive_max=LOOKS_MAX, delivery=delivery))


async def send(sim: SimulatedNode, topic: Topic, *records: Record) -> None:
    await sim.node.produce(messages.ProduceRequest(topic.id, 0, encode_batch(list(records))))


async def offsets(sim: SimulatedNode, topic: Topic, group: Group, **options: int) -> list[int]:
    return [message.offset for message in (await sim.receive(topic, group, **options)).messages]


async def progress(sim: SimulatedNode, topic: Topic) -> int:
    (group,) = (await sim.positions(topic)).groups
    return group.progress


def red_only() -> WithTag:
    return WithTag(tag_bit("red"))


def test_what_does_not_match_is_recorded_and_never_delivered(monkeypatch: pytest.MonkeyPatch) -> None:
    """R41: over a loss of power, too."""

    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        await send(sim, topic, Record(b"0", tags=BLUE), Record(b"1", tags=RED), Record(b"2", tags=BLUE))
        await send(sim, topic, Record(b"3", tags=BLUE))
        delivered = (await sim.receive(topic, group)).messages
        assert [message.offset for message in delivered] == [1]
        await sim.settle("ack", topic, group, delivered)
        assert await offsets(sim, topic, group) == []
        assert await progress(sim, topic) == 4
        await sim.lose_power()
        await sim.start()
        assert await progress(sim, topic) == 4

    with_seeing_node(monkeypatch, red_only, main)


def test_a_receive_gives_way_and_who_waits_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        for _ in range(4 * LOOKS_MAX):
            await send(sim, topic, Record(b"no", tags=BLUE))
        await send(sim, topic, Record(b"yes", tags=RED))
        assert await offsets(sim, topic, group) == []
        assert 0 < await progress(sim, topic) <= LOOKS_MAX
        assert await offsets(sim, topic, group, wait_ms=5_000) == [4 * LOOKS_MAX]

    with_seeing_node(monkeypatch, red_only, main, DeliverySettings(candidate_runs_max=FEW))


def test_keys_keep_their_order_over_a_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        await send(sim, topic, Record(b"0", "a"), Record(b"1", "a"), Record(b"2", "b"))
        await send(sim, topic, Record(b"3", "a"))
        assert await offsets(sim, topic, group, wait_ms=1) == [0, 1, 2, 3], "also of the batch behind the first"
        await sim.stop()
        await sim.start()
        delivered = (await sim.receive(topic, group, wait_ms=1, max_messages=3)).messages
        assert [message.offset for message in delivered] == [0, 1, 2]
        assert await offsets(sim, topic, group, wait_ms=1) == []
        await sim.settle("ack", topic, group, delivered)
        assert await offsets(sim, topic, group, wait_ms=1) == [3]

    with_seeing_node(monkeypatch, in_key_order, main)


def test_shared_groups_are_shown_nothing() -> None:
    """What they cost per message is what it was."""

    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        await send(sim, topic, Record(b"0", "a", tags=RED))
        assert await offsets(sim, topic, group) == [0]
        [partition] = sim.node.partitions_led()
        assert partition.groups._receives._finder._feeds.of(()).index.run_count == 0

    with_node(main)


@pytest.mark.parametrize("auto_ack", [False, True])
@pytest.mark.parametrize("own_filter", [False, True])
@pytest.mark.parametrize("look_ms", [300, 600])
def test_what_it_has_is_given_once_and_in_time_however_long_it_takes_to_look_for_more(
    monkeypatch: pytest.MonkeyPatch, auto_ack: bool, own_filter: bool, look_ms: int
) -> None:
    async def main(sim: SimulatedNode) -> None:
        settings = {"retry_backoff_min_ms": 0, "retry_backoff_max_ms": 0}
        topic, group = await sim.topic(), await sim.group(**settings, **({} if own_filter else {"filter": IS_RED}))
        for tag in (RED, *[BLUE] * 40):
            await send(sim, topic, Record(b"x" * 50, tags=tag))
        await sim.stop()  # nothing is in the cache
        await sim.start()
        [partition] = sim.node.partitions_led()
        show_more = FilteredFeed.show_more

        async def slowly(self: FilteredFeed, wanted: WantedRange) -> bool:
            partition.steps.arm()  # as somebody else's receive or ack does
            await sim.clock.sleep(look_ms)
            return await show_more(self, wanted)

        monkeypatch.setattr(FilteredFeed, "show_more", slowly)
        answer = await sim.receive(
            topic, group, auto_ack=auto_ack, visibility_ms=1_000, wait_ms=5_000, filter=IS_RED if own_filter else ""
        )
        assert [message.offset for message in answer.messages] == [0]
        if not auto_ack:
            assert await sim.settle("ack", topic, group, answer.messages) == [""]
        assert 0 not in await offsets(sim, topic, group)

    with_node(main, settings=dataclasses.replace(SMALL, looks_per_receive_max=10, filter_read_bytes=500))
