"""What an Idempotency-Key promises for a request as a whole, by every way into the server."""

import asyncio
import json
from typing import Any

import httpx2
import pytest

from acklog.wire.batch import decode_keys, read_header
from acklog.wire.limits import REQUEST_MESSAGES_MAX
from acklog.wire.partitioner import partition_for_key
from acklog.wire.problems import ProblemCode
from app.http.parsing.send import PLAIN_BATCH_BYTES_MIN, parse_send
from cluster.errors import ServerError
from cluster.model.values import Topic
from storage.node.partition.node_settings import NodeSettings
from tests.support.memory_gateway import MemoryWorld

PAD = "x" * 100
TRACE = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "x=y"}

Message = dict[str, object]


def numbered(count: int, *, keys: int = 50) -> list[Message]:
    return [{"body": [number, PAD], "key": f"customer-{number % keys}"} for number in range(count)]


async def send(
    client: httpx2.AsyncClient, key: str, messages: list[Message], **headers: str
) -> tuple[int, dict[str, Any]]:
    envelope = {"queue": "orders", "messages": messages}
    response = await client.post("/messages", json=envelope, headers={"Idempotency-Key": key, **headers})
    return response.status_code, response.json()


def entries(world: MemoryWorld, topic: Topic) -> list[dict[str, int]]:
    """Per partition what its window holds: key to number of messages."""
    logs = [world.node.log(topic.id, number) for number in range(topic.partitions)]
    return [{key: count for key, (_, _, count) in log.keys.items()} for log in logs]


def codes(answer: dict[str, Any]) -> list[str | None]:
    return [result.get("code") for result in answer["results"]]


@pytest.mark.parametrize("keys", [1, 50])
async def test_a_request_costs_one_entry_per_partition_however_long_it_is(
    client: httpx2.AsyncClient, world: MemoryWorld, keys: int
) -> None:
    topic = await world.topic()
    status, answer = await send(client, "k1", numbered(REQUEST_MESSAGES_MAX, keys=keys))
    assert (status, answer["failed"]) == (201, 0)
    used = {result["partition"] for result in answer["results"]}
    assert len(used) == (1 if keys == 1 else topic.partitions)
    for number, found in enumerate(entries(world, topic)):
        stored = len(world.node.log(topic.id, number).records)
        assert found == ({"k1\n": stored} if number in used else {})
    assert len(world.node.calls("produce")) == len(used), "a part of a request never leaves its batch"


@pytest.mark.parametrize("count", [1, 2, 500], ids=["single", "small", "plain"])
async def test_a_retry_gets_the_first_answer_whatever_way_it_takes(
    client: httpx2.AsyncClient, world: MemoryWorld, count: int
) -> None:
    """However it is parsed, and with a trace or without."""
    topic = await world.topic()
    messages = numbered(count)
    body = json.dumps({"queue": "orders", "messages": messages}).encode()
    produce = parse_send(body, content_type="application/json", query_string=b"")
    assert (produce.keys is not None) == (len(body) >= PLAIN_BATCH_BYTES_MIN) == (count == 500)
    first = await send(client, "k1", messages, **({} if count % 2 else TRACE))
    again = await send(client, "k1", messages, **(TRACE if count % 2 else {}))
    lines = "\n".join(json.dumps(message, separators=(",", ":")) for message in messages)
    headers = {"content-type": "application/x-ndjson", "Idempotency-Key": "k1"}
    third = await client.post("/messages?queue=orders", content=lines, headers=headers)
    assert first[0] == 201
    assert (third.status_code, third.json()) == again == first
    assert len(world.node.stored(topic.id)) == count


