"""Purging topics and deleting their oldest messages, as clients see it."""

import json
from typing import Any

import pytest

from acklog.wire.problems import ProblemCode
from app.auth.tokens import parse_token_table
from cluster.errors import ServerError
from storage.rpc.deletion_messages import DeleteRequest
from tests.support.memory_gateway import MemoryWorld

WRONG = [
    ("purge", {"partitions": []}, 400, "INVALID_FIELD", "partitions"),
    ("purge", {"partitions": [-1]}, 400, "INVALID_FIELD", "partitions[0]"),
    ("purge", {"partitions": [8]}, 404, "PARTITION_NOT_FOUND", None),
    ("purge", {"all": True}, 400, "UNKNOWN_FIELD", "all"),
    ("purge", {"dryRun": "yes"}, 400, "INVALID_FIELD", "dryRun"),
    ("delete-before", {}, 400, "MISSING_FIELD", "offsets"),
    ("delete-before", {"time": -1}, 400, "INVALID_FIELD", "time"),
    ("delete-before", {"time": "yesterday"}, 400, "INVALID_FIELD", "time"),
    ("delete-before", {"time": 1, "offsets": [{"partition": 0, "offset": 1}]}, 400, "INVALID_FIELD", "time"),
    ("delete-before", {"offsets": []}, 400, "INVALID_FIELD", "offsets"),
    ("delete-before", {"offsets": [{"partition": 0}]}, 400, "MISSING_FIELD", "offsets[0].offset"),
    ("delete-before", {"offsets": [{"partition": 0, "offset": -1}]}, 400, "INVALID_FIELD", "offsets[0].offset"),
    (
        "delete-before",
        {"offsets": [{"partition": 0, "offset": 1}, {"partition": 0, "offset": 2}]},
        400,
        "INVALID_FIELD",
        "offsets[1].partition",
    ),
]


async def world_with(client: Any, *, messages: int = 4) -> None:
    assert (await client.put("/topics/orders", json={"partitions": 2})).status_code == 201
    for number in range(messages):
        body = {"queue": "orders", "body": number, "partition": number % 2}
        assert (await client.post("/messages", json=body)).status_code == 201


def deletes(world: MemoryWorld) -> list[tuple[int, str, int, bool]]:
    asked: list[DeleteRequest] = world.node.calls("delete")
    return [(each.partition, each.to, each.value, each.dry_run) for each in asked]


async def test_a_purge_fixes_its_ends_before_it_deletes(serve: Any) -> None:
    """So that a try that is made again takes nothing that was sent since."""
    world = MemoryWorld()
    async with serve(world) as client:
        await world_with(client)
        answer = await client.post("/topics/orders/purge")
        assert answer.status_code == 200, answer.text
        assert answer.json()["deleted"] == 4
        planned = [(0, "end", -1, True), (1, "end", -1, True)]
        assert sorted(deletes(world)) == sorted([*planned, (0, "offset", 2, False), (1, "offset", 2, False)])


async def test_a_dry_run_only_looks(serve: Any) -> None:
    world = MemoryWorld()
    async with serve(world) as client:
        await world_with(client)
        answer = await client.post("/topics/orders/purge", json={"partitions": [1], "dryRun": True})
        item = {"partition": 1, "logStart": 2, "previous": 0, "deleted": 2, "groups": []}
        assert answer.json() == {"topic": "orders", "dryRun": True, "deleted": 2, "partitions": [item], "failed": 0}
        assert deletes(world) == [(1, "end", -1, True)]


async def test_one_that_fails_does_not_hide_the_others(serve: Any) -> None:
    world = MemoryWorld()
    async with serve(world) as client:
        await world_with(client)
        world.node.fail("delete", ServerError(ProblemCode.STORAGE_FAILED, "it broke"))
        answer = await client.post("/topics/orders/delete-before", json={"time": 1})
        assert answer.status_code == 207
        assert (answer.json()["failed"], answer.json()["deleted"]) == (1, 1)
        [problem] = [each["problem"]["code"] for each in answer.json()["partitions"] if "problem" in each]
        assert problem == "STORAGE_FAILED"


@pytest.mark.parametrize(("call", "body", "status", "code", "field"), WRONG)
async def test_wrong_use_is_named_and_changes_nothing(
    serve: Any, call: str, body: dict[str, Any], status: int, code: str, field: str | None
) -> None:
    world = MemoryWorld()
    async with serve(world) as client:
        await world_with(client)
        answer = await client.post(f"/topics/orders/{call}", json=body)
        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
        if field is not None:
            assert answer.json()["field"] == field
        assert deletes(world) == []


async def test_topics_that_are_not_there_and_those_of_acklog_itself(serve: Any) -> None:
    async with serve(MemoryWorld()) as client:
        for name, status, code in (("none", 404, "TOPIC_NOT_FOUND"), ("__groups", 400, "INVALID_NAME")):
            answer = await client.post(f"/topics/{name}/purge")
            assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text


async def test_groups_that_the_token_is_not_for_are_not_named(serve: Any) -> None:
    token = "purge-token-0123456789"
    entry = {"name": "job", "token": token, "scopes": ["purge"], "topics": ["orders"], "groups": ["mine*"]}
    chief = {"name": "chief", "token": "chief-token-0123456789", "scopes": ["read", "write", "admin"]}
    world = MemoryWorld(tokens=parse_token_table(json.dumps({"tokens": [entry, chief]}).encode()))
    async with serve(world) as client:
        everything = {"Authorization": "Bearer chief-token-0123456789"}
        await client.put("/topics/orders", json={"partitions": 1}, headers=everything)
        for name in ("mine", "theirs"):
            await client.put(f"/groups/{name}", headers=everything)
            world.node.undone.append(world.metadata.group(name).id)  # type: ignore[union-attr]
        answer = await client.post("/topics/orders/purge", headers={"Authorization": f"Bearer {token}"})
        assert [each["group"] for each in answer.json()["partitions"][0]["groups"]] == ["mine"]
