import asyncio

import pytest

from acklog.wire.identifiers import id_from_bits
from acklog.wire.problems import ProblemCode
from cluster.catalog.catalog_change import CatalogSettings
from cluster.catalog.topic_admin import TopicAdmin
from cluster.errors import ServerError
from cluster.model import keys
from cluster.model.codec import decode, encode
from cluster.model.values import Tombstone, Topic, TopicConfig
from cluster.ports.coordination import CoordinationUnavailableError, OutcomeUnknownError, Put
from tests.unit.cluster.conftest import Catalogue

CONFIG = TopicConfig()


async def create(topics: TopicAdmin, name: str = "orders", partitions: int = 4, config: TopicConfig = CONFIG) -> Topic:
    return await topics.create(name, partitions=partitions, config=config, replication_factor=1)


async def refuse(code: ProblemCode, call: object) -> ServerError:
    with pytest.raises(ServerError) as caught:
        await call  # type: ignore[misc]
    assert caught.value.code is code
    return caught.value


async def test_a_created_topic_shows_at_once(catalogue: Catalogue) -> None:
    topic = await create(catalogue.topics())
    assert topic == Topic(id_from_bits(1), "orders", 4, 1, catalogue.clock.now_ms(), CONFIG)
    assert catalogue.metadata.topic("orders") == topic
    item = await catalogue.store.get(keys.topic("orders"))
    assert item is not None
    assert decode(Topic, item.value) == topic


async def test_creating_again_is_fine_with_the_same_settings_only(catalogue: Catalogue) -> None:
    topics = catalogue.topics()
    topic = await create(topics)
    assert await create(topics) == topic
    await refuse(ProblemCode.TOPIC_EXISTS, create(topics, partitions=5))
    await refuse(ProblemCode.TOPIC_EXISTS, create(topics, config=TopicConfig(retention_ms=1)))
    await refuse(ProblemCode.TOPIC_EXISTS, topics.create("orders", partitions=4, config=CONFIG, replication_factor=2))
    found = await topics.get_or_create("orders", partitions=9, config=CONFIG, replication_factor=3)
    assert found == topic


@pytest.mark.parametrize("name", ["", "a b", "..", "__internal", "x" * 250])
async def test_bad_names(catalogue: Catalogue, name: str) -> None:
    error = await refuse(ProblemCode.INVALID_NAME, create(catalogue.topics(), name))
    assert error.field == "name"


@pytest.mark.parametrize("partitions", [0, -1, 1025])
async def test_partitions_out_of_range(catalogue: Catalogue, partitions: int) -> None:
    topics = catalogue.topics()
    error = await refuse(ProblemCode.INVALID_FIELD, create(topics, partitions=partitions))
    assert error.field == "partitions"
    await create(topics, partitions=1024)
    await refuse(ProblemCode.INVALID_FIELD, topics.update("orders", partitions=partitions))
    await refuse(ProblemCode.INVALID_FIELD, topics.create("t", partitions=1, config=CONFIG, replication_factor=0))


async def test_many_creations_of_one_name_make_one_topic(catalogue: Catalogue) -> None:
    first, second = catalogue.topics(), catalogue.topics()
    found = await asyncio.gather(*(create(each) for each in (first, second) * 5))
    assert len({topic.id for topic in found}) == 1


async def test_a_topic_that_another_gateway_created_meanwhile_is_found(catalogue: Catalogue) -> None:
    other = Topic("other", "orders", 7, 1, 0)

    await catalogue.store.store.transact([], [Put(keys.topic("orders"), encode(other))])
    found = await catalogue.topics().get_or_create("orders", partitions=4, config=CONFIG, replication_factor=1)
    assert found == other


async def test_update(catalogue: Catalogue) -> None:
    topics = catalogue.topics()
    topic = await create(topics)
    grown = await topics.update("orders", partitions=6)
    assert (grown.id, grown.partitions, grown.config) == (topic.id, 6, topic.config)
    changed = await topics.update("orders", config=TopicConfig(retention_ms=5))
    assert (changed.partitions, changed.config.retention_ms) == (6, 5)
    assert catalogue.metadata.topic("orders") == changed
    revision = catalogue.metadata.revision
    assert await topics.update("orders", partitions=6, config=changed.config) == changed
    assert catalogue.metadata.revision == revision
    error = await refuse(ProblemCode.INVALID_FIELD, topics.update("orders", partitions=5))
    assert error.field == "partitions"
    assert "grow" in error.detail


