"""Topics over HTTP: create is not update, and what can delete messages takes a word of its own (rule R43)."""

from typing import Any

import httpx2
import msgspec
import pytest

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.values import Topic
from cluster.ports.coordination import CoordinationUnavailableError, OutcomeUnknownError
from tests.support.memory_gateway import MemoryWorld


async def test_put_creates_once_and_never_changes(client: httpx2.AsyncClient) -> None:
    created = await client.put("/topics/orders", json={"partitions": 4, "config": {"retentionMs": 1000}})
    assert created.status_code == 201
    view = created.json()
    assert (view["name"], view["partitions"], view["replicationFactor"]) == ("orders", 4, 1)
    assert view["config"]["retentionMs"] == 1000
    again = await client.put("/topics/orders", json={"partitions": 4, "config": {"retentionMs": 1000}})
    assert (again.status_code, again.json()) == (200, view)
    nothing_named = await client.put("/topics/orders")
    assert (nothing_named.status_code, nothing_named.json()) == (200, view)
    wanted = {"partitions": 6, "replicationFactor": 1, "config": {"retentionMs": 1, "retentionBytes": -1}}
    refused = await client.put("/topics/orders", json=wanted)
    assert (refused.status_code, refused.json()["code"]) == (409, "TOPIC_EXISTS")
    assert refused.json()["differing"] == ["partitions", "config.retentionMs"]
    assert "config.retentionMs is 1000, not 1" in refused.json()["detail"]
    assert "PATCH /topics/orders" in refused.json()["detail"]
    assert (await client.put("/topics/orders")).json() == view


async def test_patch_changes_what_it_names(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    before = await world.topic(partitions=4)
    answer = await client.patch("/topics/orders", json={"partitions": 6, "config": {"segmentBytes": 1 << 30}})
    changed = answer.json()
    assert (answer.status_code, changed["partitions"], changed["config"]["segmentBytes"]) == (200, 6, 1 << 30)
    assert (changed["id"], changed["config"]["retentionMs"]) == (before.id, before.config.retention_ms)
    assert (await client.patch("/topics/ordres", json={})).json()["code"] == "TOPIC_NOT_FOUND"
    assert (await client.patch("/topics/orders")).json() == changed


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"retentionMs": 5}, "config.retentionMs"),
        ({"retentionBytes": 1 << 40}, "config.retentionBytes"),
        ({"retention": "untilAcked"}, "config.retention"),
        ({"segmentBytes": 1 << 20}, "config.segmentBytes"),
        ({"cleanupPolicy": "compact"}, "config.cleanupPolicy"),
        ({"cleanupPolicy": "compact,delete"}, "config.cleanupPolicy"),
    ],
)
async def test_a_change_that_can_delete_messages_says_so(
    client: httpx2.AsyncClient, world: MemoryWorld, config: dict[str, object], field: str
) -> None:
    await world.topic()
    before = (await client.get("/topics/orders")).json()["config"]
    refused = await client.patch("/topics/orders", json={"config": {**config, "dedupWindowMs": 7}})
    assert (refused.status_code, refused.json()["code"]) == (409, "DATA_LOSS_NOT_ALLOWED")
    assert refused.json()["field"] == field
    assert "allowDataLoss=true" in refused.json()["detail"]
    assert (await client.get("/topics/orders")).json()["config"] == before
    changed = await client.patch("/topics/orders?allowDataLoss=true", json={"config": config})
    assert (changed.status_code, {**changed.json()["config"], **config}) == (200, changed.json()["config"])
    assert (await client.patch("/topics/orders", json={"config": config})).status_code == 200, "it is so already"


