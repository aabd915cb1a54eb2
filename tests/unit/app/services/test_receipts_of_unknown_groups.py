"""Receipts whose group the gateway's view does not show: the coordination store is asked once, and no node waits."""

import asyncio
from typing import Any

import httpx2

from acklog.wire.identifiers import Receipt, id_from_bits
from cluster.model import keys
from cluster.ports.coordination import CoordinationUnavailableError
from tests.support.manual_clock import settle
from tests.support.memory_gateway import MemoryWorld
from tests.support.memory_node import LEADER_EPOCH

REFUSED = "GROUP_NOT_FOUND"


async def leased(client: httpx2.AsyncClient, world: MemoryWorld) -> str:
    """The receipt of a message in partition 0 of `orders`, which the group `default` has."""
    await world.topic()
    await client.post("/messages", json={"queue": "orders", "body": 1, "partition": 0})
    receipt: str = (await client.get("/messages?queue=orders")).json()["messages"][0]["receipt"]
    return receipt


def foreign(world: MemoryWorld, number: int) -> str:
    """A receipt of a group that nobody has made."""
    [topic] = world.metadata.topics()
    return str(Receipt(topic.id, number % 8, 0, id_from_bits(1_000_000 + number), 0, LEADER_EPOCH, 1))


def codes(answer: httpx2.Response) -> list[Any]:
    return [each.get("code") for each in answer.json()["results"]]


async def test_they_are_refused_and_the_others_are_done(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    good = await leased(client, world)
    receipts = [foreign(world, 0), good, *(foreign(world, number) for number in range(500))]
    answer = await client.post("/ack", json={"receipts": receipts})
    assert answer.status_code == 207
    assert codes(answer) == [REFUSED, None, *[REFUSED] * 500]
    assert answer.json()["results"][0]["field"] == "receipts[0]"
    assert world.metadata.confirmed == [keys.GROUPS]
    assert len(world.node.calls("settle")) == 1


async def test_a_group_that_another_gateway_has_just_made_is_good(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    good = await leased(client, world)
    [group] = world.metadata.groups()
    del world.metadata.groups_by_name[group.name]
    world.metadata.unheard_groups.append(group)
    answer = await client.post("/ack", json={"receipts": [good, foreign(world, 1)]})
    assert codes(answer) == [None, REFUSED]


async def test_known_ones_are_done_while_the_store_is_silent(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    good = await leased(client, world)
    world.metadata.may_confirm.clear()
    asking = asyncio.create_task(client.post("/ack", json={"receipts": [foreign(world, 1), good]}))
    while not world.node.calls("settle"):
        await settle()
    assert not asking.done()
    world.metadata.may_confirm.set()
    assert codes(await asking) == [REFUSED, None]


async def test_nobody_knows_without_the_store(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    good = await leased(client, world)
    world.metadata.confirmation_fault = CoordinationUnavailableError("away")
    answer = await client.post("/ack", json={"receipts": [good, foreign(world, 1)]})
    assert codes(answer) == [None, "UNAVAILABLE"]


async def test_many_requests_share_the_questions(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await leased(client, world)
    world.metadata.confirmed.clear()
    world.metadata.may_confirm.clear()
    asking = [asyncio.create_task(client.post("/ack", json={"receipt": foreign(world, each)})) for each in range(50)]
    for _ in range(20):
        await settle()
    world.metadata.may_confirm.set()
    answers = await asyncio.gather(*asking)
    assert {answer.json()["code"] for answer in answers} == {REFUSED}
    assert len(world.metadata.confirmed) == 2  # one that was under way, and one for those who came meanwhile
