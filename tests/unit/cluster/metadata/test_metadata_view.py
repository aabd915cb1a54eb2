import asyncio
from collections.abc import AsyncIterator

import pytest

from cluster.metadata.metadata_view import MetadataView, MetadataViewSettings
from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.stored_token import StoredToken
from cluster.model.values import Group, NodeRegistration, PartitionState, Topic
from cluster.ports.coordination import CompactedError, CoordinationUnavailableError, Delete, Put
from cluster.stores.memory_store import MemoryStore
from tests.support.flaky_store import FlakyStore
from tests.support.lagging_store import LaggingStore
from tests.support.manual_clock import ManualClock, settle


def topic(name: str, topic_id: str, partitions: int = 2) -> Topic:
    return Topic(topic_id, name, partitions, 1, 0)


def state(topic_id: str, number: int, epoch: int = 1) -> PartitionState:
    return PartitionState(topic_id, number, (1,), (1,), 1, 1, epoch)


def put_topic(value: Topic) -> Put:
    return Put(keys.topic(value.name), encode(value))


def put_partition(value: PartitionState) -> Put:
    return Put(keys.partition(value.topic_id, value.partition), encode(value))


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def store(clock: ManualClock) -> FlakyStore:
    return FlakyStore(MemoryStore(clock))


@pytest.fixture
async def view(store: FlakyStore, clock: ManualClock) -> AsyncIterator[MetadataView]:
    view = MetadataView(store, clock)
    await view.start()
    yield view
    await view.close()


async def write(store: FlakyStore, *operations: Put | Delete) -> int:
    return (await store.transact([], operations)).revision


async def test_what_is_there_at_the_start_shows(store: FlakyStore, clock: ManualClock) -> None:
    orders = topic("orders", "t1")
    group = Group("g1", "billing", 0)
    node = NodeRegistration(7, 1, "d", "here")
    revision = await write(
        store,
        put_topic(orders),
        put_partition(state("t1", 1)),
        put_partition(state("t1", 0)),
        Put(keys.group("billing"), encode(group)),
        Put(keys.node(7), encode(node)),
        Put(keys.offsets("g1", "t1"), b"whatever"),
    )
    view = MetadataView(store, clock)
    assert view.topic("orders") is None
    await view.start()
    assert view.revision == revision
    assert view.topic("orders") == view.topic_by_id("t1") == orders
    assert view.topics() == [orders]
    assert view.partitions("t1") == [state("t1", 0), state("t1", 1)]
    assert view.partition("t1", 1) == state("t1", 1)
    assert view.partition("t1", 2) is None
    assert view.group("billing") == view.group_by_id("g1") == group
    assert view.groups() == [group]
    assert view.nodes() == [node]
    await view.close()


async def test_changes_show_and_are_told(store: FlakyStore, view: MetadataView) -> None:
    told = 0

    def listener() -> None:
        nonlocal told
        told += 1

    stop = view.subscribe(listener)
    await view.wait_for(await write(store, put_topic(topic("b", "tb")), put_topic(topic("a", "ta"))))
    assert [each.name for each in view.topics()] == ["a", "b"]
    assert told == 1, "one call per revision"
    await view.wait_for(await write(store, put_partition(state("ta", 0, epoch=1))))
    await view.wait_for(await write(store, put_partition(state("ta", 0, epoch=2))))
    assert view.partitions("ta") == [state("ta", 0, epoch=2)]
    assert told == 3
    await view.wait_for(await write(store, Put(keys.offsets("g", "t"), b"")))
    assert told == 3, "progress is no metadata"
    await view.wait_for(await write(store, Delete(keys.topic("b"))))
    assert view.topic("b") is view.topic_by_id("tb") is None
    assert [each.name for each in view.topics()] == ["a"]
    stop()
    stop()
    await view.wait_for(await write(store, Put(keys.group("g"), encode(Group("g1", "g", 0)))))
    await view.wait_for(await write(store, Delete(keys.group("g"))))
    assert view.groups() == []
    assert view.group_by_id("g1") is None
    assert told == 4


