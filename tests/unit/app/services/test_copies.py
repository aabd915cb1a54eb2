"""Backups and restores, as clients see them: what is refused, and with which word."""

from typing import Any

import pytest

from storage.rpc.copy_messages import CopyRequest
from tests.support.memory_gateway import MemoryWorld

BEGIN = {"restoreId": "r1", "partitions": 2}
ENDS = [{"partition": number, "logStart": 0, "end": 0} for number in (0, 1)]

WRONG: list[tuple[str, str, object, int, str, str | None]] = [
    ("PUT", "/topics/back/restore", {"partitions": 2}, 400, "MISSING_FIELD", "restoreId"),
    ("PUT", "/topics/back/restore", {**BEGIN, "restoreId": "r" * 65}, 400, "INVALID_FIELD", "restoreId"),
    ("PUT", "/topics/back/restore", {**BEGIN, "restoreId": "a b"}, 400, "INVALID_FIELD", "restoreId"),
    ("PUT", "/topics/back/restore", {**BEGIN, "partitions": 1025}, 400, "INVALID_FIELD", "partitions"),
    ("PUT", "/topics/orders/restore", BEGIN, 409, "TOPIC_EXISTS", "topic"),
    ("PUT", "/topics/begun/restore", {**BEGIN, "restoreId": "r2"}, 409, "TOPIC_EXISTS", "topic"),
    ("PUT", "/topics/begun/restore", {**BEGIN, "partitions": 3}, 409, "TOPIC_EXISTS", "topic"),
    ("GET", "/topics/nothing/restore", None, 404, "TOPIC_NOT_FOUND", "topic"),
    ("POST", "/topics/begun/restore/partitions/0/batches", None, 400, "MISSING_FIELD", "restoreId"),
    ("POST", "/topics/begun/restore/partitions/x/batches?restoreId=r1", None, 400, "INVALID_FIELD", "partition"),
    ("POST", "/topics/begun/restore/partitions/2/batches?restoreId=r1", None, 404, "PARTITION_NOT_FOUND", "partition"),
    ("POST", "/topics/begun/restore/partitions/0/batches?restoreId=r1&log=x", None, 400, "INVALID_FIELD", "log"),
    ("POST", "/topics/begun/restore/partitions/0/batches?restoreId=r2", None, 409, "TOPIC_NOT_RESTORING", "restoreId"),
    (
        "POST",
        "/topics/begun/restore/partitions/0/groups",
        {"restoreId": "r1", "groups": {"g": "unknown"}, "state": ""},
        404,
        "GROUP_NOT_FOUND",
        "groups",
    ),
    (
        "POST",
        "/topics/begun/restore/partitions/0/groups",
        {"restoreId": "r1", "groups": {}, "state": "?"},
        400,
        "INVALID_FIELD",
        "state",
    ),
    ("POST", "/topics/begun/restore/finish", {"restoreId": "r1", "partitions": []}, 400, "INVALID_FIELD", "partitions"),
    (
        "POST",
        "/topics/begun/restore/finish",
        {"restoreId": "r1", "partitions": ENDS[:1]},
        400,
        "INVALID_FIELD",
        "partitions",
    ),
    (
        "POST",
        "/topics/begun/restore/finish",
        {"restoreId": "r1", "partitions": [ENDS[0], {**ENDS[1], "end": 7}]},
        409,
        "RESTORE_CONFLICT",
        "partitions",
    ),
    ("POST", "/messages", {"queue": "begun", "body": 1}, 503, "TOPIC_RESTORING", None),
    ("POST", "/messages", {"queue": "begun", "messages": [{"body": 1}]}, 503, "TOPIC_RESTORING", None),
    ("GET", "/messages?queue=begun&group=g", None, 503, "TOPIC_RESTORING", None),
    ("GET", "/messages?queue=orders&queue=begun&group=g", None, 503, "TOPIC_RESTORING", None),
    ("GET", "/topics/begun/tail", None, 503, "TOPIC_RESTORING", None),
    ("GET", "/topics/begun/tail?partition=0", None, 503, "TOPIC_RESTORING", None),
    (
        "PUT",
        "/topics/begun/schedules/daily",
        {"cron": "0 0 * * *", "message": {"body": 1}},
        503,
        "TOPIC_RESTORING",
        None,
    ),
    ("GET", "/topics/begun/partitions/0/records", None, 503, "TOPIC_RESTORING", None),
    ("GET", "/topics/begun/partitions/0/state", None, 503, "TOPIC_RESTORING", None),
    ("POST", "/topics/begun/purge", {}, 503, "TOPIC_RESTORING", None),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "code", "field"), WRONG)
