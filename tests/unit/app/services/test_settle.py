import gc
from typing import Any

import httpx2
import pytest

from acklog.wire.identifiers import Receipt
from acklog.wire.limits import RECEIPTS_MAX
from acklog.wire.problems import ProblemCode
from app.services.registry import Services
from app.services.settle import PlacedItem
from cluster.errors import ServerError
from cluster.model import keys
from storage.rpc.messages import SettleItem
from tests.support.memory_gateway import MemoryWorld
from tests.support.memory_node import LEADER_EPOCH


async def deliver(client: httpx2.AsyncClient, world: MemoryWorld, count: int = 1) -> list[dict[str, Any]]:
    """`count` messages, leased; each in a partition of its own as long as there are enough."""
    topic = await world.topic()
    messages = [{"body": number, "partition": number % topic.partitions} for number in range(count)]
    await client.post("/messages", json={"queue": "orders", "messages": messages})
    found: list[dict[str, Any]] = (await client.get("/messages?queue=orders&max=100")).json()["messages"]
    assert len(found) == count
    return found


async def test_an_ack_is_done_and_idempotent(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    [message] = await deliver(client, world)
    for _ in range(2):
        response = await client.post("/ack", json={"receipt": message["receipt"]})
        assert (response.status_code, response.json()) == (200, {"status": "acknowledged"})


async def test_acks_of_a_batch_go_out_as_one_request_per_partition_and_group(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    messages = await deliver(client, world, 20)
    response = await client.post("/ack", json={"receipts": [message["receipt"] for message in messages]})
    assert response.status_code == 200
    assert response.json() == {"results": [{"status": "acknowledged"}] * 20, "failed": 0}
    assert len(world.node.calls("settle")) == 8


async def test_a_batch_has_a_result_per_item(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    [message] = await deliver(client, world)
    topic = world.metadata.topics()[0]
    group = world.metadata.groups()[0]
    stale = str(Receipt(topic.id, message["partition"], message["offset"], group.id, 0, LEADER_EPOCH, 7))
    no_partition = str(Receipt(topic.id, 100, 0, group.id, 0, LEADER_EPOCH, 1))
    no_topic = str(Receipt("0" * 13, 0, 0, group.id, 0, LEADER_EPOCH, 1))
    receipts = ["nonsense", stale, None, no_partition, no_topic, message["receipt"]]
    response = await client.post("/ack", json={"receipts": receipts})
    assert response.status_code == 207
    answer = response.json()
    assert answer["failed"] == 5
    assert [result.get("code") for result in answer["results"]] == [
        "INVALID_RECEIPT",
        "RECEIPT_STALE",
        "INVALID_FIELD",
        "PARTITION_NOT_FOUND",
        "TOPIC_NOT_FOUND",
        None,
    ]
    fields = [result.get("field") for result in answer["results"]]
    assert fields == [*(f"receipts[{number}]" for number in range(5)), None]


async def test_a_single_item_at_fault_is_named(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    [message] = await deliver(client, world)
    topic, group = world.metadata.topics()[0], world.metadata.groups()[0]
    stale = str(Receipt(topic.id, message["partition"], message["offset"], group.id, 0, LEADER_EPOCH, 7))
    answer = (await client.post("/nack", json={"receipt": stale})).json()
    assert (answer["code"], answer["field"]) == ("RECEIPT_STALE", "receipt")
    await client.put("/groups/other")
    answer = (await client.post("/ack", json={"messageIds": [message["messageId"]], "group": "other"})).json()
    assert (answer["code"], answer["field"]) == ("NOT_DELIVERED", "messageIds[0]")


async def test_no_item_is_blamed_for_the_server(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    [message] = await deliver(client, world)
    world.node.fail("settle", ServerError(ProblemCode.STORAGE_FAILED, "the disk failed"))
    assert "field" not in (await client.post("/ack", json={"receipt": message["receipt"]})).json()


async def test_when_no_item_succeeds_the_status_is_the_first_faults(client: httpx2.AsyncClient) -> None:
    response = await client.post("/ack", json={"receipts": ["nonsense", 7]})
    assert (response.status_code, response.json()["code"], response.json()["failed"]) == (400, "INVALID_RECEIPT", 2)


async def test_ack_by_message_id(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    first, second, third = await deliver(client, world, 3)
    assert (await client.post("/ack", json={"messageId": first["messageId"]})).status_code == 200
    named = {"messageIds": [second["messageId"], third["messageId"]], "group": "default"}
    assert (await client.post("/ack", json=named)).status_code == 200
    unknown = await client.post("/ack", json={"messageId": first["messageId"], "group": "other"})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "GROUP_NOT_FOUND")
    await client.put("/groups/other")
    never = await client.post("/ack", json={"messageId": first["messageId"], "group": "other"})
    assert (never.status_code, never.json()["code"]) == (409, "NOT_DELIVERED")


async def test_nack_and_extend_tell_the_node_how_long(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    first, second = await deliver(client, world, 2)
    extended = await client.post("/extend", json={"receipt": first["receipt"], "visibilitySeconds": 1.5})
    assert extended.json() == {"status": "extended"}
    assert (await client.post("/nack", json={"receipt": first["receipt"]})).json() == {"status": "returned"}
    await client.post("/nack", json={"receipts": [second["receipt"]], "delaySeconds": 2})
    calls = [(call.action, call.visibility_ms, call.delay_ms) for call in world.node.calls("settle")]
    assert calls == [("extend", 1500, -1), ("nack", 0, -1), ("nack", 0, 2000)]


@pytest.mark.parametrize(("path", "extra"), [("ack", {}), ("nack", {}), ("extend", {"visibilitySeconds": 5})])
async def test_what_may_be_done_twice_is_tried_again_while_its_outcome_is_unknown(
    client: httpx2.AsyncClient, world: MemoryWorld, path: str, extra: dict[str, object]
) -> None:
    [message] = await deliver(client, world)
    world.node.fail("settle", ServerError(ProblemCode.OUTCOME_UNKNOWN, "the connection broke"))
    response = await client.post(f"/{path}", json={"receipt": message["receipt"], **extra})
    assert response.status_code == 200
    assert [call.action for call in world.node.calls("settle")] == [path] * 2


async def test_a_release_is_not_tried_again_as_it_could_end_the_next_lease(world: MemoryWorld) -> None:
    topic = await world.topic()
    world.node.fail("settle", ServerError(ProblemCode.OUTCOME_UNKNOWN, "the connection broke"))
    delivery = PlacedItem(topic.id, 0, "g" * 13, SettleItem(0, 0, LEADER_EPOCH, 1))
    [result] = await Services(world.gateway).settle.settle([delivery], "release")
    assert result is not None
    assert result.code is ProblemCode.OUTCOME_UNKNOWN
    assert len(world.node.calls("settle")) == 1


@pytest.mark.parametrize(
    ("path", "body", "code", "field"),
    [
        ("/ack", {}, "MISSING_FIELD", "receipt"),
        ("/ack", {"receipt": 7}, "INVALID_FIELD", "receipt"),
        ("/ack", {"receipt": "a", "receipts": []}, "INVALID_FIELD", "receipts"),
        ("/ack", {"receipt": "a", "messageId": "b"}, "INVALID_FIELD", "messageId"),
        ("/ack", {"receipts": []}, "INVALID_FIELD", "receipts"),
        ("/ack", {"receipts": "a"}, "INVALID_FIELD", "receipts"),
        ("/ack", {"receipt": "r-1", "group": "g"}, "INVALID_FIELD", "group"),
        ("/ack", {"receipt": "r-1"}, "INVALID_RECEIPT", "receipt"),
        ("/ack", {"receipt": "r-" + "0" * 13 + "-0-0-" + "0" * 13 + "-0-1-0"}, "INVALID_RECEIPT", "receipt"),
        ("/ack", {"messageId": "m-1"}, "INVALID_MESSAGE_ID", "messageId"),
        ("/ack", {"reciept": "r-1"}, "UNKNOWN_FIELD", "reciept"),
        ("/nack", {"messageId": "m-1"}, "UNKNOWN_FIELD", "messageId"),
        ("/nack", {"receipt": "r", "delaySeconds": -1}, "INVALID_FIELD", "delaySeconds"),
        ("/nack", {"receipt": "r", "delaySeconds": 43_201}, "INVALID_FIELD", "delaySeconds"),
        ("/nack", {"receipt": "r", "delaySeconds": "1"}, "INVALID_FIELD", "delaySeconds"),
        ("/extend", {"receipt": "r"}, "MISSING_FIELD", "visibilitySeconds"),
        ("/extend", {"receipt": "r", "visibilitySeconds": 1e300}, "INVALID_FIELD", "visibilitySeconds"),
        ("/extend", [], "INVALID_FIELD", None),
    ],
)
async def test_a_wrong_body_is_named(
    client: httpx2.AsyncClient, path: str, body: object, code: str, field: str | None
) -> None:
    response = await client.post(path, json=body)
    assert response.status_code == 400
    assert (response.json()["code"], response.json().get("field")) == (code, field)


async def test_no_more_receipts_than_allowed(client: httpx2.AsyncClient) -> None:
    response = await client.post("/ack", json={"receipts": ["x"] * RECEIPTS_MAX})
    assert response.json()["code"] == "INVALID_RECEIPT"
    response = await client.post("/ack", json={"receipts": ["x"] * (RECEIPTS_MAX + 1)})
    assert (response.status_code, response.json()["code"]) == (413, "TOO_MANY_MESSAGES")


async def test_a_partition_that_cannot_answer_fails_only_its_items(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    messages = await deliver(client, world, 2)
    world.node.fail("settle", ServerError(ProblemCode.STORAGE_FAILED, "the disk failed"))
    response = await client.post("/ack", json={"receipts": [message["receipt"] for message in messages]})
    assert response.status_code == 207
    assert sorted(result.get("code", "") for result in response.json()["results"]) == ["", "STORAGE_FAILED"]


async def test_a_message_can_be_looked_at(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    [message] = await deliver(client, world)
    response = await client.get(f"/messages/{message['messageId']}")
    assert response.status_code == 200
    answer = response.json()
    assert answer["messageId"] == message["messageId"]
    assert answer["body"] == 0
    assert answer["groups"] == [{"group": "default", "state": "leased", "attempts": 1}]


@pytest.mark.parametrize(
    ("message_id", "status", "code"),
    [
        ("nonsense", 400, "INVALID_MESSAGE_ID"),
        ("m-0000000000000-0-0-0", 404, "TOPIC_NOT_FOUND"),
    ],
)
async def test_a_message_that_is_not_there(client: httpx2.AsyncClient, message_id: str, status: int, code: str) -> None:
    response = await client.get(f"/messages/{message_id}")
    assert (response.status_code, response.json()["code"]) == (status, code)


async def test_a_message_beyond_the_topic(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    topic = await world.topic()
    beyond = await client.get(f"/messages/m-{topic.id}-8-3-0")
    assert beyond.json()["code"] == "PARTITION_NOT_FOUND"
    missing = await client.get(f"/messages/m-{topic.id}-0-3-0")
    assert (missing.status_code, missing.json()["code"]) == (404, "MESSAGE_NOT_FOUND")


@pytest.mark.parametrize("path", ["/ack", "/nack", "/extend"])
async def test_a_receipt_of_an_epoch_that_has_not_been_is_refused_at_once(
    client: httpx2.AsyncClient, world: MemoryWorld, path: str
) -> None:
    """It is the only one that is: those beside it are settled, and no leader is kept busy with it."""
    [message] = await deliver(client, world)
    topic, group = world.metadata.topics()[0], world.metadata.groups()[0]
    later = str(Receipt(topic.id, message["partition"], message["offset"], group.id, 0, LEADER_EPOCH + 1, 1))
    more = {"visibilitySeconds": 30} if path == "/extend" else {}
    response = await client.post(path, json={"receipts": [later, message["receipt"]], **more})
    assert [each.get("code") for each in response.json()["results"]] == ["INVALID_RECEIPT", None]
    assert response.json()["results"][0]["field"] == "receipts[0]"
    [call] = world.node.calls("settle")
    assert len(call.items) == 1
    alone = await client.post(path, json={"receipt": later, **more})
    assert (alone.status_code, alone.json()["code"]) == (400, "INVALID_RECEIPT")
    assert len(world.node.calls("settle")) == 1


async def test_a_receipt_of_a_leader_that_the_view_has_not_heard_of_is_good(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    """The gateway asks the coordination store before it says that there has been no such epoch."""
    [message] = await deliver(client, world)
    topic, group = world.metadata.topics()[0], world.metadata.groups()[0]
    world.metadata.unheard_epochs[keys.partition(topic.id, message["partition"])] = LEADER_EPOCH + 1
    later = str(Receipt(topic.id, message["partition"], message["offset"], group.id, 0, LEADER_EPOCH + 1, 1))
    await client.post("/ack", json={"receipt": later})
    assert world.node.calls("settle")


@pytest.mark.parametrize("action", ["ack", "nack", "extend"])
async def test_faults_leave_no_cycles_behind(client: httpx2.AsyncClient, world: MemoryWorld, action: str) -> None:
    """The garbage collector would hold the event loop for all of them at once."""
    await deliver(client, world)
    group = world.metadata.groups()[0]
    receipts = [str(Receipt(f"{i:013d}", 0, 0, group.id, 0, LEADER_EPOCH, 1)) for i in range(1_000)]
    body = {"receipts": receipts, "visibilitySeconds": 3} if action == "extend" else {"receipts": receipts}
    assert await cycles_after(client, action, body) < 1_000


async def test_message_ids_of_no_topic_or_group_leave_no_cycles_behind(
    client: httpx2.AsyncClient, world: MemoryWorld
) -> None:
    await deliver(client, world)
    topic = world.metadata.topics()[0]
    nowhere = [f"m-{i:013d}-0-1-1" for i in range(1_000)]
    assert await cycles_after(client, "ack", {"messageIds": nowhere}) < 1_000
    of_no_group = [f"m-{topic.id}-0-1-{i}" for i in range(1_000)]
    assert await cycles_after(client, "ack", {"messageIds": of_no_group, "group": "nobody"}) < 1_000


async def cycles_after(client: httpx2.AsyncClient, action: str, body: dict[str, Any]) -> int:
    """Objects that only the garbage collector could free after the request, all of whose items fail. What was there
    before is not looked through: in a process that has run thousands of tests that takes seconds."""
    gc.freeze()
    gc.disable()
    try:
        response = await client.post(f"/{action}", json=body)
        assert response.json()["failed"] == 1_000
        return gc.collect()
    finally:
        gc.enable()
        gc.unfreeze()
