import httpx2
import pytest

from acklog.wire.problems import ProblemCode
from cluster.coordination import CoordinationUnavailableError, OutcomeUnknownError
from cluster.errors import AcklogError
from tests.support.memory_gateway import MemoryWorld


async def test_put_creates_once_and_then_changes_what_it_names(client: httpx2.AsyncClient) -> None:
    created = await client.put("/topics/orders", json={"partitions": 4, "config": {"retentionMs": 1000}})
    assert created.status_code == 201
    view = created.json()
    assert (view["name"], view["partitions"], view["replicationFactor"]) == ("orders", 4, 1)
    assert view["config"]["retentionMs"] == 1000
    again = await client.put("/topics/orders", json={"partitions": 4, "config": {"retentionMs": 1000}})
    assert (again.status_code, again.json()) == (200, view)
    nothing_named = await client.put("/topics/orders")
    assert (nothing_named.status_code, nothing_named.json()) == (200, view)
    changed = (await client.put("/topics/orders", json={"partitions": 6, "config": {"segmentBytes": 1048576}})).json()
    assert (changed["partitions"], changed["config"]["segmentBytes"]) == (6, 1048576)
    assert (changed["id"], changed["config"]["retentionMs"]) == (view["id"], 1000)


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
    response = await client.put("/topics/orders", json={"partitions": 7})
    assert (response.status_code, response.json()["field"]) == (400, "partitions")
    assert "PUT /topics/orders/decommissioned" in response.json()["detail"]
    factor = await client.put("/topics/orders", json={"replicationFactor": 3})
    assert (factor.json()["code"], factor.json()["field"]) == ("INVALID_FIELD", "replicationFactor")


async def test_a_description_has_what_the_leaders_say(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    topic = await world.topic(partitions=2)
    await client.post("/messages", json={"queue": "orders", "body": 1, "partition": 1})
    answer = (await client.get("/topics/orders")).json()
    first, second = answer["partitionStates"]
    assert (first["highWatermark"], second["highWatermark"], second["leader"]) == (0, 1, 1)
    assert second["sizeBytes"] > 0
    world.node.fail("positions", AcklogError(ProblemCode.STORAGE_FAILED, "the disk failed"))
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
        (AcklogError(ProblemCode.CONFLICT, "changed meanwhile"), 409, "CONFLICT"),
    ],
)
async def test_the_coordination_stores_failures(
    client: httpx2.AsyncClient, world: MemoryWorld, error: Exception, status: int, code: str
) -> None:
    async def fail(*_arguments: object, **_options: object) -> None:
        raise error

    world.topics.create = fail  # type: ignore[assignment,method-assign]
    response = await client.put("/topics/orders")
    assert (response.status_code, response.json()["code"]) == (status, code)
    assert int(response.headers["retry-after"]) >= 1