async def test_longer_retention_needs_no_word(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await world.topic()
    for retention_ms in (1 << 50, -1):
        answer = await client.patch("/topics/orders", json={"config": {"retentionMs": retention_ms}})
        assert (answer.status_code, answer.json()["config"]["retentionMs"]) == (200, retention_ms)
    refused = await client.patch("/topics/orders", json={"config": {"retentionMs": 1 << 50}})
    assert refused.json()["code"] == "DATA_LOSS_NOT_ALLOWED", "unlimited is longer than any"


async def test_smaller_files_need_no_word_where_nothing_is_ever_removed(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    await world.topic()
    config = {"retentionMs": -1, "segmentBytes": 1 << 20}
    assert (await client.patch("/topics/orders", json={"config": config})).json()["config"]["segmentBytes"] == 1 << 20
    limited = await client.patch("/topics/orders?allowDataLoss=true", json={"config": {"retentionBytes": 1 << 40}})
    assert limited.status_code == 200
    for size_bytes, status in ((1 << 21, 200), (1 << 21, 200), (1 << 20, 409)):
        answer = await client.patch("/topics/orders", json={"config": {"segmentBytes": size_bytes}})
        assert answer.status_code == status


async def test_null_takes_a_setting_back_to_its_default(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    default = (await client.put("/topics/orders")).json()["config"]
    config = {"dedupWindowMs": 1, "maxReplicaLagMs": 100, "retentionMs": -1, "segmentBytes": 1 << 20}
    await client.patch("/topics/orders?allowDataLoss=true", json={"config": config})
    back = {"partitions": None, "replicationFactor": None, "config": dict.fromkeys(default)}
    refused = await client.patch("/topics/orders", json=back)
    assert (refused.json()["code"], refused.json()["field"]) == ("DATA_LOSS_NOT_ALLOWED", "config.retentionMs")
    answer = (await client.patch("/topics/orders?allowDataLoss=true", json=back)).json()
    assert (answer["config"], answer["partitions"]) == (default, 8)
    assert (await client.patch("/topics/orders", json={"config": None})).json() == answer


async def test_a_change_is_judged_by_what_is_stored_when_it_is_made(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    """Longer than what was looked at a moment ago, shorter than what somebody else has just set."""
    topic = await world.topic()
    update = world.topics.update

    async def update_late(name: str, **changes: Any) -> Topic:
        world.topics.update = update  # type: ignore[method-assign]
        await update(name, config=msgspec.structs.replace(topic.config, retention_ms=-1, segment_bytes=1 << 20))
        return await update(name, **changes)

    world.topics.update = update_late  # type: ignore[method-assign]
    longer = {"config": {"retentionMs": topic.config.retention_ms + 1}}
    assert (await client.patch("/topics/orders", json=longer)).json()["code"] == "DATA_LOSS_NOT_ALLOWED"
    allowed = await client.patch("/topics/orders?allowDataLoss=true", json=longer)
    assert allowed.json()["config"]["segmentBytes"] == 1 << 20, "what the other one changed stays"


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({"partitions": 0}, "INVALID_FIELD", "partitions"),
        ({"partitions": 1025}, "INVALID_FIELD", "partitions"),
        ({"partitions": 1.5}, "INVALID_FIELD", "partitions"),
        ({"replicationFactor": 2}, "INVALID_FIELD", "replicationFactor"),
        ({"config": {"minInsyncReplicas": 2}}, "INVALID_FIELD", "config.minInsyncReplicas"),
        ({"config": {"retentionMs": -2}}, "INVALID_FIELD", "config.retentionMs"),
        ({"config": {"retention": "never"}}, "INVALID_FIELD", "config.retention"),
        ({"config": {"retentionDays": 2}}, "UNKNOWN_FIELD", "config.retentionDays"),
        ([], "INVALID_FIELD", None),
    ],
)
async def test_a_wrong_body_is_named(client: httpx2.AsyncClient, body: object, code: str, field: str | None) -> None:
    response = await client.put("/topics/orders", json=body)
    assert response.status_code == 400
    assert (response.json()["code"], response.json().get("field")) == (code, field)


@pytest.mark.parametrize("name", ["__groups", "a%20b", "..%2f", "x" * 250, "%FF"])
async def test_names_that_are_not_allowed(client: httpx2.AsyncClient, name: str) -> None:
    response = await client.put(f"/topics/{name}")
    assert response.json()["code"] in {"INVALID_NAME", "NOT_FOUND"}


async def test_partitions_cannot_be_taken_away(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await world.topic()
    response = await client.patch("/topics/orders", json={"partitions": 7})
    assert (response.status_code, response.json()["field"]) == (400, "partitions")
    assert "PUT /topics/orders/decommissioned" in response.json()["detail"]
    factor = await client.patch("/topics/orders", json={"replicationFactor": 3})
    assert (factor.json()["code"], factor.json()["field"]) == ("INVALID_FIELD", "replicationFactor")


async def test_a_description_has_what_the_leaders_say(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    topic = await world.topic(partitions=2)
    await client.post("/messages", json={"queue": "orders", "body": 1, "partition": 1})
    answer = (await client.get("/topics/orders")).json()
    first, second = answer["partitionStates"]
    assert (first["highWatermark"], second["highWatermark"], second["leader"]) == (0, 1, 1)
    assert second["sizeBytes"] > 0
    world.node.fail("positions", ServerError(ProblemCode.STORAGE_FAILED, "the disk failed"))
    failed = (await client.get("/topics/orders")).json()["partitionStates"][0]
    assert (failed["highWatermark"], failed["problem"]["code"]) == (None, "STORAGE_FAILED")
    assert answer["id"] == topic.id


async def test_listings_come_in_pages(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    for name in ("c", "a", "b"):
        await world.topic(name)
    page = (await client.get("/topics?limit=2")).json()
    assert ([topic["name"] for topic in page["topics"]], page["next"]) == (["a", "b"], "b")
    rest = (await client.get("/topics?limit=2&after=b")).json()
    assert [topic["name"] for topic in rest["topics"]] == ["c"]
    assert "next" not in rest
    assert (await client.get("/topics?limit=0")).json()["field"] == "limit"


async def test_acklogs_own_topics_are_listed_for_who_asks_for_them(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    for name in ("orders", "__groups"):
        await world.topic(name)
    assert [topic["name"] for topic in (await client.get("/topics")).json()["topics"]] == ["orders"]
    first = (await client.get("/topics?internal=true&limit=1")).json()
    assert ([topic["name"] for topic in first["topics"]], first["next"]) == (["__groups"], "__groups")
    rest = (await client.get("/topics?internal=true&after=__groups")).json()
    assert [topic["name"] for topic in rest["topics"]] == ["orders"]
    assert (await client.get("/topics?internal=yes")).json()["field"] == "internal"
    assert (await client.get("/groups?internal=true")).json()["field"] == "internal"


async def test_deleting(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await world.topic()
    response = await client.delete("/topics/orders")
    assert (response.status_code, response.content) == (204, b"")
    assert (await client.delete("/topics/orders")).json()["code"] == "TOPIC_NOT_FOUND"
    assert (await client.get("/topics/orders")).status_code == 404


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (CoordinationUnavailableError("no"), 503, "UNAVAILABLE"),
        (OutcomeUnknownError("?"), 500, "OUTCOME_UNKNOWN"),
        (ServerError(ProblemCode.CONFLICT, "changed meanwhile"), 409, "CONFLICT"),
    ],
)
async def test_the_coordination_stores_failures(
    client: httpx2.AsyncClient, world: MemoryWorld, error: Exception, status: int, code: str
) -> None:
    async def fail(*_arguments: object, **_options: object) -> None:
        raise error

    world.topics.get_or_create = fail  # type: ignore[assignment,method-assign]
    response = await client.put("/topics/orders")
    assert (response.status_code, response.json()["code"]) == (status, code)
    assert int(response.headers["retry-after"]) >= 1
