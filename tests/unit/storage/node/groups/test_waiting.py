"""Waiting receives: news reaches one waiter, no wake-up is lost with a waiter that leaves, idle groups cost nothing."""

import asyncio

from storage.node.groups.waiting import ClaimingReceive, GroupReader, TopicReaders, WaitingReceive


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
    reader.join(first, ())
    reader.join(second, ())
    reader.note(3)
    assert (first.is_woken, second.is_woken) == (True, False)
    assert list(reader.ready) == [3]


def test_a_woken_waiter_that_leaves_without_taking_passes_its_wake_up_on() -> None:
    reader = GroupReader()
    first, second = WaitingReceive(), WaitingReceive()
    reader.join(first, ())
    reader.join(second, ())
    reader.note(3)
    reader.leave(first)
    assert second.is_woken


def test_a_waiter_that_took_everything_wakes_nobody() -> None:
    reader = GroupReader()
    first, second = WaitingReceive(), WaitingReceive()
    reader.join(first, ())
    reader.join(second, ())
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
    readers.join("group", WaitingReceive(), ())
    readers.note_all(5)
    readers.join("group", WaitingReceive(), range(8))
    readers.reader("group").look_at(range(8))
    assert list(readers.reader("group").ready) == [5]


def test_news_reaches_each_waiting_group_once() -> None:
    readers = TopicReaders()
    waiters = {group: WaitingReceive() for group in ("a", "b")}
    for group, waiter in waiters.items():
        readers.join(group, waiter, ())
    readers.note("a", 1)
    assert waiters["a"].is_woken
    assert not waiters["b"].is_woken
    readers.note_all(2)
    assert waiters["b"].is_woken


def test_a_removed_group_wakes_its_waiters() -> None:
    readers = TopicReaders()
    waiter = WaitingReceive()
    readers.join("group", waiter, ())
    readers.remove_group("group")
    assert waiter.is_woken


def test_everybody_is_woken_at_a_stop() -> None:
    readers = TopicReaders()
    waiters = [WaitingReceive() for _ in range(3)]
    for number, waiter in enumerate(waiters):
        readers.join(f"group{number % 2}", waiter, ())
    readers.wake_everybody()
    assert all(waiter.is_woken for waiter in waiters)


async def test_two_that_find_nothing_do_not_keep_each_other_looking() -> None:
    """Each look takes turns of the loop, so that one comes to wait while the other looks."""
    reader = GroupReader()
    looks = 0

    async def receive() -> None:
        nonlocal looks
        while True:
            waiter = WaitingReceive()
            reader.join(waiter, range(3))
            try:
                for partition in list(reader.ready):
                    reader.ready.pop(partition, None)
                    looks += 1
                    await asyncio.sleep(0)
                await waiter.wait(60_000)
            finally:
                reader.leave(waiter)

    receives = [asyncio.create_task(receive()) for _ in range(2)]
    for _ in range(1_000):
        await asyncio.sleep(0)
    reader.note(1)
    for _ in range(1_000):
        await asyncio.sleep(0)
    assert looks <= 2 * 3 + 1  # both were there before a first look was over
    for task in receives:
        task.cancel()
    await asyncio.gather(*receives, return_exceptions=True)


def test_news_that_come_while_all_are_looking_are_not_lost() -> None:
    reader = GroupReader()
    first, second = WaitingReceive(), WaitingReceive()
    reader.join(first, range(2))
    reader.ready.clear()
    reader.join(second, range(2))
    assert not reader.ready
    reader.note(0)
    reader.note(1)
    assert first.is_woken
    assert second.is_woken
    reader.ready.clear()
    assert reader.records_news
    reader.note(1)
    reader.leave(first)
    reader.join(again := WaitingReceive(), range(2))
    assert list(reader.ready) == [1]
    assert not again.is_woken  # it looks before it waits


def test_when_everybody_was_woken_whoever_comes_first_looks_at_everything() -> None:
    reader = GroupReader()
    first, second = WaitingReceive(), WaitingReceive()
    for waiter in (first, second):
        reader.join(waiter, range(2))
    reader.ready.clear()
    reader.wake_all()
    reader.leave(first)
    reader.join(WaitingReceive(), range(2))
    assert list(reader.ready) == [0, 1]


def test_who_waited_in_a_topic_that_was_deleted_leaves_others_alone() -> None:
    """The topic's readers were forgotten with it; whoever comes meanwhile has new ones."""
    topic = TopicReaders()
    gone, present = ClaimingReceive("g1", [("t", 0)]), ClaimingReceive("g1", [("t", 0)])
    topic.leave_at(("t", 0), gone)
    topic.join_at(("t", 0), present)
    topic.leave_at(("t", 0), gone)
    present.take()
    topic.note("g1", 0)
    assert present.is_woken
