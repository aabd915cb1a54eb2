"""Recurring schedules in the coordination store."""

import pytest

from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.catalog.catalog_change import CatalogSettings
from cluster.catalog.recurring_admin import RecurringAdmin
from cluster.errors import ServerError
from cluster.model.recurrence import RecurrenceRule
from cluster.model.recurring_schedule import RecurringSchedule
from cluster.model.values import TopicConfig
from tests.unit.cluster.conftest import Catalogue


async def test_there_are_no_more_than_may_be_and_those_that_are_there_stay(catalogue: Catalogue) -> None:
    topic = await catalogue.topics().create("orders", partitions=1, config=TopicConfig(), replication_factor=1)
    admin = RecurringAdmin(
        catalogue.store,
        catalogue.metadata,
        clock=catalogue.clock,
        entropy=catalogue.entropy,
        settings=CatalogSettings(recurring_max=2),
    )

    async def make(name: str) -> bool:
        def made(id_: str, now_ms: int) -> RecurringSchedule:
            return RecurringSchedule(id_, topic.id, name, now_ms, now_ms, 0, RecurrenceRule(), Record(b"1"))

        return (await admin.get_or_create(topic, name, made))[1]

    assert [await make(name) for name in ("a", "b", "a")] == [True, True, False]
    with pytest.raises(ServerError) as caught:
        await make("c")
    assert (caught.value.code, caught.value.field) == (ProblemCode.TOO_MANY_SCHEDULES, "name")
    await admin.delete(topic, "a")
    assert await make("c")