async def test_a_deleted_topic_takes_its_partitions_along(store: FlakyStore, view: MetadataView) -> None:
    await write(store, put_topic(topic("a", "t1")), put_partition(state("t1", 0)))
    await view.wait_for(await write(store, Delete(keys.topic("a"))))
    assert view.partition("t1", 0) is None
    assert view.partitions("t1") == []
    await view.wait_for(await write(store, put_partition(state("t1", 1))))
    assert view.partition("t1", 1) is None, "a late write of a partition does not bring it back"
    await view.wait_for(await write(store, put_topic(topic("a", "t2")), put_partition(state("t2", 0))))
    assert view.partitions("t2") == [state("t2", 0)]
    assert view.topic_by_id("t1") is None


async def test_a_topic_that_is_replaced_in_one_write_has_one_id(store: FlakyStore, view: MetadataView) -> None:
    await write(store, put_topic(topic("a", "t1")))
    await view.wait_for(await write(store, put_topic(topic("a", "t2"))))
    assert view.topic_by_id("t1") is None
    assert view.topic_by_id("t2") == view.topic("a")


async def test_lists_belong_to_the_caller(store: FlakyStore, view: MetadataView) -> None:
    await view.wait_for(await write(store, put_topic(topic("a", "t1")), put_partition(state("t1", 0))))
    view.topics().clear()
    view.partitions("t1").clear()
    assert view.topics()
    assert view.partitions("t1")


async def test_nodes_come_and_go(store: FlakyStore, view: MetadataView) -> None:
    for number in (10, 2):
        await write(store, Put(keys.node(number), encode(NodeRegistration(number, 1, "d", "x"))))
    await view.wait_for((await store.list("")).revision)
    assert [node.node_id for node in view.nodes()] == [2, 10]
    await view.wait_for(await write(store, Delete(keys.node(2))))
    assert [node.node_id for node in view.nodes()] == [10]


async def test_values_that_are_not_understood_do_not_show_and_harm_nobody(
    store: FlakyStore, view: MetadataView
) -> None:
    await write(store, put_topic(topic("a", "t1")), put_partition(state("t1", 0)))
    await view.wait_for(
        await write(
            store,
            Put(keys.topic("a"), b'{"id": 5}'),
            Put(keys.group("g"), b"not json"),
            Put(keys.partitions_of("t1") + "x", encode(state("t1", 0))),
            Put(keys.NODES + "one", encode(NodeRegistration(1, 1, "d", "x"))),
            put_topic(topic("b", "t2")),
        )
    )
    assert [each.name for each in view.topics()] == ["b"]
    assert view.groups() == []
    assert view.nodes() == []
    await view.wait_for(await write(store, put_topic(topic("a", "t1")), Delete(keys.partitions_of("t1") + "x")))
    assert view.partitions("t1") == [state("t1", 0)]


async def test_wait_for(store: FlakyStore, view: MetadataView) -> None:
    await view.wait_for(view.revision)
    target = view.revision + 2
    waiting = [asyncio.ensure_future(view.wait_for(target - back)) for back in (0, 1, 0)]
    await settle()
    assert not any(each.done() for each in waiting)
    await write(store, Put(keys.offsets("g", "t"), b""))
    await settle()
    assert [each.done() for each in waiting] == [False, True, False]
    waiting[0].cancel()
    await write(store, Put(keys.offsets("g", "t"), b""))
    await waiting[2]


async def test_no_more_waiters_than_the_limit(store: FlakyStore, clock: ManualClock) -> None:
    view = MetadataView(store, clock, MetadataViewSettings(waiters_max=2))
    await view.start()
    waiting = [asyncio.ensure_future(view.wait_for(99)) for _ in range(2)]
    await settle()
    with pytest.raises(CoordinationUnavailableError):
        await view.wait_for(99)
    waiting[0].cancel()
    await settle()
    third = asyncio.ensure_future(view.wait_for(99))
    await settle()
    assert not third.done()
    await view.close()
    for each in (waiting[1], third, view.wait_for(99)):
        with pytest.raises(CoordinationUnavailableError):
            await each


async def test_the_start_waits_for_the_store(store: FlakyStore, clock: ManualClock) -> None:
    store.before["list"] = [CoordinationUnavailableError("down") for _ in range(3)]
    view = MetadataView(store, clock)
    starting = asyncio.ensure_future(view.start())
    await clock.advance_ms(100 + 200 + 399)
    assert not starting.done()
    await clock.advance_ms(1)
    await starting
    await view.close()


