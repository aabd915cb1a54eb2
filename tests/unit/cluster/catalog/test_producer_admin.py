"""Opening named producers in the coordination store (rules R16, R18)."""

import asyncio

import pytest

from acklog.wire.problems import ProblemCode
from cluster.catalog.catalog_change import CatalogSettings
from cluster.catalog.producer_admin import ProducerAdmin
from cluster.errors import ServerError
from cluster.metadata.producer_state import ProducerState
from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.needed_protocol import PROTOCOL_OF_PRODUCERS
from cluster.model.values import NodeRegistration, Topic, TopicConfig
from cluster.ports.coordination import CoordinationUnavailableError, OutcomeUnknownError, Put
from tests.unit.cluster.conftest import Catalogue

TOPIC = Topic("0123456789abc", "orders", 8, 1, 0)
OTHER = Topic("0123456789abd", "bills", 8, 1, 0)
HOUR_MS = 60 * 60 * 1000
SMALL = CatalogSettings(producers_max=2, producer_expiry_ms=24 * HOUR_MS, producer_use_ms=HOUR_MS)


def producers(catalogue: Catalogue, settings: CatalogSettings | None = None) -> ProducerAdmin:
    return ProducerAdmin(
        catalogue.store, catalogue.metadata, clock=catalogue.clock, entropy=catalogue.entropy, settings=settings
    )


async def created(catalogue: Catalogue, name: str) -> Topic:
    return await catalogue.topics().create(name, partitions=1, config=TopicConfig(), replication_factor=1)


async def refuse(code: ProblemCode, call: object) -> ServerError:
    with pytest.raises(ServerError) as caught:
        await call  # type: ignore[misc]
    assert caught.value.code is code
    return caught.value


async def test_each_opening_takes_the_next_epoch_and_shows_at_once(catalogue: Catalogue) -> None:
    admin = producers(catalogue)
    first = await admin.open(TOPIC, "p", "a")
    second = await admin.open(TOPIC, "p", "b")
    third = await admin.open(TOPIC, "p", "a")  # it had the name before, and lost it
    assert [each.epoch for each in (first, second, third)] == [1, 2, 3]
    assert first.id == second.id == third.id
    assert catalogue.metadata.producers.find(first.id) == third
    elsewhere = await admin.open(OTHER, "p", "a")
    assert (elsewhere.epoch, elsewhere.id != first.id) == (1, True)


async def test_who_opened_last_keeps_its_epoch_however_often_it_asks(catalogue: Catalogue) -> None:
    admin = producers(catalogue)
    await admin.open(TOPIC, "p", "a")
    assert [(await admin.open(TOPIC, "p", "b")).epoch for _ in range(3)] == [2, 2, 2]


async def test_nobody_fences_itself_by_a_write_that_was_not_answered(catalogue: Catalogue) -> None:
    admin = producers(catalogue)
    catalogue.store.after["transact"] = [OutcomeUnknownError("lost"), OutcomeUnknownError("lost")]
    opening = asyncio.create_task(admin.open(TOPIC, "p", "a"))
    for _ in range(10):
        await catalogue.clock.advance_ms(1000)
    assert (await opening).epoch == 1
    catalogue.store.before["get"] = [CoordinationUnavailableError("away")]
    await refuse(ProblemCode.UNAVAILABLE, admin.open(TOPIC, "p", "b"))


async def test_many_openings_at_once_take_an_epoch_each(catalogue: Catalogue) -> None:
    admins = [producers(catalogue), producers(catalogue)]
    opened = await asyncio.gather(*(admins[number % 2].open(TOPIC, "p", f"i{number}") for number in range(8)))
    assert sorted(each.epoch for each in opened) == list(range(1, 9))
    assert len({each.id for each in opened}) == 1


