"""Recurring schedules on one node, on virtual time and a simulated disk: each time once, and never early."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec
import pytest

from acklog.wire.record import Record
from cluster.catalog.recurring_admin import RecurringAdmin
from cluster.model.recurring_schedule import MissedRuns, RecurrenceRule, RecurringSchedule, home_of
from cluster.model.values import Topic
from cluster.ports.coordination import CoordinationUnavailableError
from storage.node.schedule.recurring_definitions import RecurringDefinitions
from storage.node.schedule.recurring_host import NAME_HEADER, TIME_HEADER
from storage.schedule.schedule_settings import ScheduleSettings
from tests.support.schedules import KeptIndexes, listed, schedule
from tests.support.simulated_node import SMALL, SimulatedNode, with_node

SHORT_LOG = replace(
    SMALL,
    schedule=ScheduleSettings(log_bytes_min=3_000, near_messages_max=8, due_messages_max=4),
    schedule_segment_bytes=1_000,
)
HOUR_MS = 3_600_000


async def recur(
    sim: SimulatedNode,
    topic: Topic,
    name: str = "tick",
    *,
    every_ms: int = 1_000,
    key: str | None = None,
    missed: MissedRuns = MissedRuns.ALL,
    **settings: Any,
) -> RecurringSchedule:
    record = Record(b"1", key)

    def make(id_: str, now_ms: int) -> RecurringSchedule:
        rule = RecurrenceRule(every_ms=every_ms, anchor_ms=now_ms)
        home = home_of(name, record, topic)
        return RecurringSchedule(id_, topic.id, name, now_ms, now_ms, home, rule, record, missed=missed, **settings)

    made, is_made = await admin_of(sim).get_or_create(topic, name, make)
    assert is_made
    return made


def admin_of(sim: SimulatedNode) -> RecurringAdmin:
    return RecurringAdmin(sim.store, sim.metadata, clock=sim.clock, entropy=sim.entropy)


async def times_of(sim: SimulatedNode, topic: Topic, name: str = "tick") -> list[int]:
    """For which times a message is in the log, from all partitions."""
    found = []
    for partition in range(topic.partitions):
        for record in await sim.records_in_log(topic, partition):
            headers = record.headers or {}
            if headers.get(NAME_HEADER) == name:
                assert record.schedule is not None
                due_ms = round(datetime.fromisoformat(headers[TIME_HEADER]).timestamp() * 1000)
                assert record.schedule.at_ms == due_ms
                found.append(due_ms)
    return found


def expected(made: RecurringSchedule, count: int) -> list[int]:
    return [made.since_ms + (number + 1) * made.rule.every_ms for number in range(count)]


def test_each_time_gets_its_message_and_none_is_early() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        made = await recur(sim, topic)
        for count in range(5):
            await sim.clock.sleep(made.since_ms + (count + 1) * 1_000 - 1 - sim.clock.now_ms())
            assert await times_of(sim, topic) == expected(made, count)
            await sim.clock.sleep(100)
            assert await times_of(sim, topic) == expected(made, count + 1)
        assert [(record.body, record.key) for record in await sim.records_in_log(topic)] == [(b"1", None)] * 5

    with_node(main)


@pytest.mark.parametrize("end", ["stop", "lose_power"])
@pytest.mark.parametrize("has_kept_index", [False, True])
def test_over_restarts_each_time_is_there_once(end: str, has_kept_index: bool) -> None:
    async def main(sim: SimulatedNode) -> None:
        if has_kept_index:
            sim.schedule_indexes = KeptIndexes()
            await sim.stop()
            await sim.start()
        topic = await sim.topic()
        made = await recur(sim, topic)
        for away_ms in (0, 3, 997, 1_000, 1_003, 5_500):
            await sim.clock.sleep(1_990 + away_ms % 17)
            await getattr(sim, end)()
            await sim.clock.sleep(away_ms)
            await sim.start()
        await sim.clock.sleep(2_000)
        found = await times_of(sim, topic)
        assert found == expected(made, len(found))
        assert found[-1] >= sim.clock.now_ms() - 1_100

    with_node(main)


@pytest.mark.parametrize("missed", list(MissedRuns))
def test_what_was_missed(missed: MissedRuns) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        made = await recur(sim, topic, missed=missed, grace_ms=2_500)
        await sim.clock.sleep(1_500)
        await sim.stop()
        await sim.clock.sleep(8_000)
        await sim.start()
        await sim.clock.sleep(100)
        all_of_them = expected(made, (sim.clock.now_ms() - made.since_ms) // 1_000)
        missed_ones = all_of_them[1:]
        sent = {MissedRuns.ALL: missed_ones, MissedRuns.ONCE: missed_ones[-1:], MissedRuns.SKIP: missed_ones[-2:]}
        assert await times_of(sim, topic) == [all_of_them[0], *sent[missed]]
        before = all_of_them[-1]
        await sim.clock.sleep(2_000)
        assert (await times_of(sim, topic))[-2:] == [before + 1_000, before + 2_000]

    with_node(main)


def test_what_is_too_late_is_passed_over_for_good() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        made = await recur(sim, topic, every_ms=HOUR_MS, missed=MissedRuns.SKIP, grace_ms=1_000)
        await sim.clock.sleep(100)
        await sim.stop()
        await sim.clock.sleep(HOUR_MS + 5_000)
        await sim.start()
        await sim.clock.sleep(1_000)
        [partition] = sim.node.partitions_led()
        assert (partition.schedule.figures.recurred, partition.schedule.figures.passed_over) == (0, 1)
        assert await times_of(sim, topic) == []
        await sim.clock.sleep(HOUR_MS)
        assert await times_of(sim, topic) == [made.since_ms + 2 * HOUR_MS]

    with_node(main)


def test_of_those_that_were_missed_no_more_than_the_last_ones_are_sent() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        made = await recur(sim, topic)
        await sim.stop()
        await sim.clock.sleep(20_500)
        await sim.start()
        await sim.clock.sleep(3_000)
        assert await times_of(sim, topic) == expected(made, len(expected(made, 23)))[-10 - 3 :]

    with_node(main, replace(SMALL, schedule=ScheduleSettings(missed_runs_max=10, due_messages_max=4)))


def test_a_pause_misses_nothing_and_what_is_deleted_ends() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        made = await recur(sim, topic)
        await sim.clock.sleep(1_500)
        await admin_of(sim).update(topic, "tick", lambda each, _now: replaced(each, is_paused=True))
        await sim.clock.sleep(5_000)
        assert await times_of(sim, topic) == expected(made, 1)
        await admin_of(sim).update(topic, "tick", lambda each, now: replaced(each, is_paused=False, since_ms=now))
        await sim.clock.sleep(1_000)
        assert await times_of(sim, topic) == [made.since_ms + 1_000, made.since_ms + 7_000]
        await admin_of(sim).delete(topic, "tick")
        await sim.clock.sleep(5_000)
        assert len(await times_of(sim, topic)) == 2

    with_node(main)


def test_one_that_is_made_again_under_its_name_begins_anew() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        first = await recur(sim, topic)
        await sim.clock.sleep(2_500)
        await admin_of(sim).delete(topic, "tick")
        second = await recur(sim, topic, every_ms=700)
        await sim.clock.sleep(1_500)
        assert await times_of(sim, topic) == expected(first, 2) + expected(second, 2)

    with_node(main)


def test_a_clock_that_is_set_back_sends_nothing_twice_and_one_that_is_set_forward_misses_nothing() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        made = await recur(sim, topic)
        for jump_ms in (-3_000, 7_000, -2_500, 2_000):
            await sim.clock.sleep(3_500)
            sim.machine_clock.jump(jump_ms)
            await sim.lose_power()
            await sim.start()  # a process begins with what its machine says, right or wrong
        await sim.clock.sleep(5_000)
        found = await times_of(sim, topic)
        assert found == expected(made, len(found))
        assert sim.clock.now_ms() - 1_100 <= found[-1] <= sim.clock.now_ms()

    with_node(main)


def test_the_next_ones_are_where_the_key_goes_when_a_topic_has_grown() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(partitions=2)
        made = [await recur(sim, topic, f"tick-{number}", key=f"key-{number}") for number in range(6)]
        await sim.clock.sleep(2_500)
        grown = await sim.topics.update("orders", partitions=5)
        while len(sim.metadata.partitions(topic.id)) < 5:
            await sim.clock.sleep(1)
        await sim.clock.sleep(3_000)
        await sim.lose_power()
        await sim.start()
        await sim.clock.sleep(2_000)
        for each in made:
            now = sim.metadata.recurring.find(topic.id, each.name)
            assert now is not None
            assert now.home == home_of(each.name, each.record, grown)
            found = sorted(await times_of(sim, grown, each.name))
            assert found == expected(each, len(found))
            assert found[-1] >= sim.clock.now_ms() - 1_100
        assert any(home_of(each.name, each.record, grown) != each.home for each in made)

    with_node(main)


def test_one_that_was_let_go_and_belongs_here_again_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The topic grew, the partition noted that it sends the schedule no more, the coordination store could not be
    reached, and before it could the topic grew again, which brought the key back."""
    asked: list[int] = []

    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(partitions=1)
        made = await recur(sim, topic, key="key-4")
        await sim.clock.sleep(2_500)
        move_home = RecurringDefinitions.move_home

        async def fails(
            _definitions: RecurringDefinitions, _definition: RecurringSchedule, home: int, _ms: int
        ) -> None:
            asked.append(home)
            raise CoordinationUnavailableError("the answer was lost")

        monkeypatch.setattr(RecurringDefinitions, "move_home", fails)
        await sim.topics.update("orders", partitions=2)
        while not asked:
            await sim.clock.sleep(1)
        assert asked == [1]
        grown = await sim.topics.update("orders", partitions=3)
        assert home_of(made.name, made.record, grown) == 0 == made.home
        await sim.clock.sleep(1_000)
        monkeypatch.setattr(RecurringDefinitions, "move_home", move_home)
        await sim.clock.sleep(5_000)
        found = sorted(await times_of(sim, grown))
        assert found == expected(made, len(found))
        assert found[-1] >= sim.clock.now_ms() - 1_100

    with_node(main)