async def test_an_unreachable_store_loses_no_change(store: FlakyStore, view: MetadataView, clock: ManualClock) -> None:
    await store.store.close()  # every watch breaks, every call fails
    replacement = MemoryStore(clock)
    await clock.advance_ms(10_000)
    tries = len(store.calls)
    await clock.advance_ms(10_000)
    assert len(store.calls) - tries <= 2, "the pauses between tries have grown"
    store.store = replacement
    revision = await write(store, put_topic(topic("a", "t1")))
    await clock.advance_ms(5_000)
    await view.wait_for(revision)
    assert view.topic("a") is not None


async def test_after_a_compaction_it_lists_again(store: FlakyStore, view: MetadataView, clock: ManualClock) -> None:
    told_of_tokens = []
    view.subscribe_to_tokens(lambda: told_of_tokens.append(view.revision))
    await view.wait_for(await write(store, put_topic(topic("a", "t1")), put_topic(topic("b", "t2"))))
    store.before["watch"] = [CompactedError(99)]
    old = store.store
    store.store = MemoryStore(clock)
    for _ in range(5):
        await write(store, Put(keys.topic("c"), encode(topic("c", "t3"))))
    await old.close()
    await clock.advance_ms(1_000)
    assert [each.name for each in view.topics()] == ["c"]
    assert told_of_tokens, "some may be gone without an event"
    told = []
    view.subscribe(lambda: told.append(view.revision))
    revision = await write(store, put_topic(topic("d", "t4")))
    await view.wait_for(revision)
    assert told == [revision]


async def test_who_wants_to_hear_of_tokens_hears_of_nothing_else(store: FlakyStore, view: MetadataView) -> None:
    told = []
    stop = view.subscribe_to_tokens(lambda: told.append(view.revision))
    await view.wait_for(await write(store, put_topic(topic("a", "t1"))))
    assert told == []
    made = await write(
        store, Put(keys.stored_token("shop"), encode(StoredToken(id="x", name="shop", created_at_ms=0, secrets=())))
    )
    await view.wait_for(made)
    revoked = await write(store, Delete(keys.stored_token("shop")))
    await view.wait_for(revoked)
    assert told == [made, revoked]
    stop()
    await view.wait_for(await write(store, Delete(keys.stored_token("none"))))
    assert told == [made, revoked]


async def test_a_listener_that_fails_stops_the_view_loudly(store: FlakyStore, view: MetadataView) -> None:
    def bad() -> None:
        raise ZeroDivisionError

    view.subscribe(bad)
    revision = await write(store, put_topic(topic("a", "t1")))
    await settle()
    with pytest.raises(CoordinationUnavailableError, match="ZeroDivisionError"):
        await view.wait_for(revision + 1)


# --- confirming: what others wrote -------------------------------------------------------------------------------


@pytest.fixture
async def lagging(clock: ManualClock) -> LaggingStore:
    return LaggingStore(MemoryStore(clock))


@pytest.fixture
async def late_view(lagging: LaggingStore, clock: ManualClock) -> AsyncIterator[MetadataView]:
    view = MetadataView(lagging, clock, MetadataViewSettings(confirmations_max=2))
    await view.start()
    lagging.news.shut()
    yield view
    await view.close()
    await lagging.close()


async def test_what_is_confirmed_shows(lagging: LaggingStore, late_view: MetadataView) -> None:
    orders, group = topic("orders", "t1"), Group("g1", "billing", 0)
    await write(lagging, put_topic(orders), Put(keys.group("billing"), encode(group)))
    confirming = [
        asyncio.ensure_future(late_view.confirm(key)) for key in (keys.topic("orders"), keys.group("billing"))
    ]
    await settle()
    assert not any(each.done() for each in confirming), "the view does not show it yet"
    lagging.news.open()
    await asyncio.gather(*confirming)
    assert late_view.topic("orders") == orders
    assert late_view.group("billing") == group


async def test_a_change_of_what_shows_is_confirmed(lagging: LaggingStore, late_view: MetadataView) -> None:
    lagging.news.open()
    await late_view.wait_for(await write(lagging, put_topic(topic("orders", "t1", partitions=2))))
    lagging.news.shut()
    await write(lagging, put_topic(topic("orders", "t1", partitions=8)))
    confirming = asyncio.ensure_future(late_view.confirm(keys.topic("orders")))
    await settle()
    lagging.news.open()
    await confirming
    assert late_view.topic("orders") == topic("orders", "t1", partitions=8)


