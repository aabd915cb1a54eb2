"""Waiting receives: news reaches one waiter, no wake-up is lost with a waiter that leaves, idle groups cost nothing."""

import asyncio

from storage.node.groups.waiting import GroupReader, TopicReaders, WaitingReceive


async def test_a_waiter_returns_when_woken() -> None:
    waiter = WaitingReceive()
    task = asyncio.create_task(waiter.wait(60_000))
    await asyncio.sleep(0)
    waiter.wake()
    await asyncio.wait_for(task, 1)
    assert waiter.is_woken


async def test_a_wake_up_before_the_wait_is_not_lost() -> None:
    waiter = WaitingReceive()
    waiter.wake()
    await asyncio.wait_for(waiter.wait(60_000), 1)


async def test_a_waiter_times_out() -> None:
    waiter = WaitingReceive()
    await asyncio.wait_for(waiter.wait(1), 1)
    assert not waiter.is_woken


def test_news_wakes_the_longest_waiting_first() -> None:
    reader = GroupReader()
    first, second = WaitingReceive(), WaitingReceive()
    reader.join(first)
    reader.join(second)
    reader.note(3)
    assert (first.is_woken, second.is_woken) == (True, False)
    assert list(reader.ready) == [3]


def test_a_woken_waiter_that_leaves_without_taking_passes_its_wake_up_on() -> None:
    reader = GroupReader()
    first, second = WaitingReceive(), WaitingReceive()
    reader.join(first)
    reader.join(second)
    reader.note(3)
    reader.leave(first)
    assert second.is_woken


def test_a_waiter_that_took_everything_wakes_nobody() -> None:
    reader = GroupReader()
    first, second = WaitingReceive(), WaitingReceive()
    reader.join(first)
    reader.join(second)
    reader.note(3)
    del reader.ready[3]
    reader.leave(first)
    assert not second.is_woken


def test_without_waiters_every_partition_is_looked_at() -> None:
    readers = TopicReaders()
    readers.note_all(5)
    reader = readers.reader("group")
    assert not reader.ready
    reader.look_at(range(8))
    assert list(reader.ready) == list(range(8))


def test_with_waiters_only_what_has_news_is_looked_at() -> None:
    readers = TopicReaders()
    readers.join("group", WaitingReceive())
    readers.note_all(5)
    readers.join("group", WaitingReceive())
    readers.reader("group").look_at(range(8))
    assert list(readers.reader("group").ready) == [5]


def test_news_reaches_each_waiting_group_once() -> None:
    readers = TopicReaders()
    waiters = {group: WaitingReceive() for group in ("a", "b")}
    for group, waiter in waiters.items():
        readers.join(group, waiter)
    readers.note("a", 1)
    assert waiters["a"].is_woken
    assert not waiters["b"].is_woken
    readers.note_all(2)
    assert waiters["b"].is_woken


def test_a_removed_group_wakes_its_waiters() -> None:
    readers = TopicReaders()
    waiter = WaitingReceive()
    readers.join("group", waiter)
    readers.remove_group("group")
    assert waiter.is_woken


def test_everybody_is_woken_at_a_stop() -> None:
    readers = TopicReaders()
    waiters = [WaitingReceive() for _ in range(3)]
    for number, waiter in enumerate(waiters):
        readers.join(f"group{number % 2}", waiter)
    readers.wake_everybody()
    assert all(waiter.is_woken for waiter in waiters)
