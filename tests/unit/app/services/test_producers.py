"""Named producers through a gateway: opening a name, and what its sends may and may not (rules R3, R19)."""

import asyncio
from typing import Any

import httpx2
import pytest

from acklog.wire.problems import ProblemCode
from app.http.parsing.producers import NUMBER_MAX
from cluster.errors import ServerError
from tests.support.memory_gateway import MemoryWorld

BILLING = "/topics/orders/producers/billing-7"


async def opened(client: httpx2.AsyncClient, path: str = BILLING, **body: str) -> dict[str, str]:
    answer = await client.put(path, json=body)
    assert answer.status_code == 200, answer.text
    view = answer.json()
    return {"Producer-Id": view["producerId"], "Producer-Epoch": str(view["epoch"])}


async def send(client: httpx2.AsyncClient, who: dict[str, str], sequence: int | str, body: Any = 1, **more: Any) -> Any:
    headers = {**who, "Producer-Sequence": str(sequence)}
    return await client.post("/messages", json={"queue": "orders", "body": body, **more}, headers=headers)


def code_of(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


async def test_each_opening_has_an_epoch_of_its_own(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await world.topic()
    first = await client.put(BILLING)
    assert first.json() == {**first.json(), "topic": "orders", "producer": "billing-7", "epoch": 1}
    second = await opened(client)
    assert second == {"Producer-Id": first.json()["producerId"], "Producer-Epoch": "2"}


async def test_a_request_that_is_sent_again_gets_its_first_answer(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    topic = await world.topic(partitions=3)
    who = await opened(client)
    batch = [{"body": number, "key": f"k{number}"} for number in range(10)]
    first = await client.post(
        "/messages", json={"queue": "orders", "messages": batch}, headers={**who, "Producer-Sequence": "7"}
    )
    again = await client.post(
        "/messages", json={"queue": "orders", "messages": batch}, headers={**who, "Producer-Sequence": "7"}
    )
    assert first.status_code == again.status_code == 201
    assert first.json() == again.json()
    # In any order, with gaps: each number is another request.
    assert [(await send(client, who, number)).status_code for number in (99, 5, NUMBER_MAX, 0)] == [201] * 4
    assert len(world.node.stored(topic.id)) == 14


async def test_a_request_is_recognised_after_its_topic_has_grown(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    topic = await world.topic(partitions=3)
    who = await opened(client)
    first = [(await send(client, who, number, key=f"k{number}")).json() for number in range(10)]
    await world.topics.update("orders", partitions=7)
    assert [(await send(client, who, number, key=f"k{number}")).json() for number in range(10)] == first
    assert len(world.node.stored(topic.id)) == 10


async def test_a_number_stands_for_one_content(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await world.topic(partitions=1)
    who = await opened(client)
    assert (await send(client, who, 1, "a")).status_code == 201
    assert code_of(await send(client, who, 1, "b")) == (422, "IDEMPOTENCY_KEY_REUSED")
    # Another epoch, another producer and a client's own keys have numbers of their own.
    successor = await opened(client)
    other = await opened(client, "/topics/orders/producers/billing-8")
    assert (await send(client, successor, 1, "b")).status_code == 201
    assert (await send(client, other, 1, "c")).status_code == 201
    own = await client.post("/messages", json={"queue": "orders", "body": "d"}, headers={"Idempotency-Key": "1"})
    assert own.status_code == 201


async def test_who_had_the_name_before_is_refused(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    topic = await world.topic()
    first = await opened(client)
    assert (await send(client, first, 1)).status_code == 201
    await opened(client)
    for sequence in (1, 2):  # what is stored is not answered any more, either
        answer = await send(client, first, sequence)
        assert code_of(answer) == (409, "PRODUCER_FENCED")
        assert (answer.json()["retriable"], answer.json()["epoch"]) == (False, 2)
    assert len(world.node.stored(topic.id)) == 1


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Producer-Epoch": None}, (400, "MISSING_FIELD", "Producer-Epoch")),
        ({"Producer-Id": None}, (400, "MISSING_FIELD", "Producer-Id")),
        ({"Producer-Sequence": None}, (400, "MISSING_FIELD", "Producer-Sequence")),
        ({"Producer-Sequence": "-1"}, (400, "INVALID_FIELD", "Producer-Sequence")),
        ({"Producer-Sequence": str(NUMBER_MAX + 1)}, (400, "INVALID_FIELD", "Producer-Sequence")),
        ({"Producer-Sequence": "9" * 5000}, (400, "INVALID_FIELD", "Producer-Sequence")),
        ({"Producer-Epoch": "0"}, (400, "INVALID_FIELD", "Producer-Epoch")),
        ({"Producer-Epoch": "one"}, (400, "INVALID_FIELD", "Producer-Epoch")),
        ({"Producer-Id": "../x"}, (400, "INVALID_FIELD", "Producer-Id")),
        ({"Idempotency-Key": "k"}, (400, "INVALID_FIELD", "Idempotency-Key")),
        ({"Producer-Id": "nobody"}, (404, "PRODUCER_UNKNOWN", "Producer-Id")),
        ({"Producer-Epoch": "2"}, (404, "PRODUCER_UNKNOWN", "Producer-Id")),
    ],
)
async def test_what_is_wrong_is_refused_and_changes_nothing(
    client: httpx2.AsyncClient,
    world: MemoryWorld,
    headers: dict[str, str | None],
    expected: tuple[int, str, str],
) -> None:
    topic = await world.topic()
    who = {**await opened(client), "Producer-Sequence": "1"}
    given = {name: value for name, value in {**who, **headers}.items() if value is not None}
    answer = await client.post("/messages", json={"queue": "orders", "body": 1}, headers=given)
    assert (*code_of(answer), answer.json()["field"]) == expected
    assert not world.node.stored(topic.id)
    assert not world.producers.used


@pytest.mark.parametrize("name", ["Producer-Id", "Producer-Epoch", "Producer-Sequence"])
@pytest.mark.parametrize("path", ["/messages", "/messages?queue=orders"])
async def test_a_header_that_is_given_twice_is_refused(
    client: httpx2.AsyncClient, world: MemoryWorld, name: str, path: str
) -> None:
    topic = await world.topic()
    who = {**await opened(client), "Producer-Sequence": "1"}
    answer = await client.post(
        path, json={"queue": "orders", "body": 1}, headers=[*who.items(), (name.lower(), who[name])]
    )
    assert (*code_of(answer), answer.json()["field"]) == (400, "INVALID_FIELD", name)
    assert not world.node.stored(topic.id)


async def test_acklogs_own_topics_have_no_producers(client: httpx2.AsyncClient) -> None:
    answer = await client.put("/topics/__groups/producers/p")
    assert (*code_of(answer), answer.json()["field"]) == (400, "INVALID_NAME", "topic")


async def test_a_producer_is_of_one_topic_which_its_sends_never_make(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    await world.topic()
    await world.topic("bills")
    who = {**await opened(client), "Producer-Sequence": "1"}
    for queue, expected in (("bills", (404, "PRODUCER_UNKNOWN")), ("new", (404, "TOPIC_NOT_FOUND"))):
        answer = await client.post("/messages", json={"queue": queue, "body": 1}, headers=who)
        assert code_of(answer) == expected
    assert "new" not in world.metadata.topics_by_name


async def test_an_opening_makes_its_topic(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await opened(client, "/topics/new/producers/p")
    assert "new" in world.metadata.topics_by_name
    assert code_of(await client.put("/topics/new/producers/a%20b")) == (400, "INVALID_NAME")
    assert code_of(await client.put(BILLING, json={"instanceId": "x" * 129})) == (400, "INVALID_FIELD")


async def test_every_leader_knows_before_an_opening_is_answered(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    topic = await world.topic(partitions=4)
    world.metadata.leaderless.add((topic.id, 2))  # who leads it next hears of the name first
    await opened(client)
    asked = world.node.calls("known_keys")
    assert [(each.partition, each.producer.epoch) for each in asked] == [(0, 1), (1, 1), (3, 1)]
    world.node.fail("known_keys", ServerError(ProblemCode.STORAGE_FAILED, "broken"))
    assert code_of(await client.put(BILLING)) == (503, "STORAGE_FAILED")


async def test_that_a_name_is_used_is_noted_once(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await world.topic()
    who = await opened(client)
    for sequence in range(3):
        assert (await send(client, who, sequence)).status_code == 201
        await asyncio.sleep(0)  # it is done beside the send
    assert world.producers.used == ["billing-7"]
