"""A cluster of one node: from any store whatever, doing what the planner says leads to where nothing is left to do."""

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.controller.catalog_image import CatalogImage
from cluster.controller.image import ClusterImage
from cluster.controller.leadership import NEW_LEADER_EPOCH
from cluster.controller.planner import Planner, plan_forgetting
from cluster.controller.planner_settings import PlannerSettings
from cluster.controller.steps import Step, pack
from cluster.model import keys
from cluster.model.codec import decode, encode
from cluster.model.values import NodeRegistration, PartitionState, Tombstone, Topic
from cluster.ports.coordination import MAX_TRANSACTION_OPERATIONS, Listing, Put
from cluster.stores.memory_store import MemoryStore
from tests.support.manual_clock import ManualClock

ME = NodeRegistration(1, 7, "", "")
SETTINGS = PlannerSettings(moves_max=0, leader_moves_max=0)
IDS = ("id0", "id1", "id2", "id3")

partition_states = st.tuples(
    st.integers(0, 5),
    st.sampled_from([1, 1, 1, 2]),  # mostly led by this node
    st.integers(1, 8),
    st.integers(1, 20),
)


@st.composite
def worlds(draw: st.DrawFn) -> list[Put]:
    puts = []
    for index, topic_id in enumerate(IDS):
        kind = draw(st.sampled_from(["topic", "deleted", "orphan", "nothing"]))
        if kind == "topic":
            topic = Topic(topic_id, f"name{index}", draw(st.integers(1, 6)), 1, 0)
            puts.append(Put(keys.topic(topic.name), encode(topic)))
        if kind == "deleted":
            tombstone = Tombstone(topic_id, f"name{index}", draw(st.integers(0, 100)))
            puts.append(Put(keys.tombstone(topic_id), encode(tombstone)))
        if kind != "nothing":
            for number, leader, incarnation, epoch in draw(
                st.lists(partition_states, max_size=6, unique_by=lambda each: each[0])
            ):
                state = PartitionState(topic_id, number, (leader,), (leader,), leader, incarnation, epoch)
                puts.append(Put(keys.partition(topic_id, number), encode(state)))
        if draw(st.booleans()):
            puts.append(Put(keys.offsets("group", topic_id), b"{}"))
    return puts


async def stored(puts: list[Put]) -> MemoryStore:
    store = MemoryStore(ManualClock())
    for put in puts:
        await store.transact([], [put])
    return store


def steps_from(listing: Listing) -> tuple[Step, ...]:
    return Planner(SETTINGS).plan(ClusterImage(listing.items, sole=ME), 0).steps


async def run_once(store: MemoryStore, listing: Listing) -> int:
    """Execute the plan made from `listing`; returns how many transactions took effect."""
    done = 0
    for planned in pack(steps_from(listing)):
        done += (await store.transact(planned.compares, planned.operations)).succeeded
    return done


def states(listing: Listing) -> dict[str, PartitionState]:
    return {
        item.key: decode(PartitionState, item.value) for item in listing.items if item.key.startswith(keys.PARTITIONS)
    }


@settings(max_examples=60, deadline=None)
@given(worlds())
def test_one_pass_leads_to_where_nothing_is_left_to_do(puts: list[Put]) -> None:
    async def main() -> None:
        store = await stored(puts)
        before = await store.list("")
        await run_once(store, before)
        after = await store.list("")
        assert await run_once(store, after) == 0
        assert await store.list("") == after
        old, new = states(before), states(after)
        topics = [decode(Topic, item.value) for item in after.items if item.key.startswith(keys.TOPICS)]
        live = {topic.id for topic in topics}
        for topic in topics:
            for number in range(topic.partitions):
                key = keys.partition(topic.id, number)
                if key not in old:
                    expected = PartitionState(topic.id, number, (1,), (1,), 1, ME.incarnation, NEW_LEADER_EPOCH)
                    assert new[key] == expected
        for key, state in new.items():
            if key not in old or state.topic_id not in live:
                continue
            if old[key].leader != ME.node_id:
                assert state == old[key], "what others lead is theirs"
            else:
                assert state.leader_incarnation == ME.incarnation
                is_taken = old[key].leader_incarnation != ME.incarnation
                assert state.leader_epoch == old[key].leader_epoch + is_taken
        tombstones = {item.key.removeprefix(keys.TOMBSTONES) for item in after.items if "tombstones" in item.key}
        assert {state.topic_id for state in new.values()}.isdisjoint(tombstones)
        gone = {state.topic_id for key, state in old.items() if key not in new}
        assert gone <= tombstones, "nothing is deleted without a tombstone"

    asyncio.run(main())


@settings(max_examples=50, deadline=None)
@given(worlds(), st.lists(st.tuples(st.sampled_from(IDS), st.integers(0, 5), st.booleans()), max_size=4))
def test_a_plan_made_from_an_old_listing_undoes_nothing(
    puts: list[Put], meanwhile: list[tuple[str, int, bool]]
) -> None:
    """Whatever others wrote in between stays; the next look completes the rest."""

    async def main() -> None:
        store = await stored(puts)
        stale = await store.list("")
        written = {}
        for topic_id, number, is_other in meanwhile:
            leader = 2 if is_other else 1
            state = PartitionState(topic_id, number, (leader,), (leader,), leader, ME.incarnation, 99)
            put = Put(keys.partition(topic_id, number), encode(state))
            await store.transact([], [put])
            written[put.key] = state
        await run_once(store, stale)
        now = states(await store.list(""))
        for key, state in written.items():
            is_deleted = await store.get(keys.tombstone(state.topic_id)) is not None
            assert is_deleted or now[key] == state
        for _ in range(2):
            await run_once(store, await store.list(""))
        assert await run_once(store, await store.list("")) == 0

    asyncio.run(main())


@settings(max_examples=50, deadline=None)
@given(worlds(), st.integers(0, 101))
def test_only_old_tombstones_of_which_nothing_is_left_are_forgotten(puts: list[Put], deleted_before_ms: int) -> None:
    async def main() -> None:
        store = await stored(puts)
        before = await store.list("")
        entries = CatalogImage(before.items).entries()
        for planned in pack(
            step for each in entries for step in plan_forgetting(each, deleted_before_ms=deleted_before_ms)
        ):
            assert (await store.transact(planned.compares, planned.operations)).succeeded
        left = {item.key for item in (await store.list("")).items}
        for item in before.items:
            if item.key in left:
                continue
            assert item.key.startswith(keys.TOMBSTONES)
            tombstone = decode(Tombstone, item.value)
            assert tombstone.deleted_at_ms < deleted_before_ms
            assert not any(tombstone.id in key for key in left)

    asyncio.run(main())


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 700))
def test_packing_keeps_the_limits_and_the_order(partitions: int) -> None:
    steps = steps_from(asyncio.run(one_topic(max(1, partitions))))[:partitions]
    packed = pack(steps)
    assert [operation for each in packed for operation in each.operations] == [step.operation for step in steps]
    for each in packed:
        assert 0 < len(each.operations) <= MAX_TRANSACTION_OPERATIONS
        assert len(each.compares) <= MAX_TRANSACTION_OPERATIONS
    assert len(packed) == -(-partitions // (MAX_TRANSACTION_OPERATIONS - 1)), "no more transactions than needed"


async def one_topic(partitions: int) -> Listing:
    store = await stored([Put(keys.topic("t"), encode(Topic("id", "t", partitions, 1, 0)))])
    return await store.list("")
