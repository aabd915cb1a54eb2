"""A request or message that is sent again after its topic's partitions have changed is stored once all the same."""

import json
from collections import Counter
from typing import Any

import httpx2
import pytest

from acklog.wire.limits import DEDUP_WINDOW_MS_DEFAULT
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from app.calls.send import Message, Outgoing, Produce
from app.calls.send_result import SendResult
from app.services.keyed_runs import runs_of
from cluster.errors import ServerError
from cluster.model.topic_mapping import CLOCK_MARGIN_MS
from cluster.model.values import Topic
from storage.rpc.messages import ACKS_ALL, KnownKeysRequest, KnownKeysResponse
from tests.support.memory_gateway import MemoryWorld

Json = dict[str, object]
PAD = "x" * 100


def result_of(count: int) -> SendResult:
    return SendResult(Topic("0123456789abc", "orders", 2, 1, 0), count, True, ACKS_ALL, deadline_ms=1000)


def numbered(count: int) -> list[Json]:
    return [{"body": [number, PAD], "key": f"customer-{number}"} for number in range(count)]


def with_dedup_ids(messages: list[Json]) -> list[Json]:
    return [{**message, "dedupId": f"d{number}"} for number, message in enumerate(messages)]


async def send(client: httpx2.AsyncClient, messages: list[Json], key: str | None = "k1") -> tuple[int, Any]:
    headers = {} if key is None else {"Idempotency-Key": key}
    answer = await client.post("/messages", json={"queue": "orders", "messages": messages}, headers=headers)
    return answer.status_code, answer.json()


def stored(world: MemoryWorld, topic: Topic) -> Counter[str]:
    return Counter(json.dumps(json.loads(record.body)) for record in world.node.stored(topic.id))


def once(messages: list[Json]) -> Counter[str]:
    return Counter(json.dumps(message["body"]) for message in messages)


async def change(world: MemoryWorld, how: str) -> None:
    if how == "grow":
        await world.topics.update("orders", partitions=7)
    elif how == "grow twice":
        await world.topics.update("orders", partitions=5)
        await world.topics.update("orders", partitions=11)
    else:
        await world.topics.decommission("orders", [0, 2])


CHANGES = ["grow", "grow twice", "decommission"]


@pytest.mark.parametrize("how", CHANGES)
@pytest.mark.parametrize("count", [1, 20, 500], ids=["single", "small", "plain"])
async def test_a_request_gets_its_first_answer(
    client: httpx2.AsyncClient, world: MemoryWorld, how: str, count: int
) -> None:
    topic = await world.topic(partitions=3)
    messages = numbered(count)
    first = await send(client, messages)
    await change(world, how)
    assert first[0] == 201
    assert await send(client, messages) == first
    assert await send(client, messages) == first
    assert stored(world, topic) == once(messages)


@pytest.mark.parametrize("how", CHANGES)
async def test_messages_get_their_first_answers_by_their_dedup_ids(
    client: httpx2.AsyncClient, world: MemoryWorld, how: str
) -> None:
    """In another order, and beside a new one that has no name."""
    topic = await world.topic(partitions=3)
    messages = with_dedup_ids([*numbered(20), {"body": "without a key"}])
    _, first = await send(client, messages, None)
    await change(world, how)
    status, again = await send(client, [*reversed(messages), {"body": "new"}], None)
    assert status == 201
    assert again["results"][:-1] == first["results"][::-1]
    assert stored(world, topic) == once([*messages, {"body": "new"}])