async def test_what_nobody_has_is_confirmed_at_once(lagging: LaggingStore, late_view: MetadataView) -> None:
    """Others who share the store write all the time, and no watch of ours tells of it."""
    for _ in range(3):
        await write(lagging, Put("/others/key", b""))
    await late_view.confirm(keys.topic("orders"))
    await late_view.confirm_all(keys.NODES)
    await write(lagging, put_topic(topic("orders", "t1")))
    await write(lagging, Delete(keys.topic("orders")))
    await late_view.confirm(keys.topic("orders"))
    assert late_view.topic("orders") is None


async def test_what_is_gone_is_confirmed_when_it_shows_no_more(lagging: LaggingStore, late_view: MetadataView) -> None:
    lagging.news.open()
    await late_view.wait_for(await write(lagging, put_topic(topic("orders", "t1"))))
    lagging.news.shut()
    await write(lagging, put_topic(topic("orders", "t1", partitions=8)))  # the next news is not the last one
    await write(lagging, Delete(keys.topic("orders")))
    confirming = asyncio.ensure_future(late_view.confirm(keys.topic("orders")))
    await settle()
    assert not confirming.done()
    lagging.news.open()
    await confirming
    assert late_view.topic("orders") is None


async def test_what_came_again_while_its_end_was_waited_for_shows(
    lagging: LaggingStore, late_view: MetadataView
) -> None:
    lagging.news.open()
    await late_view.wait_for(await write(lagging, put_topic(topic("orders", "t1"))))
    lagging.news.shut()
    await write(lagging, Delete(keys.topic("orders")))
    confirming = asyncio.ensure_future(late_view.confirm(keys.topic("orders")))
    await settle()
    await write(lagging, put_topic(topic("orders", "t2")))
    lagging.news.open()
    await confirming
    assert late_view.topic("orders") == topic("orders", "t2")


async def test_what_showed_and_went_while_the_store_was_asked(lagging: LaggingStore, late_view: MetadataView) -> None:
    await write(lagging, put_topic(topic("orders", "t1")))
    lagging.answers.shut()
    confirming = asyncio.ensure_future(late_view.confirm(keys.topic("orders")))
    await settle()
    lagging.news.open()
    await settle()
    assert late_view.topic("orders") is not None
    lagging.news.shut()
    await write(lagging, Delete(keys.topic("orders")))
    lagging.answers.open()
    await settle()
    assert not confirming.done(), "the store has it no more, and it still shows"
    lagging.news.open()
    await confirming
    assert late_view.topic("orders") is None


async def test_all_under_a_prefix_are_confirmed(lagging: LaggingStore, late_view: MetadataView) -> None:
    for number in (1, 2, 3):
        await write(lagging, Put(keys.node(number), encode(NodeRegistration(number, 1, "d", "x"))))
    await write(lagging, Put("/others/key", b""))
    confirming = asyncio.ensure_future(late_view.confirm_all(keys.NODES))
    await settle()
    assert not confirming.done()
    lagging.news.open()
    await confirming
    assert [node.node_id for node in late_view.nodes()] == [1, 2, 3]
    assert len(late_view.steering.membership.live()) == 3


async def test_what_cannot_be_asked_is_not_confirmed(lagging: LaggingStore, late_view: MetadataView) -> None:
    lagging.before = {name: [CoordinationUnavailableError("down")] for name in ("get", "list")}
    with pytest.raises(CoordinationUnavailableError, match="down"):
        await late_view.confirm(keys.topic("orders"))
    with pytest.raises(CoordinationUnavailableError, match="down"):
        await late_view.confirm_all(keys.NODES)
    await late_view.confirm(keys.topic("orders"))


async def test_no_more_confirmations_than_the_limit(lagging: LaggingStore, late_view: MetadataView) -> None:
    lagging.answers.shut()
    asking = [
        asyncio.ensure_future(late_view.confirm(keys.topic("orders"))),
        asyncio.ensure_future(late_view.confirm_all(keys.NODES)),
    ]
    await settle()
    for third in (late_view.confirm(keys.topic("orders")), late_view.confirm_all(keys.NODES)):
        with pytest.raises(CoordinationUnavailableError, match="2 calls"):
            await third
    asking[0].cancel()
    await settle()
    fourth = asyncio.ensure_future(late_view.confirm(keys.topic("orders")))
    await settle()
    lagging.answers.open()
    await asyncio.gather(asking[1], fourth)
    await late_view.confirm(keys.topic("orders"))