async def test_names_are_bounded_and_the_longest_unused_gives_way(catalogue: Catalogue) -> None:
    admin = producers(catalogue, SMALL)
    topic, other = [await created(catalogue, name) for name in ("orders", "bills")]
    oldest = await admin.open(topic, "a", "i")
    await catalogue.clock.advance_ms(HOUR_MS)
    used = await admin.open(other, "b", "i")
    refused = await refuse(ProblemCode.TOO_MANY_PRODUCERS, admin.open(topic, "c", "i"))
    assert refused.field == "producer"
    assert (await admin.open(topic, "a", "i")) == oldest, "those that are there can be opened"
    await catalogue.clock.advance_ms(23 * HOUR_MS - 1)
    await refuse(ProblemCode.TOO_MANY_PRODUCERS, admin.open(topic, "c", "i"))
    await catalogue.clock.advance_ms(1)
    await admin.note_use(used)
    third = await admin.open(topic, "c", "i")
    shown = catalogue.metadata.producers
    assert (shown.find(oldest.id), shown.find(third.id), len(shown)) == (None, third, 2)
    # What is opened again is another one: whoever still has the old id is unknown, not taken for it.
    await catalogue.clock.advance_ms(24 * HOUR_MS)
    again = await admin.open(topic, "a", "j")
    assert (again.epoch, again.id != oldest.id) == (1, True)


async def test_who_gives_way_is_found_without_a_look_at_all(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = producers(catalogue, SMALL)
    topic = await created(catalogue, "orders")
    oldest = await admin.open(topic, "a", "i")
    await admin.open(topic, "b", "i")
    await catalogue.clock.advance_ms(25 * HOUR_MS)
    monkeypatch.setattr(ProducerState, "all", lambda _: pytest.fail("there may be ten thousand"))
    await admin.open(topic, "c", "i")
    assert catalogue.metadata.producers.find(oldest.id) is None


async def test_producers_of_topics_that_are_gone_give_way_at_once(catalogue: Catalogue) -> None:
    admin = producers(catalogue, SMALL)
    topic, other = [await created(catalogue, name) for name in ("orders", "bills")]
    kept = await admin.open(topic, "a", "i")
    await admin.open(other, "b", "i")
    await catalogue.topics().delete("bills")
    third = await admin.open(topic, "c", "i")
    assert {each.id for each in catalogue.metadata.producers.all()} == {kept.id, third.id}


async def test_a_use_is_written_once_an_hour_and_moves_no_epoch(catalogue: Catalogue) -> None:
    admin = producers(catalogue, SMALL)
    opened = await admin.open(TOPIC, "p", "a")
    await catalogue.clock.advance_ms(HOUR_MS - 1)
    assert not admin.is_use_due(opened)
    await catalogue.clock.advance_ms(1)
    assert admin.is_use_due(opened)
    await admin.open(TOPIC, "p", "b")
    await catalogue.clock.advance_ms(HOUR_MS)
    catalogue.store.calls.clear()
    await admin.note_use(opened)
    await admin.note_use(opened)
    shown = catalogue.metadata.producers.find(opened.id)
    assert shown is not None
    assert (shown.epoch, shown.instance, shown.used_at_ms) == (2, "b", catalogue.clock.now_ms())
    assert catalogue.store.calls.count("transact") == 1


async def test_a_name_waits_until_every_node_knows_of_names(catalogue: Catalogue) -> None:
    node = NodeRegistration(1, 1, "a", "", newest_protocol=PROTOCOL_OF_PRODUCERS - 1)
    result = await catalogue.store.transact([], [Put(keys.node(1), encode(node))])
    await catalogue.metadata.wait_for(result.revision)
    refused = await refuse(ProblemCode.NODES_TOO_OLD, producers(catalogue).open(TOPIC, "p", "a"))
    assert refused.extra == {"nodes": [1], "neededProtocol": PROTOCOL_OF_PRODUCERS}
    assert len(catalogue.metadata.producers) == 0


async def test_bad_names(catalogue: Catalogue) -> None:
    for name in ("", "a/b", "__internal"):
        await refuse(ProblemCode.INVALID_NAME, producers(catalogue).open(TOPIC, name, "a"))


async def test_what_a_newer_version_wrote_is_unknown_and_harms_no_other(catalogue: Catalogue) -> None:
    opened = await producers(catalogue).open(TOPIC, "p", "a")
    result = await catalogue.store.transact([], [Put(keys.producer(TOPIC.id, "q"), b"[]")])
    await catalogue.metadata.wait_for(result.revision)
    shown = catalogue.metadata.producers
    assert list(shown.undecodable) == [keys.producer(TOPIC.id, "q")]
    assert shown.all() == [opened]
