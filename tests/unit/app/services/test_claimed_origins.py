"""Headers by which a message says where it comes from: a move of dead letters and clients of SQS believe them."""

import json
from typing import Any

import pytest

from app.auth.tokens import parse_token_table
from app.configuration.server_settings import Settings
from tests.support.memory_gateway import MemoryWorld

SENDER, ADMIN = "sender-token-0123456789", "admin-token-01234567890"
FILE = {
    "tokens": [
        {"name": "sender", "token": SENDER, "roles": ["producer"], "topics": ["dead", "mine", "new"]},
        {"name": "root", "token": ADMIN, "roles": ["admin"]},
    ]
}
OF_SECRET = "acklog-dead-letter-topic"


@pytest.fixture
async def world() -> MemoryWorld:
    world = MemoryWorld(tokens=parse_token_table(json.dumps(FILE).encode()))
    for name in ("dead", "mine", "secret"):
        await world.topic(name)
    return world


def claims_of(world: MemoryWorld, topic: str) -> list[dict[str, str]]:
    found = world.metadata.topic(topic)
    assert found is not None
    return [
        {OF_SECRET: topic},
        {"acklog-dead-letter-message-id": f"m-{found.id}-0-1-0"},
        {"acklog-first-id": f"s-{found.id}-0-1-0"},
    ]


async def send(client: Any, token: str, headers: dict[str, str]) -> Any:
    document = {"queue": "dead", "body": 1, "headers": headers}
    return await client.post("/messages", json=document, headers={"Authorization": f"Bearer {token}"})


@pytest.mark.parametrize("claim", range(3))
async def test_of_a_topic_that_is_not_theirs_nobody_says_it(world: MemoryWorld, serve: Any, claim: int) -> None:
    async with serve(world) as client:
        answer = await send(client, SENDER, claims_of(world, "secret")[claim])
        assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")
        assert (await send(client, SENDER, claims_of(world, "mine")[claim])).status_code == 201
        assert (await send(client, ADMIN, claims_of(world, "secret")[claim])).status_code == 201


async def test_who_sent_it_is_who_sends_it(world: MemoryWorld, serve: Any) -> None:
    async with serve(world) as client:
        answer = await send(client, SENDER, {"sqs.sender": "root"})
        assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")
        assert (await send(client, SENDER, {"sqs.sender": "sender"})).status_code == 201
        assert (await send(client, ADMIN, {"sqs.sender": "sender"})).status_code == 201


async def test_one_claim_of_a_batch_hurts_no_other_message(world: MemoryWorld, serve: Any) -> None:
    async with serve(world) as client:
        messages = [{"body": 1}, {"body": 2, "headers": {OF_SECRET: "secret"}}, {"body": 3, "headers": {"a": "b"}}]
        answer = await client.post(
            "/messages",
            json={"queue": "dead", "messages": messages},
            headers={"Authorization": f"Bearer {SENDER}"},
        )
        assert answer.status_code == 207
        assert [each.get("code") for each in answer.json()["results"]] == [None, "FORBIDDEN", None]


async def test_a_schedule_says_no_more_than_a_message(world: MemoryWorld, serve: Any) -> None:
    async with serve(world) as client:
        document = {"everySeconds": 60, "message": {"body": 1, "headers": {OF_SECRET: "secret"}}}
        for method, status in (("PUT", 403), ("PATCH", 403)):
            answer = await client.request(
                method,
                "/topics/dead/schedules/x",
                json=document if method == "PUT" else {"message": document["message"]},
                headers={"Authorization": f"Bearer {SENDER}"},
            )
            assert (answer.status_code, answer.json()["code"]) == (status, "FORBIDDEN")


async def test_what_is_refused_makes_no_topic(world: MemoryWorld, serve: Any) -> None:
    async with serve(world) as client:
        document = {"queue": "new", "body": 1, "headers": {OF_SECRET: "secret"}}
        answer = await client.post("/messages", json=document, headers={"Authorization": f"Bearer {SENDER}"})
        assert answer.status_code == 403
        assert world.metadata.topic("new") is None


@pytest.mark.parametrize("is_batch", [False, True])
async def test_what_somebody_may_not_say_counts_while_rights_are_on_trial(serve: Any, is_batch: bool) -> None:
    world = MemoryWorld(Settings(rights_dry_run=True), tokens=parse_token_table(json.dumps(FILE).encode()))
    for name in ("dead", "mine", "secret"):
        await world.topic(name)
    async with serve(world) as client:
        for claim in (*claims_of(world, "secret"), {"sqs.sender": "root"}):
            before = await refusals(client)
            message = {"body": 1, "headers": claim}
            document = {"queue": "dead", "messages": [message]} if is_batch else {"queue": "dead", **message}
            answer = await client.post("/messages", json=document, headers={"Authorization": f"Bearer {SENDER}"})
            assert answer.status_code == 201
            assert await refusals(client) == before + 1, claim
        before = await refusals(client)
        await send(client, SENDER, {"sqs.sender": "sender"})
        await send(client, ADMIN, {"sqs.sender": "sender"})
        assert await refusals(client) == before


async def refusals(client: Any) -> float:
    metrics = (await client.get("/metrics", headers={"Authorization": f"Bearer {ADMIN}"})).text
    found = [line for line in metrics.splitlines() if line.startswith("acklog_rights_let_through_total")]
    return sum(float(line.rpartition(" ")[2]) for line in found)
