"""Recurring schedules and named producers of a namespace: limits hold, and nobody takes what is there for others."""

import asyncio

from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.catalog.catalog_change import CatalogSettings
from cluster.catalog.producer_admin import ProducerAdmin
from cluster.catalog.recurring_admin import RecurringAdmin
from cluster.errors import ServerError
from cluster.model import keys
from cluster.model.recurrence import RecurrenceRule
from cluster.model.recurring_schedule import RecurringSchedule
from cluster.model.values import NamedProducer, Topic
from cluster.ports.coordination import Delete
from tests.unit.cluster.catalog.test_namespace_admin import admin_of, another_gateway, made, refused, topic
from tests.unit.cluster.conftest import Catalogue

DAY_MS = 24 * 60 * 60 * 1000


async def recur(
    catalogue: Catalogue, of: Topic, name: str, settings: CatalogSettings | None = None
) -> RecurringSchedule:
    def make(id_: str, now_ms: int) -> RecurringSchedule:
        return RecurringSchedule(id_, of.id, name, now_ms, now_ms, 0, RecurrenceRule(), Record(b"1"))

    return (await recurring(catalogue, settings).get_or_create(of, name, make))[0]


def recurring(catalogue: Catalogue, settings: CatalogSettings | None = None) -> RecurringAdmin:
    return RecurringAdmin(
        catalogue.store, catalogue.metadata, clock=catalogue.clock, entropy=catalogue.entropy, settings=settings
    )


async def opened(catalogue: Catalogue, of: Topic, name: str, settings: CatalogSettings | None = None) -> NamedProducer:
    admin = ProducerAdmin(
        catalogue.store, catalogue.metadata, clock=catalogue.clock, entropy=catalogue.entropy, settings=settings
    )
    return await admin.open(of, name, "instance")


async def test_schedules_at_the_limit(catalogue: Catalogue) -> None:
    await made(catalogue, schedules_max=2)
    orders, bills = await topic(catalogue, "shop/orders"), await topic(catalogue, "shop/bills")
    await recur(catalogue, orders, "a")
    first = await recur(catalogue, bills, "a")
    fault = await refused(ProblemCode.NAMESPACE_FULL, recur(catalogue, orders, "b"))
    assert (fault.field, fault.extra) == ("schedule", {"limit": "schedulesMax", "max": 2})
    assert await recur(catalogue, bills, "a") == first  # there is no more of it
    await recurring(catalogue).update(bills, "a", lambda before, _now_ms: before)
    await recurring(catalogue).delete(orders, "a")
    await recur(catalogue, orders, "b")
    await catalogue.topics().delete("shop/bills")  # and what it had with it
    await recur(catalogue, orders, "c")
    await recur(catalogue, await topic(catalogue, "orders"), "d")  # in no namespace


async def test_producers_at_the_limit(catalogue: Catalogue) -> None:
    await made(catalogue, producers_max=2)
    orders, bills = await topic(catalogue, "shop/orders"), await topic(catalogue, "shop/bills")
    await opened(catalogue, orders, "a")
    await opened(catalogue, bills, "a")
    fault = await refused(ProblemCode.NAMESPACE_FULL, opened(catalogue, orders, "b"))
    assert (fault.field, fault.extra) == ("producer", {"limit": "producersMax", "max": 2})
    assert (await opened(catalogue, bills, "a")).epoch == 1  # there is no more of it
    await catalogue.topics().delete("shop/bills")
    await opened(catalogue, orders, "b")
    await opened(catalogue, await topic(catalogue, "orders"), "c")  # in no namespace


async def test_the_longest_unused_producer_of_the_namespace_gives_way(catalogue: Catalogue) -> None:
    settings = CatalogSettings(producers_max=4, producer_expiry_ms=DAY_MS)
    await made(catalogue, producers_max=2)
    orders, others = await topic(catalogue, "shop/orders"), await topic(catalogue, "orders")
    eldest = await opened(catalogue, others, "eldest", settings)
    await catalogue.clock.advance_ms(1_000)
    old = await opened(catalogue, orders, "old", settings)
    await catalogue.clock.advance_ms(1_000)
    young = await opened(catalogue, orders, "young", settings)
    await refused(ProblemCode.NAMESPACE_FULL, opened(catalogue, orders, "new", settings))
    await catalogue.clock.advance_ms(DAY_MS)
    new = await opened(catalogue, orders, "new", settings)
    there = {each.id for each in catalogue.metadata.producers.all()}
    assert there == {eldest.id, young.id, new.id}, old


async def test_gateways_that_make_some_at_once_keep_to_the_limits(catalogue: Catalogue) -> None:
    await made(catalogue, schedules_max=3, producers_max=2)
    orders = await topic(catalogue, "shop/orders")
    async with another_gateway(catalogue) as (other, _), another_gateway(catalogue) as (third, _):
        calls = [
            call(each, orders, f"{name}-{index}")
            for name in ("a", "b", "c")
            for index, each in enumerate((catalogue, other, third))
            for call in (recur, opened)
        ]
        answers = await asyncio.gather(*calls, return_exceptions=True)
    codes = {each.code if isinstance(each, ServerError) else each for each in answers if isinstance(each, Exception)}
    assert codes <= {ProblemCode.NAMESPACE_FULL, ProblemCode.CONFLICT}
    assert 1 <= len((await catalogue.store.list(keys.RECURRING)).items) <= 3
    assert 1 <= len((await catalogue.store.list(keys.PRODUCERS)).items) <= 2


async def test_the_last_room_is_given_once(catalogue: Catalogue) -> None:
    await made(catalogue, schedules_max=1, producers_max=1)
    orders = await topic(catalogue, "shop/orders")
    async with another_gateway(catalogue) as (other, store):

        async def first() -> None:
            await recur(catalogue, orders, "first")
            await opened(catalogue, orders, "first")

        store.meanwhile = first
        await refused(ProblemCode.NAMESPACE_FULL, recur(other, orders, "second"))
        await refused(ProblemCode.NAMESPACE_FULL, opened(other, orders, "second"))


async def test_where_the_entry_is_lost_topics_go_on(catalogue: Catalogue) -> None:
    await made(catalogue, schedules_max=1, producers_max=1)
    orders = await topic(catalogue, "shop/orders")
    await catalogue.store.transact([], [Delete(keys.namespace("shop"))])
    for name in ("a", "b"):
        await recur(catalogue, orders, name)
        await opened(catalogue, orders, name)


async def test_at_the_limit_of_the_cluster_nobody_is_told_what_others_have(catalogue: Catalogue) -> None:
    settings = CatalogSettings(recurring_max=1, producers_max=1)
    orders = await topic(catalogue, "orders")
    await recur(catalogue, orders, "a", settings)
    await opened(catalogue, orders, "a", settings)
    faults = [
        await refused(ProblemCode.TOO_MANY_SCHEDULES, recur(catalogue, orders, "b", settings)),
        await refused(ProblemCode.TOO_MANY_PRODUCERS, opened(catalogue, orders, "b", settings)),
    ]
    assert not any(character.isdigit() for fault in faults for character in fault.detail), faults


async def test_one_that_has_them_is_deleted_when_its_topics_are(catalogue: Catalogue) -> None:
    await made(catalogue)
    orders = await topic(catalogue, "shop/orders")
    await recur(catalogue, orders, "a")
    await opened(catalogue, orders, "a")
    await catalogue.topics().delete("shop/orders")
    await admin_of(catalogue).delete("shop")
