"""Redrive jobs in the coordination store (rules R16, R18)."""

import asyncio

import pytest

from acklog.wire.problems import ProblemCode
from cluster.catalog.catalog_change import CatalogSettings
from cluster.catalog.redrive_admin import RedriveAdmin
from cluster.errors import ServerError
from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.needed_protocol import PROTOCOL_OF_REDRIVES
from cluster.model.redrives import LetterRange, RedriveJob, RedrivePart, SendingLetters
from cluster.model.values import Group, GroupMode, GroupSettings, NodeRegistration, Topic, TopicConfig
from cluster.ports.coordination import OutcomeUnknownError, Put
from tests.unit.cluster.conftest import Catalogue

SMALL = CatalogSettings(redrives_max=3, redrives_of_group_max=2)
PARTS = (LetterRange(0, 0, 10, 10), LetterRange(1, 5, 8, 3))


def redrives(catalogue: Catalogue, settings: CatalogSettings | None = None) -> RedriveAdmin:
    return RedriveAdmin(
        catalogue.store, catalogue.metadata, clock=catalogue.clock, entropy=catalogue.entropy, settings=settings
    )


async def topic_of(catalogue: Catalogue, name: str = "letters") -> Topic:
    return await catalogue.topics().create(name, partitions=2, config=TopicConfig(), replication_factor=1)


async def group_of(catalogue: Catalogue, name: str) -> Group:
    return await catalogue.groups().create(name, mode=GroupMode.SHARED, settings=GroupSettings())


def wanted(group: Group, topic: Topic, parts: tuple[LetterRange, ...] = PARTS) -> RedriveJob:
    return RedriveJob("", group.id, topic.id, 0, parts)


async def note(catalogue: Catalogue, job: RedriveJob, partition: int, part: RedrivePart) -> None:
    await catalogue.store.transact([], [Put(keys.redrive_part(job.id, partition), encode(part))])


async def refuse(code: ProblemCode, call: object) -> ServerError:
    with pytest.raises(ServerError) as caught:
        await call  # type: ignore[misc]
    assert caught.value.code is code
    return caught.value


async def test_a_job_is_over_when_all_of_its_parts_are(catalogue: Catalogue) -> None:
    admin = redrives(catalogue)
    group, topic = await group_of(catalogue, "g"), await topic_of(catalogue)
    job = await admin.create(wanted(group, topic))
    assert catalogue.metadata.redrives.unfinished() == [job]
    await note(catalogue, job, 0, RedrivePart(10, moved=10))
    await admin.note_if_over(job)
    assert catalogue.metadata.redrives.unfinished() == [job]
    await note(catalogue, job, 1, RedrivePart(8, moved=3))
    await admin.note_if_over(job)
    found = catalogue.metadata.redrives.find(group.id, job.id)
    assert found is not None
    assert (found.is_finished, found.is_cancelled) == (True, False)
    assert await admin.cancel(group.id, job.id) == found, "it stays as it was"
    assert (await admin.create(wanted(group, topic, ()))).is_finished, "there is nothing to do"


async def test_a_cancelled_job_is_over_when_nothing_is_being_sent(catalogue: Catalogue) -> None:
    admin = redrives(catalogue)
    group, topic = await group_of(catalogue, "g"), await topic_of(catalogue)
    job = await admin.create(wanted(group, topic))
    await note(catalogue, job, 1, RedrivePart(5, sending=SendingLetters((5, 6), 7, ())))
    cancelled = await admin.cancel(group.id, job.id)
    await admin.note_if_over(job)
    assert catalogue.metadata.redrives.unfinished() == [cancelled]
    await note(catalogue, job, 1, RedrivePart(7, moved=2))
    await admin.note_if_over(job)
    assert catalogue.metadata.redrives.unfinished() == []
    await refuse(ProblemCode.REDRIVE_NOT_FOUND, admin.cancel(group.id, "another"))