async def test_missing_topics_come_with_near_names(catalogue: Catalogue) -> None:
    topics = catalogue.topics()
    for name in ("orders", "orders.dlq", "payments"):
        await create(topics, name)
    for call in (topics.update("ordres", partitions=9), topics.delete("ordres")):
        error = await refuse(ProblemCode.TOPIC_NOT_FOUND, call)
        assert error.extra["near"] == ["orders", "orders.dlq"]
        assert "orders" in error.detail
    assert (await refuse(ProblemCode.TOPIC_NOT_FOUND, topics.delete("zebra"))).extra == {"near": []}


async def test_delete_leaves_a_tombstone_and_the_name_is_free_for_another_id(catalogue: Catalogue) -> None:
    topics = catalogue.topics()
    topic = await create(topics)
    await topics.delete("orders")
    assert catalogue.metadata.topic("orders") is None
    item = await catalogue.store.get(keys.tombstone(topic.id))
    assert item is not None
    assert decode(Tombstone, item.value) == Tombstone(topic.id, "orders", catalogue.clock.now_ms())
    again = await create(topics)
    assert again.id != topic.id


async def test_limits_on_topics_and_partitions(catalogue: Catalogue) -> None:
    topics = catalogue.topics(CatalogSettings(topics_max=3, partitions_max=10))
    await asyncio.gather(create(topics, "a"), create(topics, "b"))
    error = await refuse(ProblemCode.INVALID_FIELD, create(topics, "c", 3))
    assert error.field == "partitions"
    assert "10" in error.detail
    await create(topics, "c", 1)
    error = await refuse(ProblemCode.TOO_MANY_TOPICS, create(topics, "d", 1))
    assert "3" in error.detail
    await refuse(ProblemCode.INVALID_FIELD, topics.update("a", partitions=6))
    await topics.update("a", partitions=5)
    await create(topics, "a", 5)  # what exists is not refused


async def test_concurrent_creations_do_not_slip_past_the_limit(catalogue: Catalogue) -> None:
    topics = catalogue.topics(CatalogSettings(topics_max=3))
    outcomes = await asyncio.gather(*(create(topics, f"t{each}") for each in range(6)), return_exceptions=True)
    assert sum(isinstance(outcome, Topic) for outcome in outcomes) == 3


# --- an unreliable store ---


async def test_a_creation_whose_outcome_is_unknown_is_read_back(catalogue: Catalogue) -> None:
    store, topics = catalogue.store, catalogue.topics()
    store.after["transact"] = [OutcomeUnknownError("it happened")]
    creating = asyncio.ensure_future(create(topics, "happened"))
    await catalogue.clock.advance_ms(20)
    assert (await creating).id == id_from_bits(1)
    store.before["transact"] = [OutcomeUnknownError("it did not")]
    creating = asyncio.ensure_future(create(topics, "did-not"))
    await catalogue.clock.advance_ms(20)
    assert (await creating).id == id_from_bits(2)
    assert [topic.id for topic in catalogue.metadata.topics()] == [id_from_bits(2), id_from_bits(1)]


async def test_an_unknown_creation_that_was_deleted_since_keeps_its_id_dead(catalogue: Catalogue) -> None:
    store, topics = catalogue.store, catalogue.topics(CatalogSettings(attempts_max=3))
    store.after["transact"] = [OutcomeUnknownError("it happened")]
    creating = asyncio.ensure_future(create(topics))
    for _ in range(5):
        await asyncio.sleep(0)
    await catalogue.topics().delete("orders")
    await catalogue.clock.advance_ms(1000)
    await refuse(ProblemCode.OUTCOME_UNKNOWN, creating)
    assert catalogue.metadata.topic("orders") is None


