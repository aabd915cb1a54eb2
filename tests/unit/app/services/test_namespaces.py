"""Namespaces over HTTP: a group and its topics are of one, and what may be done in one is limited."""

from typing import Any

import httpx2
import pytest

from acklog.wire.limits import NAMESPACE_COUNT_MAX, QUOTA_PER_SECOND_MAX
from cluster.model.namespace import NamespaceSettings
from cluster.model.values import GroupMode, GroupSettings
from tests.support.memory_gateway import MemoryWorld

SHOP, OTHER = "shop%2F", "other%2F"


@pytest.fixture
async def tenants(world: MemoryWorld) -> MemoryWorld:
    for namespace in ("shop", "other"):
        await world.gateway.namespaces.get_or_create(namespace, NamespaceSettings())
        for name in ("orders", "letters"):
            await world.topic(f"{namespace}/{name}", partitions=1)
        for name in ("billing", "from"):
            await world.groups.create(f"{namespace}/{name}", mode=GroupMode.SHARED, settings=GroupSettings())
        await world.groups.create(f"{namespace}/members", mode=GroupMode.EXCLUSIVE, settings=GroupSettings())
    await world.topic("plain", partitions=1)
    await world.groups.create("plain", mode=GroupMode.SHARED, settings=GroupSettings())
    return world


