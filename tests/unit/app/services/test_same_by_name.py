"""Messages that are the same by their dedupId alone, whatever their content: as SQS has it."""

import pytest

from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from app.auth.principal import ANYONE
from app.calls.send import Outgoing, Produce
from app.calls.send_result import Placed, SendResult
from app.services.registry import Services
from tests.support.cluster import Cluster, ClusterBuilder
from tests.support.memory_gateway import MemoryWorld


def named(body: bytes, name: str, *, key: str | None = "k") -> Outgoing:
    return Outgoing(Record(body, key), dedup_id=name, is_same_by_name=True)


async def send(services: Services, *messages: Outgoing) -> SendResult:
    return await services.send.send(Produce("orders", list(messages), is_batch=len(messages) > 1), ANYONE)


def places(result: SendResult) -> list[Placed]:
    found: dict[int, Placed] = {}
    for indexes, first in result.runs:
        found.update({index: first._replace(offset=first.offset + at) for at, index in enumerate(indexes)})
    return [found[index] for index in sorted(found)]


@pytest.fixture
def services(world: MemoryWorld) -> Services:
    return Services(world.gateway)


async def test_another_body_gets_the_first_ones_place(services: Services, world: MemoryWorld) -> None:
    topic = await world.topic()
    first = places(await send(services, named(b"1", "a")))
    assert places(await send(services, named(b"2", "a"))) == first
    [stored] = world.node.stored(topic.id)
    assert stored.body == b"1"


async def test_so_it_does_within_a_batch(services: Services, world: MemoryWorld) -> None:
    topic = await world.topic()
    result = await send(services, named(b"1", "a"), named(b"2", "b"), named(b"3", "a"))
    first, other, again = places(result)
    assert not result.faults
    assert (again, other != first) == (first, True)
    assert [record.body for record in world.node.stored(topic.id)] == [b"1", b"2"]


async def test_who_goes_by_the_content_meets_it_as_another(services: Services, world: MemoryWorld) -> None:
    await world.topic()
    by_content = Outgoing(Record(b"1", "k"), dedup_id="a")
    await send(services, by_content)
    refused = await send(services, named(b"1", "a"))
    assert refused.faults[0].code is ProblemCode.IDEMPOTENCY_KEY_REUSED
    await send(services, named(b"1", "b"))
    refused = await send(services, Outgoing(Record(b"1", "k"), dedup_id="b"))
    assert refused.faults[0].code is ProblemCode.IDEMPOTENCY_KEY_REUSED


def test_it_is_found_where_its_key_was_before_the_topic_grew() -> None:
    async def main(cluster: Cluster) -> None:
        gateway = cluster.gateways[0].gateway
        topic = await cluster.topic()
        services = Services(gateway)
        before = places(await send(services, *[named(b"1", f"n{number}", key=str(number)) for number in range(20)]))
        await gateway.topics.update(topic.name, partitions=topic.partitions + 7)
        await cluster.clock.sleep(1_000)
        again = await send(services, *[named(b"2", f"n{number}", key=str(number)) for number in range(20)])
        assert not again.faults
        assert places(again) == before

    ClusterBuilder().nodes(1).gateway().run(main)
