"""Entries of queues: claimed once, completed by whoever comes, and never changed by who means another one."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

import msgspec
import pytest
from msgspec.structs import replace

from cluster.catalog.queue_admin import QueueAdmin
from cluster.metadata.queue_state import QueueState
from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.sqs_queue import SqsQueue, group_name_of, queue_of_group
from cluster.model.values import GroupMode, GroupSettings, TopicConfig
from cluster.ports.coordination import Changed, CoordinationUnavailableError, KeyValue, OutcomeUnknownError, Put
from tests.unit.cluster.conftest import Catalogue

ATTRIBUTES = {"DelaySeconds": "5", "Policy": "{}"}
_Result = TypeVar("_Result")


def admin_of(catalogue: Catalogue) -> QueueAdmin:
    return QueueAdmin(catalogue.store, catalogue.metadata, clock=catalogue.clock, entropy=catalogue.entropy)


async def in_time(catalogue: Catalogue, call: Awaitable[_Result]) -> _Result:
    task = asyncio.ensure_future(call)
    while not task.done():
        await catalogue.clock.advance_ms(1_000)
    return await task


async def made(catalogue: Catalogue, name: str = "orders") -> SqsQueue:
    admin = admin_of(catalogue)
    claim, _ = await admin.claim(name, ATTRIBUTES, {"a": "b"}, instead_of=None)
    queue = await admin.complete(claim, topic_id="t", group_id="g", attributes={"Policy": "{}"})
    assert queue is not None
    return queue


async def test_a_claim_is_completed_once(catalogue: Catalogue) -> None:
    admin = admin_of(catalogue)
    claim, is_own = await admin.claim("orders", ATTRIBUTES, {"a": "b"}, instead_of=None)
    assert (is_own, claim.is_claim, claim.attributes, claim.tags) == (True, True, ATTRIBUTES, {"a": "b"})
    assert catalogue.metadata.queues.find("orders") == await admin.find("orders") == claim
    assert await admin.claim("orders", {}, {}, instead_of=None) == (claim, False)
    queue = await admin.complete(claim, topic_id="t", group_id="g", attributes={"Policy": "{}"})
    assert queue == replace(claim, topic_id="t", group_id="g", attributes={"Policy": "{}"})
    assert catalogue.metadata.queues.all() == [queue]
    assert await admin.complete(claim, topic_id="late", group_id="late", attributes={}) == queue


async def test_many_claims_at_once_are_one(catalogue: Catalogue) -> None:
    admins = [admin_of(catalogue), admin_of(catalogue)] * 5
    found = await asyncio.gather(*[admin.claim("orders", {}, {}, instead_of=None) for admin in admins])
    assert len({queue.id for queue, _ in found}) == 1
    assert sum(is_own for _, is_own in found) == 1


async def test_who_means_another_queue_changes_nothing(catalogue: Catalogue) -> None:
    admin = admin_of(catalogue)
    first = await made(catalogue)
    await admin.remove(first)
    assert catalogue.metadata.queues.find("orders") is None
    second = await made(catalogue)
    assert second.id != first.id
    assert await admin.update(first, lambda queue: replace(queue, tags={})) is None
    assert await admin.complete(first, topic_id="x", group_id="x", attributes={}) is None
    await admin.remove(first)
    assert await admin.claim("orders", {}, {}, instead_of=first) == (second, False)
    assert await admin.find("orders") == second
    third, is_own = await admin.claim("orders", {}, {}, instead_of=second)
    assert (is_own, third.is_claim) == (True, True)


async def test_a_claim_that_was_completed_meanwhile_is_not_removed(catalogue: Catalogue) -> None:
    admin = admin_of(catalogue)
    claim, _ = await admin.claim("orders", {}, {}, instead_of=None)
    queue = await admin.complete(claim, topic_id="t", group_id="g", attributes={})
    assert queue is not None
    assert not await admin.remove(claim)
    assert catalogue.metadata.queues.find("orders") == queue
    assert await admin.remove(queue)
    assert await admin.remove(queue)  # what is gone is gone


async def test_steps_whose_outcome_is_unknown_are_read_back(catalogue: Catalogue) -> None:
    admin = admin_of(catalogue)
    lost = [OutcomeUnknownError("lost")]
    catalogue.store.after = {"transact": list(lost)}
    claim, is_own = await in_time(catalogue, admin.claim("orders", {}, {}, instead_of=None))
    assert is_own
    catalogue.store.after = {"transact": list(lost)}
    queue = await in_time(catalogue, admin.complete(claim, topic_id="t", group_id="g", attributes={}))
    assert queue is not None
    assert not queue.is_claim
    catalogue.store.after = {"transact": list(lost)}
    await in_time(catalogue, admin.remove(queue))
    assert await admin.find("orders") is None


async def test_what_a_newer_version_knows_stays(catalogue: Catalogue) -> None:
    queue = await made(catalogue)
    newer = encode(queue).replace(b'"name"', b'"colour":"a","name"')
    await catalogue.store.transact([], [Put(keys.sqs_queue("orders"), newer)])
    await admin_of(catalogue).update(queue, lambda before: replace(before, purged_at_ms=5))
    item = await catalogue.store.get(keys.sqs_queue("orders"))
    assert item is not None
    assert msgspec.json.decode(item.value)["colour"] == "a"
    assert msgspec.json.decode(item.value)["purgedAtMs"] == 5


async def test_a_store_that_is_away(catalogue: Catalogue) -> None:
    catalogue.store.before = {"get": [CoordinationUnavailableError("away")]}
    with pytest.raises(Exception, match="away"):
        await admin_of(catalogue).find("orders")


def test_what_cannot_be_read_does_not_show() -> None:
    key = keys.sqs_queue("orders")
    state = QueueState([KeyValue(key, b"{}", 1, 1, 1)])
    assert (len(state), list(state.undecodable)) == (0, [key])
    queue = SqsQueue("orders", "t", "g", 1, 1)
    assert state.apply(Changed(KeyValue(key, encode(queue), 1, 1, 1)))
    assert (state.find("orders"), state.undecodable) == (queue, {})
    assert not state.apply(Changed(KeyValue(keys.topic("orders"), b"{}", 1, 1, 1)))


def test_names_of_groups() -> None:
    assert queue_of_group(group_name_of("orders")) == "orders"
    for other in ("orders", "sqs.", "sqs./orders", "shop/sqs.orders", "sqs.shop/orders", "sqs.__a", "sqs.a\n"):
        assert queue_of_group(other) is None


async def test_a_topic_and_a_group_are_deleted_by_their_ids(catalogue: Catalogue) -> None:
    topics, groups = catalogue.topics(), catalogue.groups()
    topic = await topics.create("orders", partitions=1, config=TopicConfig(), replication_factor=1)
    group = await groups.create("sqs.orders", mode=GroupMode.SHARED, settings=GroupSettings())
    await topics.delete("orders", topic_id="another")
    await groups.delete("sqs.orders", group_id="another")
    assert catalogue.metadata.topic("orders") == topic
    assert catalogue.metadata.group("sqs.orders") == group
    for _ in range(2):  # what is gone is no fault
        await topics.delete("orders", topic_id=topic.id)
        await groups.delete("sqs.orders", group_id=group.id)
    assert catalogue.metadata.topic("orders") is None
    assert catalogue.metadata.group("sqs.orders") is None
    assert await catalogue.store.get(keys.tombstone(topic.id)) is not None
    assert await catalogue.store.get(keys.tombstone(group.id)) is not None