def test_a_short_log_keeps_up_to_where_each_is_dealt_with() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(dedup_window_ms=1_000)
        rare = await recur(sim, topic, "rare", every_ms=60_000)
        await recur(sim, topic, "gone", every_ms=1_000)
        await sim.clock.sleep(61_000)
        await admin_of(sim).delete(topic, "gone")
        [partition] = sim.node.partitions_led()
        log = partition.schedule.scheduled.log
        noted_before = log.log_end
        while log.log_start < noted_before:
            await schedule(sim.node, topic, b"x" * 200, delay_ms=10)
            await sim.clock.sleep(50)
        ids = {entry.id for entry in await partition.schedule.keeper.all_of(lambda index: index.recurring())}
        assert ids == {rare.id}
        await sim.lose_power()
        await sim.start()
        await sim.clock.sleep(65_000)
        found = await times_of(sim, topic, "rare")
        assert found == expected(rare, len(found))

    with_node(main, SHORT_LOG)


def test_a_full_disk_delays_and_loses_nothing() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        made = await recur(sim, topic)
        await sim.clock.sleep(1_500)
        sim.disk.capacity_bytes = 0
        await sim.clock.sleep(3_000)
        sim.disk.capacity_bytes = 1 << 30
        await sim.clock.sleep(3_000)
        found = await times_of(sim, topic)
        assert found == expected(made, len(found))
        assert len(found) == 7

    with_node(main)


def test_a_deleted_topic_takes_its_schedules_along() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        await recur(sim, topic)
        await sim.topics.delete("orders")
        await sim.clock.sleep(5_000)
        assert len(sim.metadata.recurring) == 0

    with_node(main)


def test_a_message_that_waits_can_be_looked_at_like_any_other() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        await recur(sim, topic)
        await sim.clock.sleep(1_500)
        assert await listed(sim.node, topic) == []
        [partition] = sim.node.partitions_led()
        assert partition.schedule.may_have_any

    with_node(main)


def replaced(schedule_: RecurringSchedule, **changes: Any) -> RecurringSchedule:
    return msgspec.structs.replace(schedule_, **changes)
