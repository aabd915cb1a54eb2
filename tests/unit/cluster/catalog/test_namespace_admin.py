"""Namespaces: what is made in them, how much of it, and that limits hold where several make something at once."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from acklog.wire.limits import NAME_LENGTH_MAX, NAMESPACE_LENGTH_MAX
from acklog.wire.problems import ProblemCode
from cluster.catalog.catalog_change import CatalogSettings
from cluster.catalog.namespace_admin import NamespaceAdmin
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.namespace import Namespace, NamespaceSettings
from cluster.model.needed_protocol import PROTOCOL_OF_NAMESPACES
from cluster.model.values import Group, GroupMode, GroupSettings, NodeRegistration, Topic, TopicConfig
from cluster.ports.coordination import Compare, Operation, OutcomeUnknownError, Put, TransactionResult
from tests.support.lagging_store import LaggingStore
from tests.support.manual_clock import settle
from tests.unit.cluster.conftest import Catalogue


def admin_of(catalogue: Catalogue, settings: CatalogSettings | None = None) -> NamespaceAdmin:
    return NamespaceAdmin(
        catalogue.store, catalogue.metadata, clock=catalogue.clock, entropy=catalogue.entropy, settings=settings
    )


async def made(catalogue: Catalogue, name: str = "shop", **settings: int) -> Namespace:
    return (await admin_of(catalogue).get_or_create(name, NamespaceSettings(**settings)))[0]


async def topic(catalogue: Catalogue, name: str, partitions: int = 1) -> Topic:
    return await catalogue.topics().create(name, partitions=partitions, config=TopicConfig(), replication_factor=1)


async def group(catalogue: Catalogue, name: str) -> Group:
    return await catalogue.groups().create(name, mode=GroupMode.SHARED, settings=GroupSettings())


async def refused(code: ProblemCode, call: Any) -> ServerError:
    with pytest.raises(ServerError) as caught:
        await call
    assert caught.value.code is code, caught.value
    return caught.value


class InterruptedStore(LaggingStore):
    """Before its next transaction something else happens."""

    meanwhile: Callable[[], Awaitable[None]] | None = None

    async def transact(
        self, compares: Sequence[Compare], then: Sequence[Operation], otherwise: Sequence[Operation] = ()
    ) -> TransactionResult:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            await meanwhile()
        return await super().transact(compares, then, otherwise)


@asynccontextmanager
async def another_gateway(catalogue: Catalogue) -> AsyncIterator[tuple[Catalogue, InterruptedStore]]:
    store = InterruptedStore(catalogue.store)
    metadata = MetadataView(store, catalogue.clock)
    await metadata.start()
    yield Catalogue(catalogue.clock, store, metadata, catalogue.entropy), store
    await metadata.close()
    await store.close()


async def test_one_is_made_shown_and_found_again(catalogue: Catalogue) -> None:
    admin = admin_of(catalogue)
    namespace, is_new = await admin.get_or_create("shop", NamespaceSettings(topics_max=2))
    assert is_new
    assert catalogue.metadata.namespaces.find("shop") == namespace
    assert await admin.get_or_create("shop", NamespaceSettings()) == (namespace, False)
    assert catalogue.metadata.namespaces.all() == [namespace]


@pytest.mark.parametrize("name", ["", "a/b", "__a", ".", "..", "a b", "x" * (NAMESPACE_LENGTH_MAX + 1)])
async def test_bad_names(catalogue: Catalogue, name: str) -> None:
    await refused(ProblemCode.INVALID_NAME, made(catalogue, name))
    await refused(ProblemCode.INVALID_NAME, admin_of(catalogue).delete(name))


async def test_names_at_the_limit(catalogue: Catalogue) -> None:
    namespace = "n" * NAMESPACE_LENGTH_MAX
    await made(catalogue, namespace)
    longest = f"{namespace}/{'t' * (NAME_LENGTH_MAX - NAMESPACE_LENGTH_MAX - 1)}"
    assert (await topic(catalogue, longest)).name == longest
    await refused(ProblemCode.INVALID_NAME, topic(catalogue, f"{longest}t"))


async def test_nothing_is_made_where_there_is_no_namespace(catalogue: Catalogue) -> None:
    await refused(ProblemCode.NAMESPACE_NOT_FOUND, topic(catalogue, "shop/orders"))
    await refused(ProblemCode.NAMESPACE_NOT_FOUND, group(catalogue, "shop/billing"))
    assert catalogue.metadata.topics() == []
    assert catalogue.metadata.groups() == []


async def test_limits_hold_at_the_limit(catalogue: Catalogue) -> None:
    await made(catalogue, topics_max=2, partitions_max=5, groups_max=1)
    await topic(catalogue, "shop/a", 2)
    await refused(ProblemCode.NAMESPACE_FULL, topic(catalogue, "shop/b", 4))
    await topic(catalogue, "shop/b", 2)
    fault = await refused(ProblemCode.NAMESPACE_FULL, topic(catalogue, "shop/c"))
    assert (fault.field, fault.extra) == ("topic", {"limit": "topicsMax", "max": 2})
    await catalogue.topics().update("shop/a", partitions=3)
    fault = await refused(ProblemCode.NAMESPACE_FULL, catalogue.topics().update("shop/b", partitions=3))
    assert (fault.field, fault.extra) == ("partitions", {"limit": "partitionsMax", "max": 5})
    await group(catalogue, "shop/g")
    fault = await refused(ProblemCode.NAMESPACE_FULL, group(catalogue, "shop/h"))
    assert (fault.field, fault.extra) == ("group", {"limit": "groupsMax", "max": 1})
    assert await topic(catalogue, "shop/a", 3) == catalogue.metadata.topic("shop/a")  # there is no more of it
    await topic(catalogue, "c")  # in no namespace, and another one's limits are none of it
    await made(catalogue, "other")
    await topic(catalogue, "other/c")


async def test_what_goes_leaves_its_room(catalogue: Catalogue) -> None:
    await made(catalogue, topics_max=1, groups_max=1)
    await topic(catalogue, "shop/a")
    await group(catalogue, "shop/g")
    await catalogue.topics().delete("shop/a")
    await catalogue.groups().delete("shop/g")
    await topic(catalogue, "shop/b")
    await group(catalogue, "shop/h")


async def test_limits_below_what_there_is_take_nothing_away(catalogue: Catalogue) -> None:
    await made(catalogue)
    await topic(catalogue, "shop/a", 4)
    updated = await admin_of(catalogue).update("shop", lambda before: replace(before, partitions_max=2))
    assert updated.settings == NamespaceSettings(partitions_max=2)
    assert catalogue.metadata.namespaces.find("shop") == updated
    await refused(ProblemCode.NAMESPACE_FULL, topic(catalogue, "shop/b"))
    await catalogue.topics().update("shop/a", config=TopicConfig(retention_ms=1))
    await refused(ProblemCode.NAMESPACE_NOT_FOUND, admin_of(catalogue).update("nil", lambda before: before))


async def test_gateways_that_make_topics_and_groups_at_once_keep_to_the_limits(catalogue: Catalogue) -> None:
    await made(catalogue, topics_max=5, partitions_max=7, groups_max=3)
    async with another_gateway(catalogue) as (other, _), another_gateway(catalogue) as (third, _):
        gateways = (catalogue, other, third)
        topics = [(each, each.topics()) for each in gateways]
        groups = [each.groups() for each in gateways]
        calls = [
            admin.create(f"shop/t{number}", partitions=2, config=TopicConfig(), replication_factor=1)
            for number in range(4)
            for _, admin in topics
        ]
        calls += [
            admin.create(f"shop/g{number}-{index}", mode=GroupMode.SHARED, settings=GroupSettings())  # type: ignore[misc]
            for number in range(3)
            for index, admin in enumerate(groups)
        ]
        answers = await asyncio.gather(*calls, return_exceptions=True)
    faults = [answer for answer in answers if isinstance(answer, BaseException)]
    assert {fault.code for fault in faults if isinstance(fault, ServerError)} <= {
        ProblemCode.NAMESPACE_FULL,
        ProblemCode.CONFLICT,
    }
    assert all(isinstance(fault, ServerError) for fault in faults)
    stored = (await catalogue.store.list(keys.TOPICS)).items
    assert len(stored) == 3  # of two partitions each: seven are no room for a fourth
    assert 1 <= len((await catalogue.store.list(keys.GROUPS)).items) <= 3


async def test_a_gateway_whose_news_are_late_waits_for_them_before_it_counts(catalogue: Catalogue) -> None:
    await made(catalogue, topics_max=1)
    async with another_gateway(catalogue) as (other, store):
        store.news.shut()
        await topic(catalogue, "shop/first")
        assert other.metadata.topic("shop/first") is None
        making = asyncio.ensure_future(topic(other, "shop/second"))
        await settle()
        assert not making.done()
        store.news.open()
        await refused(ProblemCode.NAMESPACE_FULL, making)


async def test_what_has_something_in_it_is_not_deleted(catalogue: Catalogue) -> None:
    admin = admin_of(catalogue)
    namespace = await made(catalogue)
    await made(catalogue, "shop2")
    await topic(catalogue, "shop2/orders")
    await topic(catalogue, "shop/orders")
    await refused(ProblemCode.NAMESPACE_NOT_EMPTY, admin.delete("shop"))
    await catalogue.topics().delete("shop/orders")
    await group(catalogue, "shop/g")
    await refused(ProblemCode.NAMESPACE_NOT_EMPTY, admin.delete("shop"))
    await catalogue.groups().delete("shop/g")
    await admin.delete("shop")
    assert catalogue.metadata.namespaces.find("shop") is None
    assert await catalogue.store.get(keys.tombstone(namespace.id)) is not None
    await refused(ProblemCode.NAMESPACE_NOT_FOUND, admin.delete("shop"))
    assert (await made(catalogue)).id != namespace.id


async def test_nothing_is_made_in_one_that_is_deleted_meanwhile(catalogue: Catalogue) -> None:
    await made(catalogue)
    async with another_gateway(catalogue) as (other, store):
        store.meanwhile = lambda: admin_of(catalogue).delete("shop")
        await refused(ProblemCode.NAMESPACE_NOT_FOUND, topic(other, "shop/orders"))
    assert (await catalogue.store.list(keys.TOPICS)).items == ()


async def test_one_that_gets_something_meanwhile_is_not_deleted(catalogue: Catalogue) -> None:
    await made(catalogue)
    async with another_gateway(catalogue) as (other, store):

        async def create() -> None:
            await topic(catalogue, "shop/orders")

        store.meanwhile = create
        await refused(ProblemCode.NAMESPACE_NOT_EMPTY, admin_of(other).delete("shop"))
    assert catalogue.metadata.namespaces.find("shop") is not None


async def test_the_last_room_is_given_once(catalogue: Catalogue) -> None:
    await made(catalogue, topics_max=1, groups_max=1)
    async with another_gateway(catalogue) as (other, store):

        async def create() -> None:
            await topic(catalogue, "shop/first")
            await group(catalogue, "shop/first")

        store.meanwhile = create
        await refused(ProblemCode.NAMESPACE_FULL, topic(other, "shop/second"))
        await refused(ProblemCode.NAMESPACE_FULL, group(other, "shop/second"))
    assert [each.name for each in catalogue.metadata.topics()] == ["shop/first"]


async def test_a_creation_whose_outcome_is_unknown_is_read_back(catalogue: Catalogue) -> None:
    catalogue.store.after = {"transact": [OutcomeUnknownError("lost")]}
    making = asyncio.ensure_future(admin_of(catalogue).get_or_create("shop", NamespaceSettings()))
    await catalogue.clock.advance_ms(1_000)
    _, is_new = await making
    assert is_new
    catalogue.store.after = {"transact": [OutcomeUnknownError("lost")]}
    deleting = asyncio.ensure_future(admin_of(catalogue).delete("shop"))
    await catalogue.clock.advance_ms(1_000)
    await deleting


async def test_there_are_so_many_at_most(catalogue: Catalogue) -> None:
    admin = admin_of(catalogue, CatalogSettings(namespaces_max=2))
    for name in ("a", "b"):
        await admin.get_or_create(name, NamespaceSettings())
    await refused(ProblemCode.TOO_MANY_NAMESPACES, admin.get_or_create("c", NamespaceSettings()))
    await admin.get_or_create("a", NamespaceSettings())


async def test_a_node_of_an_earlier_version_keeps_namespaces_away(catalogue: Catalogue) -> None:
    earlier = NodeRegistration(1, 1, "a", "", newest_protocol=PROTOCOL_OF_NAMESPACES - 1)
    result = await catalogue.store.transact([], [Put(keys.node(1), encode(earlier))])
    await catalogue.metadata.wait_for(result.revision)
    await refused(ProblemCode.NODES_TOO_OLD, made(catalogue))


async def test_the_total_of_the_cluster_is_not_told_to_who_is_in_a_namespace(catalogue: Catalogue) -> None:
    await made(catalogue)
    topics = catalogue.topics(CatalogSettings(partitions_max=17))
    await topics.create("others", partitions=13, config=TopicConfig(), replication_factor=1)
    for name, is_told in (("shop/orders", False), ("orders", True)):
        call = topics.create(name, partitions=5, config=TopicConfig(), replication_factor=1)
        fault = await refused(ProblemCode.INVALID_FIELD, call)
        assert ("13" in fault.detail) == is_told
        assert "17" in fault.detail
