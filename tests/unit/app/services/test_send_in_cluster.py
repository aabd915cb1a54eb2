"""Sends where partitions are decommissioned, and where answers get lost."""

import dataclasses
from typing import Any

import httpx2
import msgspec
import pytest

from acklog.wire.batch import read_header
from acklog.wire.partitioner import partition_for_key
from acklog.wire.problems import ProblemCode
from app.gateway.batching.batch_numbers import BatchNumbers
from cluster.errors import ServerError
from cluster.model.values import Topic
from tests.support.memory_gateway import MemoryWorld


async def send(client: httpx2.AsyncClient, **envelope: object) -> httpx2.Response:
    return await client.post("/messages", json=envelope)


@pytest.fixture
async def going(world: MemoryWorld) -> Topic:
    """Two of its four partitions take no new messages."""
    topic = await world.topic(partitions=4)
    topic = msgspec.structs.replace(topic, decommissioned=(1, 2))
    world.metadata.topics_by_name["orders"] = topic
    return topic


async def test_a_partition_that_takes_no_more_messages_cannot_be_named(
    client: httpx2.AsyncClient, going: Topic
) -> None:
    response = await send(client, queue="orders", body=1, partition=2)
    answer = response.json()
    assert (response.status_code, answer["code"], answer["field"]) == (409, "PARTITION_DECOMMISSIONED", "partition")
    assert answer["retriable"] is False
    response = await client.post(
        "/messages", json={"queue": "orders", "messages": [{"body": 1, "partition": 3}, {"body": 2, "partition": 1}]}
    )
    assert response.status_code == 207
    assert response.json()["results"][1]["field"] == "messages[1].partition"
    assert (await send(client, queue="orders", body=1, partition=4)).json()["code"] == "PARTITION_NOT_FOUND"


@pytest.mark.parametrize("pad", ["", "x" * 2_000], ids=["small", "plain"])
@pytest.mark.parametrize("key", [None, "request-1"], ids=["unkeyed", "keyed"])
async def test_messages_go_to_the_partitions_that_are_left(
    client: httpx2.AsyncClient, world: MemoryWorld, going: Topic, pad: str, key: str | None
) -> None:
    keys = [f"customer-{number}" for number in range(40)]
    headers = {} if key is None else {"Idempotency-Key": key}
    messages = [{"body": [name, pad], "key": name} for name in keys] + [{"body": [pad]}] * 3
    answer = (await client.post("/messages", json={"queue": "orders", "messages": messages}, headers=headers)).json()
    assert answer["failed"] == 0
    assert {result["partition"] for result in answer["results"]} == {0, 3}
    for name, result in zip(keys, answer["results"], strict=False):
        home = partition_for_key(name.encode(), 4)
        assert home in going.decommissioned or result["partition"] == home
        assert (await send(client, queue="orders", body=1, key=name)).json()["partition"] == result["partition"]
    for _ in range(8):
        assert (await send(client, queue="orders", body=1)).json()["partition"] in {0, 3}


async def test_a_partition_that_the_leader_knows_to_be_decommissioned_first_can_be_tried_again(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    await world.topic(partitions=1)
    world.node.fail("produce", ServerError(ProblemCode.PARTITION_DECOMMISSIONED, "no more"))
    response = await send(client, queue="orders", body=1)
    answer = response.json()
    assert (response.status_code, answer["code"], answer["retriable"]) == (503, "UNAVAILABLE", True)


async def test_with_numbers_every_batch_can_be_sent_again(serve: Any) -> None:
    world = MemoryWorld()
    world.gateway = dataclasses.replace(world.gateway, batch_numbers=BatchNumbers(world.gateway.entropy))
    await world.topic(partitions=1)
    unknown = ServerError(ProblemCode.OUTCOME_UNKNOWN, "the connection broke")
    bodies: list[dict[str, object]] = [
        {"body": 1},
        {"messages": [{"body": 1}, {"body": 2, "dedupId": "a"}]},
        {"messages": [{"body": "x" * 300, "key": "k"}] * 10},
    ]
    async with serve(world) as client:
        for body in bodies:
            world.node.fail("produce", unknown)
            assert (await client.post("/messages", json={"queue": "orders", **body})).status_code == 201
        world.node.fail("produce", unknown)
        headers = {"Idempotency-Key": "request-1"}
        assert (await client.post("/messages", json={"queue": "orders", "body": 5}, headers=headers)).status_code == 201
    calls = world.node.calls("produce")
    assert [call.is_retry for call in calls] == [False, True] * 4
    sources = [read_header(call.batch) for call in calls]
    numbers = [(header.producer_id, header.producer_epoch, header.base_sequence) for header in sources]
    assert numbers[::2] == numbers[1::2]
    assert len(set(numbers)) == 4
    assert all(first.batch == again.batch for first, again in zip(calls[::2], calls[1::2], strict=True))


async def test_without_numbers_an_unknown_outcome_is_the_clients(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    await world.topic(partitions=1)
    world.node.fail("produce", ServerError(ProblemCode.OUTCOME_UNKNOWN, "not confirmed in time"))
    response = await send(client, queue="orders", body=1)
    assert (response.status_code, response.json()["code"]) == (500, "OUTCOME_UNKNOWN")
    [call] = world.node.calls("produce")
    assert read_header(call.batch).producer_id == -1