async def test_an_unknown_update_and_deletion_are_read_back(catalogue: Catalogue) -> None:
    store, topics = catalogue.store, catalogue.topics()
    await create(topics)
    store.after["transact"] = [OutcomeUnknownError("it happened")]
    updating = asyncio.ensure_future(topics.update("orders", partitions=5))
    await catalogue.clock.advance_ms(20)
    assert (await updating).partitions == 5
    store.after["transact"] = [OutcomeUnknownError("it happened")]
    deleting = asyncio.ensure_future(topics.delete("orders"))
    await catalogue.clock.advance_ms(20)
    await deleting
    assert catalogue.metadata.topic("orders") is None


async def test_a_store_that_stays_silent_leaves_the_outcome_unknown(catalogue: Catalogue) -> None:
    store, topics = catalogue.store, catalogue.topics(CatalogSettings(attempts_max=3))
    store.before["transact"] = [OutcomeUnknownError("?")]
    creating = asyncio.ensure_future(create(topics))
    for _ in range(5):
        await asyncio.sleep(0)
    store.before["get"] = [CoordinationUnavailableError("down")] * 3
    await catalogue.clock.advance_ms(1000)
    await refuse(ProblemCode.OUTCOME_UNKNOWN, creating)
    assert catalogue.clock.sleeping == 0


async def test_an_unreachable_store_did_nothing(catalogue: Catalogue) -> None:
    catalogue.store.before["transact"] = [CoordinationUnavailableError("down")]
    error = await refuse(ProblemCode.UNAVAILABLE, create(catalogue.topics()))
    assert error.is_retriable
    assert error.retry_after_ms is not None


async def test_endless_conflicts_end_in_conflict(catalogue: Catalogue) -> None:
    topics = catalogue.topics(CatalogSettings(attempts_max=4))
    topic = await create(topics)
    real_get = catalogue.store.store.get

    async def get_and_change(key: str) -> object:
        item = await real_get(key)
        await catalogue.store.store.transact([], [Put(key, encode(topic))])
        return item

    catalogue.store.store.get = get_and_change  # type: ignore[method-assign,assignment]
    catalogue.store.calls.clear()
    await refuse(ProblemCode.CONFLICT, topics.update("orders", partitions=5))
    assert catalogue.store.calls.count("transact") == 4


async def test_a_change_that_does_not_show_in_time_says_so(catalogue: Catalogue) -> None:
    topics = catalogue.topics(CatalogSettings(view_timeout_ms=1))
    await catalogue.metadata.close()
    await refuse(ProblemCode.UNAVAILABLE, create(topics))
    assert await catalogue.store.get(keys.topic("orders")) is not None


async def test_decommissioned_partitions_are_remembered_for_ever(catalogue: Catalogue) -> None:
    topics = catalogue.topics()
    await create(topics)
    assert (await topics.decommission("orders", [2])).decommissioned == (2,)
    assert (await topics.decommission("orders", [0, 2])).decommissioned == (0, 2)
    grown = await topics.update("orders", partitions=6)
    assert (grown.partitions, grown.decommissioned) == (6, (0, 2))
    assert catalogue.metadata.topic("orders") == grown


async def test_at_least_one_partition_goes_on(catalogue: Catalogue) -> None:
    topics = catalogue.topics()
    await create(topics, partitions=2)
    await refuse(ProblemCode.TOPIC_NOT_FOUND, topics.decommission("order", [0]))
    for numbers in ([2], [-1], [0, 1]):
        error = await refuse(ProblemCode.INVALID_FIELD, topics.decommission("orders", numbers))
        assert error.field == "partitions"
    await topics.decommission("orders", [1])
    await refuse(ProblemCode.INVALID_FIELD, topics.decommission("orders", [0]))


async def test_the_number_of_replicas_can_change(catalogue: Catalogue) -> None:
    topics = catalogue.topics()
    await create(topics)
    assert (await topics.update("orders", replication_factor=3)).replication_factor == 3
    least = TopicConfig(min_insync_replicas=3)
    assert (await topics.update("orders", config=least)).replication_factor == 3
    error = await refuse(ProblemCode.INVALID_FIELD, topics.update("orders", replication_factor=2))
    assert error.field == "config.minInsyncReplicas"
    topic = await topics.update("orders", replication_factor=1, config=CONFIG)
    assert (topic.replication_factor, topic.config) == (1, CONFIG)