async def test_what_was_missing_is_stored_and_stays_stored_once(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    """Its messages meet others in partitions that hold a part of the request under its key already."""
    topic = await world.topic(partitions=2)
    messages = numbered(40)
    world.node.fail("produce", ServerError(ProblemCode.OVERLOADED, "full"))
    status, partial = await send(client, messages)
    failed = [number for number, result in enumerate(partial["results"]) if "code" in result]
    assert (status, 0 < len(failed) < 40) == (207, True)
    await change(world, "grow")
    status, again = await send(client, messages)
    assert (status, again["failed"]) == (201, 0)
    kept = [number for number in range(40) if number not in failed]
    assert [again["results"][number] for number in kept] == [partial["results"][number] for number in kept]
    await world.topics.decommission("orders", [1])
    assert await send(client, messages) == (status, again)
    assert stored(world, topic) == once(messages)


async def test_another_content_is_refused_and_nothing_of_it_stored(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    topic = await world.topic(partitions=1)
    messages = numbered(5)
    await send(client, messages)
    await change(world, "grow")
    status, answer = await send(client, [*messages[:4], {"body": "other", "key": "customer-4"}])
    assert (status, {result["code"] for result in answer["results"]}) == (422, {"IDEMPOTENCY_KEY_REUSED"})
    assert stored(world, topic) == once(messages)


async def test_a_first_try_after_a_change_is_looked_for_by_the_next_one(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    topic = await world.topic(partitions=2)
    await change(world, "grow")
    messages = numbered(20)
    first = await send(client, messages)
    await world.topics.update("orders", partitions=12)
    assert await send(client, messages) == first
    assert stored(world, topic) == once(messages)


async def test_nothing_is_stored_while_a_place_cannot_be_asked(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    """Else a further try would find less missing, and make other runs of it than this one."""
    topic = await world.topic(partitions=2)
    await change(world, "grow")
    world.node.fail("known_keys", ServerError(ProblemCode.STORAGE_FAILED, "broken"))
    status, answer = await send(client, numbered(20))
    assert (status, answer["code"]) == (503, "STORAGE_FAILED")
    assert not stored(world, topic)
    assert (await send(client, numbered(20)))[0] == 201
    assert stored(world, topic) == once(numbered(20))


async def test_nodes_of_an_earlier_version_are_not_asked(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    topic = await world.topic(partitions=1)
    await change(world, "grow")
    world.node.fail("known_keys", ServerError(ProblemCode.UNSUPPORTED, "no such call"))
    assert (await send(client, numbered(1)))[0] == 201
    assert stored(world, topic) == once(numbered(1))


async def test_looking_and_storing_share_the_time_that_a_request_has(
    client: httpx2.AsyncClient, world: MemoryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.topic(partitions=1)
    await change(world, "grow")
    known_keys = world.node.known_keys

    async def slow(request: KnownKeysRequest) -> KnownKeysResponse:
        await world.clock.advance_ms(request.timeout_ms - 40)
        return await known_keys(request)

    monkeypatch.setattr(world.node, "known_keys", slow)
    assert (await send(client, numbered(1)))[0] == 201
    (request,) = world.node.calls("produce")
    assert request.timeout_ms == 40


async def test_after_the_window_nobody_is_asked(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await world.topic(partitions=2)
    await change(world, "grow")
    await world.clock.advance_ms(DEDUP_WINDOW_MS_DEFAULT + CLOCK_MARGIN_MS)
    await send(client, numbered(20))
    assert not world.node.calls("known_keys")


async def test_messages_without_names_ask_nobody(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    topic = await world.topic(partitions=2)
    await change(world, "grow")
    assert (await send(client, numbered(20), None))[0] == 201
    assert not world.node.calls("known_keys")
    assert stored(world, topic) == once(numbered(20))


@pytest.mark.parametrize("count", [1, 3])
async def test_a_partition_that_was_named_is_asked_though_it_takes_no_more(
    client: httpx2.AsyncClient, world: MemoryWorld, count: int
) -> None:
    topic = await world.topic(partitions=3)
    messages: list[Json] = [{**message, "partition": 0} for message in with_dedup_ids(numbered(count))]
    first = await send(client, messages)
    await change(world, "decommission")
    assert await send(client, messages) == first
    status, other = await send(client, [*messages, {"body": "new", "partition": 0}], "k2")
    assert (status, [result.get("code") for result in other["results"]]) == (
        207,
        [None] * count + ["PARTITION_DECOMMISSIONED"],
    )
    assert stored(world, topic) == once(messages)


async def test_a_partition_that_is_gone_is_not_asked(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    topic = await world.topic(partitions=3)
    await change(world, "decommission")
    world.metadata.gone = {(topic.id, 0), (topic.id, 2)}
    assert (await send(client, numbered(20)))[0] == 201
    assert {request.partition for request in world.node.calls("known_keys")} == {1}


async def test_a_twin_of_what_is_found_is_stored_for_itself() -> None:
    """Only one of the two was known where it went before: by its partition, or its key."""
    record = Record(b"1", "a")
    twins: list[Message] = [Outgoing(record, dedup_id="d"), Outgoing(record, dedup_id="d")]
    produce = Produce("orders", [*twins, Outgoing(Record(b"2"), dedup_id="d")])
    for found, left in (({0}, [([1], [])]), ({1}, [([0], [])]), ({0, 1}, []), (set[int](), [([0], [1])])):
        result = result_of(3)
        runs = runs_of(produce, [0, 1, 2], None, result, found)
        assert [(run.indexes, run.twins) for run in runs] == left
        assert list(result.faults) == [2], "another content under the same name"
    answered = result_of(3)
    assert runs_of(produce, [0, 1, 2], None, answered, {0, 2})[0].indexes == [1]
    assert not answered.faults, "it has an answer of its own"