PLAIN_POSITION = {"topic": "plain", "partition": 0, "offset": 0}
OTHERS_TOPIC = {"topic": "other/orders"}
CROSSING: list[tuple[str, str, Any, str]] = [
    ("GET", "/messages?queue=shop%2Forders&group=other%2Fbilling", None, "group"),
    ("GET", "/messages?queue=shop%2Forders&group=plain", None, "group"),
    ("GET", "/messages?queue=plain&group=shop%2Fbilling", None, "group"),
    ("GET", "/messages?queue=shop%2Forders&queue=other%2Forders&group=shop%2Fbilling", None, "group"),
    ("GET", "/messages?queue=shop%2Forders&queue=other%2Forders", None, "group"),
    ("PUT", "/groups/shop%2Fbilling/offsets", {**OTHERS_TOPIC, "to": "latest"}, "topic"),
    ("POST", "/groups/shop%2Fbilling/offsets", {"offsets": [PLAIN_POSITION]}, "offsets[0].topic"),
    ("POST", "/groups/shop%2Fbilling/offsets/copy", {"from": "other/from"}, "from"),
    ("POST", "/groups/shop%2Fbilling/offsets/copy", {"from": "shop/from", "topics": ["other/orders"]}, "topics"),
    ("GET", "/groups/shop%2Fbilling/offsets?topic=other%2Forders", None, "topic"),
    ("GET", "/groups/shop%2Fbilling/demand?topic=other%2Forders", None, "topic"),
    ("GET", "/groups/shop%2Fbilling/keys?topic=other%2Forders", None, "topic"),
    ("POST", "/groups/shop%2Fbilling/keys/release", {**OTHERS_TOPIC, "partition": 0, "offset": 0}, "topic"),
    ("POST", "/groups/shop%2Fbilling/keys/skip", {**OTHERS_TOPIC, "key": "k"}, "topic"),
    ("POST", "/groups/shop%2Fbilling/pause", OTHERS_TOPIC, "topic"),
    ("POST", "/groups/shop%2Fbilling/resume", OTHERS_TOPIC, "topic"),
    ("POST", "/groups/shop%2Fbilling/redrive", {"topic": "other/letters"}, "topic"),
    ("POST", "/groups/shop%2Fbilling/redrive", {"topic": "shop/letters", "to": "other/orders"}, "to"),
    ("PUT", "/groups/shop%2Fnew", {"settings": {"deadLetterTopic": "other/letters"}}, "settings.deadLetterTopic"),
    ("PATCH", "/groups/shop%2Fbilling", {"settings": {"deadLetterTopic": "plain"}}, "settings.deadLetterTopic"),
    ("PUT", "/groups/shop%2Fmembers/members/m", {"topics": ["other/orders"]}, "topics"),
    ("PUT", "/groups/shop%2Fmembers/members/m", {"patterns": ["other/*"]}, "patterns"),
    ("PUT", "/groups/shop%2Fmembers/members/m", {"patterns": ["*/orders"]}, "patterns"),
    ("PUT", "/groups/shop%2Fmembers/members/m", {"patterns": ["orders*"]}, "patterns"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body", "field"), CROSSING)
async def test_nothing_of_a_group_leaves_its_namespace(
    tenants: MemoryWorld, client: httpx2.AsyncClient, method: str, path: str, body: Any, field: str
) -> None:
    """Whoever asks: here it is somebody who may do everything."""
    answer = await client.request(method, path, **({} if body is None else {"json": body}))
    assert (answer.status_code, answer.json()["code"]) == (400, "NAMESPACE_MISMATCH"), answer.text
    assert answer.json()["field"] == field
    # It is decided by the names: there need not be such a thing.
    other = path.replace("other%2F", "nil%2F")
    text = None if body is None else httpx2.Request("POST", "http://x", json=body).content.replace(b"other/", b"nil/")
    assert (await client.request(method, other, content=text)).json()["code"] == "NAMESPACE_MISMATCH"


async def test_the_default_group_is_that_of_the_namespace(tenants: MemoryWorld, client: httpx2.AsyncClient) -> None:
    sent = await client.post("/messages", json={"queue": "shop/orders", "body": 1})
    assert sent.status_code == 201
    got = await client.get("/messages?queue=shop%2Forders")
    assert got.status_code == 200, got.text
    assert got.json()["groupCreated"]
    assert [each.name for each in tenants.metadata.groups() if each.name.endswith("default")] == ["shop/default"]
    done = await client.post("/ack", json={"messageId": sent.json()["messageId"]})
    assert done.status_code == 200, done.text
    [request] = tenants.node.calls("settle")
    default = tenants.metadata.group("shop/default")
    assert default is not None
    assert request.group_id == default.id


async def test_message_ids_of_another_namespace_are_not_the_groups(
    tenants: MemoryWorld, client: httpx2.AsyncClient
) -> None:
    ids = [
        (await client.post("/messages", json={"queue": queue, "body": 1})).json()["messageId"]
        for queue in ("shop/orders", "other/orders")
    ]
    answer = (await client.post("/ack", json={"messageIds": ids, "group": "shop/billing"})).json()
    assert answer["results"][1]["code"] == "NAMESPACE_MISMATCH"
    assert "code" not in answer["results"][0] or answer["results"][0]["code"] != "NAMESPACE_MISMATCH"


async def test_making_changing_and_deleting_one(client: httpx2.AsyncClient) -> None:
    made = await client.put("/namespaces/shop", json={"settings": {"topicsMax": 3, "messagesPerSecond": 50}})
    assert made.status_code == 201
    assert made.json()["settings"] == {
        "topicsMax": 3,
        "partitionsMax": None,
        "groupsMax": None,
        "schedulesMax": None,
        "producersMax": None,
        "requestsPerSecond": None,
        "messagesPerSecond": 50,
        "bytesPerSecond": None,
    }
    assert (made.json()["topics"], made.json()["partitions"], made.json()["groups"]) == (0, 0, 0)
    assert (await client.put("/namespaces/shop", json={"settings": {"topicsMax": 3}})).status_code == 200
    other = await client.put("/namespaces/shop", json={"settings": {"topicsMax": 4}})
    assert (other.status_code, other.json()["code"]) == (409, "NAMESPACE_EXISTS")
    assert other.json()["differing"] == ["settings.topicsMax"]
    changed = await client.patch("/namespaces/shop", json={"settings": {"topicsMax": 4, "messagesPerSecond": None}})
    assert (changed.json()["settings"]["topicsMax"], changed.json()["settings"]["messagesPerSecond"]) == (4, None)
    assert (await client.get("/namespaces/shop")).json() == changed.json()
    await client.put("/topics/shop%2Forders", json={"partitions": 2})
    await client.put("/groups/shop%2Fbilling", json={})
    shown = (await client.get("/namespaces")).json()["namespaces"]
    assert [(each["name"], each["topics"], each["partitions"], each["groups"]) for each in shown] == [("shop", 1, 2, 1)]
    schedule = {"everySeconds": 60, "message": {"body": 1}}
    assert (await client.put("/topics/shop%2Forders/schedules/tick", json=schedule)).status_code == 201
    assert (await client.put("/topics/shop%2Forders/producers/loader", json={})).status_code < 300
    [shown] = (await client.get("/namespaces")).json()["namespaces"]
    assert (shown["schedules"], shown["producers"]) == (1, 1)
    full = await client.delete("/namespaces/shop")
    assert (full.status_code, full.json()["code"]) == (409, "NAMESPACE_NOT_EMPTY")
    await client.delete("/topics/shop%2Forders")
    await client.delete("/groups/shop%2Fbilling")
    assert (await client.delete("/namespaces/shop")).status_code == 204
    for method, body in (("GET", None), ("PATCH", {}), ("DELETE", None)):
        missing = await client.request(method, "/namespaces/shop", **({} if body is None else {"json": body}))
        assert (missing.status_code, missing.json()["code"]) == (404, "NAMESPACE_NOT_FOUND")


async def test_pages(client: httpx2.AsyncClient) -> None:
    for name in ("a", "b", "c"):
        await client.put(f"/namespaces/{name}")
    page = (await client.get("/namespaces?limit=2")).json()
    assert ([each["name"] for each in page["namespaces"]], page["next"]) == (["a", "b"], "b")
    rest = (await client.get("/namespaces?limit=2&after=b")).json()
    assert ([each["name"] for each in rest["namespaces"]], rest.get("next")) == (["c"], None)


@pytest.mark.parametrize("setting", ["topicsMax", "partitionsMax", "groupsMax", "schedulesMax", "producersMax"])
async def test_limits_at_their_limits(client: httpx2.AsyncClient, setting: str) -> None:
    for number, value in enumerate((0, NAMESPACE_COUNT_MAX)):
        assert (await client.put(f"/namespaces/n{number}", json={"settings": {setting: value}})).status_code == 201
    for value in (-1, NAMESPACE_COUNT_MAX + 1, "many", 1.5):
        await refused_setting(client, setting, value)


@pytest.mark.parametrize("setting", ["requestsPerSecond", "messagesPerSecond", "bytesPerSecond"])
async def test_quotas_at_their_limits(client: httpx2.AsyncClient, setting: str) -> None:
    for number, value in enumerate((1, QUOTA_PER_SECOND_MAX)):
        assert (await client.put(f"/namespaces/n{number}", json={"settings": {setting: value}})).status_code == 201
    for value in (0, QUOTA_PER_SECOND_MAX + 1):
        await refused_setting(client, setting, value)


async def refused_setting(client: httpx2.AsyncClient, setting: str, value: object) -> None:
    refused = await client.put("/namespaces/bad", json={"settings": {setting: value}})
    assert (refused.status_code, refused.json()["code"]) == (400, "INVALID_FIELD")
    assert refused.json()["field"] == f"settings.{setting}"
    assert (await client.get("/namespaces/bad")).status_code == 404


async def test_names_of_namespaces(client: httpx2.AsyncClient) -> None:
    for name in ("a%2Fb", "__a", "x" * 65, "%20"):
        for method in ("PUT", "PATCH", "GET", "DELETE"):
            refused = await client.request(method, f"/namespaces/{name}")
            assert (refused.status_code, refused.json()["code"]) == (400, "INVALID_NAME"), (name, method)
            assert refused.json()["field"] == "namespace"


@pytest.mark.parametrize(
    ("setting", "messages"), [("requestsPerSecond", 1), ("messagesPerSecond", 1), ("bytesPerSecond", 1)]
)
async def test_what_is_done_in_a_namespace_counts_together(
    tenants: MemoryWorld, client: httpx2.AsyncClient, setting: str, messages: int
) -> None:
    """The first send uses the quota up, for all that is done by whoever with its topics and groups."""
    await client.patch("/namespaces/shop", json={"settings": {setting: 1}})
    name = f"namespace/shop/{setting}"
    assert (await client.post("/messages", json={"queue": "shop/orders", "body": 12345})).status_code == 201
    for path in ("/messages?queue=shop%2Fletters&group=shop%2Fbilling", "/topics/shop%2Forders/partitions/0/records"):
        refused = await client.get(path)
        assert (refused.status_code, refused.headers.get("acklog-quota")) == (429, name), path
    refused = await client.post("/messages", json={"queue": "shop/letters", "body": 1})
    assert (refused.status_code, refused.json()["quota"]) == (429, name)
    assert (await client.post("/messages", json={"queue": "other/orders", "body": 1})).status_code == 201
    assert (await client.post("/messages", json={"queue": "plain", "body": 1})).status_code == 201
    await client.patch("/namespaces/shop", json={"settings": {setting: None}})
    assert (await client.post("/messages", json={"queue": "shop/orders", "body": 1})).status_code == 201


async def test_what_is_done_in_a_namespace_is_in_the_metrics(tenants: MemoryWorld, client: httpx2.AsyncClient) -> None:
    await client.post("/messages", json={"queue": "shop/orders", "body": 12345})
    await client.post("/messages", json={"queue": "shop/orders", "messages": [{"body": 1}, {"body": 2}]})
    got = await client.get("/messages?queue=shop%2Forders&group=shop%2Fbilling&max=2")
    assert got.status_code == 200
    lines = (await client.get("/metrics")).text
    assert 'acklog_namespace_requests_total{call="send",namespace="shop"} 2.0' in lines
    assert 'acklog_namespace_messages_total{call="send",namespace="shop"} 3.0' in lines
    assert 'acklog_namespace_bytes_total{call="send",namespace="shop"} 7.0' in lines
    assert 'acklog_namespace_requests_total{call="receive",namespace="shop"} 1.0' in lines