async def test_what_is_wrong_is_named_and_changes_nothing(
    serve: Any, method: str, path: str, body: object, status: int, code: str, field: str | None
) -> None:
    world = MemoryWorld()
    async with serve(world) as client:
        assert (await client.put("/topics/orders", json={"partitions": 2})).status_code == 201
        assert (await client.put("/topics/begun/restore", json=BEGIN)).status_code == 201
        answer = await client.request(method, path, **({} if body is None else {"json": body}))
        assert (answer.status_code, answer.json()["code"], answer.json().get("field")) == (status, code, field)
        changes: list[CopyRequest] = [each for each in world.node.calls("copy") if each.action != "state"]
        assert changes == []
        assert (await client.get("/topics/begun/restore")).json()["restoring"] is True


async def test_a_restore_from_its_begin_to_its_end(serve: Any) -> None:
    world = MemoryWorld()
    async with serve(world) as client:
        begun = await client.put("/topics/back/restore", json=BEGIN)
        assert (begun.status_code, begun.json()["restoring"]) == (201, True)
        assert (await client.put("/topics/back/restore", json=BEGIN)).status_code == 200
        assert (await client.get("/topics/back")).json()["restoring"] is True
        await client.put("/groups/g")
        groups = {"restoreId": "r1", "groups": {"there": "g"}, "state": "kwGQoA=="}
        assert (await client.post("/topics/back/restore/partitions/1/groups", json=groups)).status_code == 200
        path = "/topics/back/restore/partitions/1/batches?restoreId=r1&fillTo=4"
        assert (await client.post(path, content=b"batches")).status_code == 200
        end = {"restoreId": "r1", "partitions": ENDS, "decommissioned": [1]}
        finished = await client.post("/topics/back/restore/finish", json=end)
        assert (finished.status_code, finished.json()["decommissioned"]) == (200, [1])
        assert "restoring" not in finished.json()
        again = await client.post("/topics/back/restore/finish", json=end)
        assert (again.status_code, again.json()["code"]) == (409, "TOPIC_NOT_RESTORING")
        assert (await client.get("/topics/back/restore")).json() == {
            "topic": "back",
            "topicId": finished.json()["id"],
            "restoreId": "r1",
            "restoring": False,
            "partitions": [],
        }
        changes: list[CopyRequest] = [each for each in world.node.calls("copy") if each.action != "state"]
        assert [(each.action, each.partition, each.content, each.fill_to) for each in changes] == [
            ("groups", 1, b"\x93\x01\x90\xa0", -1),
            ("batches", 1, b"batches", 4),
        ]
        assert list(changes[0].group_ids) == ["there"]


async def test_what_a_cluster_had_comes_back_on_fewer_nodes(serve: Any) -> None:
    async with serve(MemoryWorld()) as client:
        wanted = {**BEGIN, "replicationFactor": 3, "config": {"minInsyncReplicas": 2, "retentionMs": 5}}
        assert (await client.put("/topics/back/restore", json=wanted)).status_code == 201
        made = (await client.get("/topics/back")).json()
        assert (made["replicationFactor"], made["config"]["minInsyncReplicas"]) == (1, 1)
        assert made["config"]["retentionMs"] == 5