async def test_headers_of_its_own_are_part_of_a_messages_content(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    topic = await world.topic(partitions=1)
    messages: list[Message] = [{"body": 1, "headers": {"a": "1", "b": "2"}}, {"body": 2, "tags": ["t"]}]
    first = await send(client, "k1", messages)
    in_another_order: list[Message] = [{"body": 1, "headers": {"b": "2", "a": "1"}}, {"tags": ["t"], "body": 2}]
    assert await send(client, "k1", in_another_order, **TRACE) == first
    for headers in ({"a": "1"}, {"a": "1", "b": "3"}, None):
        status, answer = await send(client, "k1", [{"body": 1, "headers": headers}, messages[1]])
        assert (status, answer["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")
    assert len(world.node.stored(topic.id)) == 2


@pytest.mark.parametrize("count", [3, 500])
async def test_another_content_under_a_key_is_refused_message_by_message_and_stores_nothing(
    client: httpx2.AsyncClient, world: MemoryWorld, count: int
) -> None:
    topic = await world.topic(partitions=1)
    messages = numbered(count)
    await send(client, "k1", messages)
    changed: Message = {"body": "other", "key": "customer-0"}
    for others in ([changed, *messages[1:]], [*messages[:-1], changed], messages[:-1], [*messages, changed]):
        status, answer = await send(client, "k1", others)
        assert (status, answer["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")
        assert codes(answer) == ["IDEMPOTENCY_KEY_REUSED"] * len(others)
        assert answer["failed"] == len(others)
    assert len(world.node.stored(topic.id)) == count
    assert entries(world, topic) == [{"k1\n": count}]


@pytest.mark.parametrize("pad", ["", PAD * 20])
async def test_only_the_part_of_a_partition_that_differs_is_refused(
    client: httpx2.AsyncClient, world: MemoryWorld, pad: str
) -> None:
    topic = await world.topic()
    here, there = "customer-0", "customer-1"
    assert partition_for_key(here.encode(), topic.partitions) != partition_for_key(there.encode(), topic.partitions)
    messages: list[Message] = [{"body": f"{number}{pad}", "key": (here, there)[number % 2]} for number in range(6)]
    _, first = await send(client, "k1", messages)
    status, answer = await send(client, "k1", [*messages[:3], {"body": "other", "key": there}, *messages[4:]])
    assert (status, answer["failed"]) == (207, 3)
    assert codes(answer) == [None, "IDEMPOTENCY_KEY_REUSED"] * 3
    assert answer["results"][::2] == first["results"][::2]
    assert len(world.node.stored(topic.id)) == 6


@pytest.mark.parametrize("pad", ["", PAD * 20])
async def test_a_retry_after_a_partial_outcome_stores_what_was_missing_and_nothing_twice(
    client: httpx2.AsyncClient, world: MemoryWorld, pad: str
) -> None:
    topic = await world.topic()
    messages: list[Message] = [{"body": f"{number}{pad}", "key": f"customer-{number % 2}"} for number in range(6)]
    world.node.fail("produce", ServerError(ProblemCode.OVERLOADED, "its inbox is full"))
    status, first = await send(client, "k1", messages)
    assert (status, first["failed"]) == (207, 3)
    stored = [index for index, code in enumerate(codes(first)) if code is None]
    assert len(world.node.stored(topic.id)) == len(stored) == 3
    status, again = await send(client, "k1", messages)
    assert (status, again["failed"]) == (201, 0)
    assert [again["results"][index] for index in stored] == [first["results"][index] for index in stored]
    assert len(world.node.stored(topic.id)) == 6
    assert await send(client, "k1", messages) == (status, again)


@pytest.mark.parametrize("pad", ["", PAD * 20])
async def test_messages_without_a_key_go_where_the_first_try_put_them(
    client: httpx2.AsyncClient, world: MemoryWorld, pad: str
) -> None:
    topic = await world.topic()
    for number in range(20):
        messages: list[Message] = [{"body": f"{index}{pad}"} for index in range(3)]
        messages.insert(1, {"body": pad, "key": "customer-1"})
        _, first = await send(client, f"k{number}", messages)
        await send(client, "in between", [{"body": [number, pad]}])
        assert await send(client, f"k{number}", messages) == (201, first)
        home = partition_for_key(f"k{number}".encode(), topic.partitions)
        assert [first["results"][index]["partition"] for index in (0, 2, 3)] == [home] * 3


async def test_faults_of_single_messages_do_not_keep_a_retry_from_its_first_answer(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    topic = await world.topic()
    messages: list[Message] = [{"body": 1}, {"body": 2, "kay": 1}, {"body": 3}, {"body": 4, "partition": 8}]
    first = await send(client, "k1", messages)
    assert (first[0], codes(first[1])) == (207, [None, "UNKNOWN_FIELD", None, "PARTITION_NOT_FOUND"])
    assert await send(client, "k1", messages) == first
    assert [record.body for record in world.node.stored(topic.id)] == [b"1", b"3"]


async def test_dedup_ids_stand_for_themselves_between_the_runs_of_their_request(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    topic = await world.topic(partitions=1)
    messages: list[Message] = [
        {"body": 0},
        {"body": 1},
        {"body": 2, "dedupId": "a"},
        {"body": 3},
        {"body": 2, "dedupId": "a"},
        {"body": 9, "dedupId": "a"},
        {"body": 4},
        {"body": 5},
    ]
    status, first = await send(client, "k1", messages)
    assert (status, first["failed"]) == (207, 1)
    assert [result.get("offset") for result in first["results"]] == [0, 1, 2, 3, 2, None, 4, 5]
    assert first["results"][5]["code"] == "IDEMPOTENCY_KEY_REUSED"
    assert entries(world, topic) == [{"k1\n": 2, "a": 1, "k1\n1": 1, "k1\n2": 2}]
    assert await send(client, "k1", messages) == (status, first)
    _, other = await send(client, "k2", [{"body": 6}, messages[2], {"body": 7}])
    assert [result["offset"] for result in other["results"]] == [6, 2, 7]
    assert [record.body for record in world.node.stored(topic.id)] == [b"%d" % number for number in range(8)]


async def test_a_key_that_another_request_has_stores_none_of_the_runs_of_this_one(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    """Though only the first of them has a key that was used."""
    topic = await world.topic(partitions=1)
    await send(client, "k1", [{"body": 0}, {"body": 1}])
    status, answer = await send(client, "k1", [{"body": 0}, {"body": 1, "dedupId": "k1"}, {"body": 2}])
    assert (status, codes(answer)) == (207, ["IDEMPOTENCY_KEY_REUSED", None, "IDEMPOTENCY_KEY_REUSED"])
    assert [record.body for record in world.node.stored(topic.id)] == [b"0", b"1", b"1"]


async def test_the_keys_of_requests_and_dedup_ids_never_meet(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    topic = await world.topic(partitions=1)
    assert (await send(client, "k1", [{"body": 0}, {"body": 1}]))[0] == 201
    assert (await send(client, "k11", [{"body": 2}]))[0] == 201
    named: list[Message] = [{"body": 3, "dedupId": name} for name in ("k1", "k10", "k11", "k1 ", "k1\\n")]
    envelope = {"queue": "orders", "messages": named}
    assert (await client.post("/messages", json=envelope)).status_code == 201
    assert len(world.node.stored(topic.id)) == 8
    refused = await client.post("/messages", json={"queue": "orders", "body": 1, "dedupId": "k1\n"})
    assert (refused.status_code, refused.json()["field"]) == (400, "dedupId")


async def test_requests_under_one_key_at_the_same_time_are_stored_once(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    topic = await world.topic()
    answers = await asyncio.gather(*[send(client, "k1", numbered(300)) for _ in range(5)])
    assert all(answer == answers[0] for answer in answers)
    assert answers[0][0] == 201
    assert len(world.node.stored(topic.id)) == 300


async def test_a_known_run_is_answered_with_its_place_also_without_acks(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    topic = await world.topic(partitions=1)
    envelope = {"queue": "orders", "messages": [{"body": 1}, {"body": 2, "dedupId": "a"}, {"body": 3}], "acks": 0}
    for _ in range(2):
        response = await client.post("/messages", json=envelope, headers={"Idempotency-Key": "k1"})
        assert response.status_code == 202
    assert [result["offset"] for result in response.json()["results"]] == [0, 1, 2]
    assert len(world.node.stored(topic.id)) == 3


async def test_the_largest_request_with_the_largest_trace_is_one_batch_per_partition(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    """What a request may bring and what the server adds fit a batch, so a run is stored whole or not at all."""
    topic = await world.topic(partitions=1)
    largest = 16 * 1024 * 1024 - 1000
    messages: list[Message] = [{"body": "x" * (largest // REQUEST_MESSAGES_MAX - 13)}] * REQUEST_MESSAGES_MAX
    later = "cc" + TRACE["traceparent"][2:] + "-"
    trace = {"traceparent": later.ljust(512, "t"), "tracestate": "a=" + "s" * 253 + ",b=" + "s" * 254}
    status, _ = await send(client, "k1", messages, **trace)
    assert status == 201
    [batch] = world.node.log(topic.id, 0).batches
    [key] = decode_keys(batch, read_header(batch))
    assert (key.index, key.count) == (0, REQUEST_MESSAGES_MAX)
    assert len(batch) < NodeSettings().partition_inbox_bytes_max