async def test_one_at_a_time_for_a_group_and_a_topic(catalogue: Catalogue) -> None:
    admin, elsewhere = redrives(catalogue), redrives(catalogue)
    group, topic = await group_of(catalogue, "g"), await topic_of(catalogue)
    job = await admin.create(wanted(group, topic))
    refused = await refuse(ProblemCode.REDRIVE_UNDER_WAY, elsewhere.create(wanted(group, topic)))
    assert refused.extra == {"jobId": job.id}
    await admin.create(wanted(group, await topic_of(catalogue, "other")))
    for partition, part in enumerate(PARTS):
        await note(catalogue, job, partition, RedrivePart(part.end))
    await admin.note_if_over(job)
    made = await asyncio.gather(
        admin.create(wanted(group, topic)), elsewhere.create(wanted(group, topic)), return_exceptions=True
    )
    assert len([each for each in made if isinstance(each, RedriveJob)]) == 1


async def test_nobody_makes_two_by_a_write_that_was_not_answered(catalogue: Catalogue) -> None:
    admin = redrives(catalogue)
    group, topic = await group_of(catalogue, "g"), await topic_of(catalogue)
    catalogue.store.after["transact"] = [OutcomeUnknownError("lost")]
    creating = asyncio.create_task(admin.create(wanted(group, topic)))
    for _ in range(10):
        await catalogue.clock.advance_ms(1000)
    assert catalogue.metadata.redrives.all() == [await creating]


async def test_jobs_are_bounded_and_the_oldest_that_is_over_gives_way(catalogue: Catalogue) -> None:
    admin = redrives(catalogue, SMALL)
    topics = [await topic_of(catalogue, name) for name in ("a", "b", "c")]
    group, other = await group_of(catalogue, "g"), await group_of(catalogue, "h")
    first = await admin.create(wanted(group, topics[0], PARTS[:1]))
    second = await admin.create(wanted(group, topics[1]))
    await refuse(ProblemCode.TOO_MANY_REDRIVES, admin.create(wanted(group, topics[2])))
    await note(catalogue, first, 0, RedrivePart(10))
    await admin.note_if_over(first)
    third = await admin.create(wanted(group, topics[2]))
    assert {job.id for job in catalogue.metadata.redrives.all()} == {second.id, third.id}
    assert (await catalogue.store.list(keys.redrive_parts_of(first.id))).items == ()
    fourth = await admin.create(wanted(other, topics[0]))
    await refuse(ProblemCode.TOO_MANY_REDRIVES, admin.create(wanted(other, topics[1])))
    await catalogue.groups().delete("g")
    fifth = await admin.create(wanted(other, topics[1]))  # what nobody can see any more goes first
    assert {fourth.id, fifth.id} < {job.id for job in catalogue.metadata.redrives.all()}


async def test_a_node_of_an_earlier_version_is_waited_for(catalogue: Catalogue) -> None:
    admin = redrives(catalogue)
    group, topic = await group_of(catalogue, "g"), await topic_of(catalogue)
    node = NodeRegistration(7, 1, "d", address="", newest_protocol=PROTOCOL_OF_REDRIVES - 1)
    await catalogue.store.transact([], [Put(keys.node(7), encode(node))])
    refused = await refuse(ProblemCode.NODES_TOO_OLD, admin.create(wanted(group, topic)))
    assert refused.extra == {"nodes": [7], "neededProtocol": PROTOCOL_OF_REDRIVES}
    assert catalogue.metadata.redrives.all() == []


async def test_what_a_newer_version_wrote_is_not_understood_and_harms_nobody(catalogue: Catalogue) -> None:
    group, topic = await group_of(catalogue, "g"), await topic_of(catalogue)
    await catalogue.store.transact([], [Put(keys.redrive(group.id, "strange"), b'{"id": 7}')])
    job = await redrives(catalogue).create(wanted(group, topic))
    assert catalogue.metadata.redrives.all() == [job]
    assert list(catalogue.metadata.redrives.undecodable) == [keys.redrive(group.id, "strange")]
