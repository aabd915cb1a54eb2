import asyncio
import dataclasses
import json
from typing import Any

import httpx2
import msgspec
import pytest
from fastapi import FastAPI

from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from app.configuration.server_settings import Settings
from app.http.parsing.message import OCTETS
from cluster.errors import ServerError
from cluster.model.values import PartitionState
from tests.support.manual_clock import settle
from tests.support.memory_gateway import MemoryWorld
from tests.support.memory_node import MemoryNode


async def test_a_message_comes_back_as_it_was_sent(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await world.topic()
    body = '{ "b" : 1.50, "a":\t[null ,"\\u00e9é"] }'
    sent = await client.post(
        "/messages",
        content=(
            '{"queue":"orders","body":' + body + ',"key":"k","headers":{"h":"v"},"tags":["t"],"timestamp":5}'
        ).encode(),
        headers={"content-type": "application/json"},
    )
    response = await client.get("/messages?queue=orders")
    assert response.status_code == 200
    assert body in response.text
    [message] = response.json()["messages"]
    assert message["messageId"] == sent.json()["messageId"]
    assert message["queue"] == "orders"
    assert (message["key"], message["headers"], message["tags"]) == ("k", {"h": "v"}, ["t"])
    assert (message["timestamp"], message["attempt"]) == (5, 1)
    assert message["receipt"].startswith("r-")
    assert "bodyBase64" not in message
    assert "contentType" not in message
    assert response.json()["groupCreated"] is True


async def test_bytes_come_back_in_base64(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await world.topic()
    await client.post("/messages?queue=orders", content=b"\x00\xff", headers={"content-type": OCTETS})
    [message] = (await client.get("/messages?queue=orders")).json()["messages"]
    assert (message["bodyBase64"], message["contentType"]) == ("AP8=", OCTETS)
    assert "body" not in message


async def test_ndjson_keeps_a_message_on_its_line(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await world.topic(partitions=1)
    for body in ('[1,\r\n 2,\n"a\\nb"]', "2"):
        text = '{"queue":"orders","body":' + body + "}"
        await client.post("/messages", content=text.encode(), headers={"content-type": "application/json"})
    response = await client.get("/messages?queue=orders", headers={"accept": "application/x-ndjson"})
    assert response.headers["content-type"] == "application/x-ndjson"
    first, second = response.text.splitlines()
    assert '"body":[1,   2, "a\\nb"]' in first
    assert json.loads(second)["body"] == 2
    assert response.headers["x-acklog-group-created"] == "true"
    empty = await client.get("/messages?queue=orders", headers={"accept": "application/x-ndjson"})
    assert (empty.text, empty.headers["x-acklog-reason"]) == ("", "EMPTY")


async def test_several_queues_and_groups(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    for name in ("orders", "bills"):
        await world.topic(name)
        await client.post("/messages", json={"queue": name, "body": name})
    for group in ("a", "b"):
        response = await client.get(f"/messages?queue=orders&topic=bills&queue=orders&group={group}")
        found = {(message["queue"], message["body"]) for message in response.json()["messages"]}
        assert found == {("orders", "orders"), ("bills", "bills")}
    assert (await client.get("/messages?queue=orders&group=a")).json() == {"messages": [], "reason": "EMPTY"}


async def test_parameters_reach_the_node(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    topic = await world.topic()
    await client.get("/messages?queue=orders&consumer=me&max=7&maxBytes=99&visibilitySeconds=0.5&autoAck=true")
    [request] = world.node.calls("receive")
    assert (request.topic_ids, request.consumer, request.max_messages) == ([topic.id], "me", 7)
    assert (request.max_bytes, request.visibility_ms, request.auto_ack, request.wait_ms) == (99, 500, True, 0)


async def test_auto_ack_gives_no_receipt(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await world.topic()
    await client.post("/messages", json={"queue": "orders", "body": 1})
    [message] = (await client.get("/messages?queue=orders&autoAck=true")).json()["messages"]
    assert "receipt" not in message
    assert (await client.get("/messages?queue=orders")).json()["messages"] == []


@pytest.mark.parametrize(
    ("query", "code", "field"),
    [
        ("", "MISSING_FIELD", "queue"),
        ("queue=orders&max=0", "INVALID_FIELD", "max"),
        ("queue=orders&max=1001", "INVALID_FIELD", "max"),
        ("queue=orders&max=ten", "INVALID_FIELD", "max"),
        ("queue=orders&max=", "INVALID_FIELD", "max"),
        ("queue=orders&max=1&max=1", "INVALID_FIELD", "max"),
        ("queue=orders&maxBytes=16777217", "INVALID_FIELD", "maxBytes"),
        ("queue=orders&waitSeconds=20.1", "INVALID_FIELD", "waitSeconds"),
        ("queue=orders&waitSeconds=-1", "INVALID_FIELD", "waitSeconds"),
        ("queue=orders&waitSeconds=nan", "INVALID_FIELD", "waitSeconds"),
        ("queue=orders&waitSeconds=1e1", "INVALID_FIELD", "waitSeconds"),
        ("queue=orders&visibilitySeconds=43201", "INVALID_FIELD", "visibilitySeconds"),
        ("queue=orders&autoAck=1", "INVALID_FIELD", "autoAck"),
        ("queue=orders&mode=exclusive", "MISSING_FIELD", "consumer"),
        ("queue=orders&grop=a", "UNKNOWN_FIELD", "grop"),
        ("queue=orders&group=a%20b", "INVALID_NAME", "group"),
        ("queue=orders&group=", "INVALID_NAME", "group"),
        ("queue=orders&consumer=" + "x" * 129, "INVALID_FIELD", "consumer"),
        ("queue=orders&consumer=%00", "INVALID_FIELD", "consumer"),
        ("&".join(f"queue=q{number}" for number in range(17)), "INVALID_FIELD", "queue"),
    ],
)
async def test_a_wrong_query_is_named(
    client: httpx2.AsyncClient, world: MemoryWorld, query: str, code: str, field: str
) -> None:
    await world.topic()
    response = await client.get(f"/messages?{query}")
    assert response.status_code == 400
    assert (response.json()["code"], response.json()["field"]) == (code, field)
    assert not world.node.calls("receive")


async def test_a_get_never_creates_a_topic(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await world.topic("orders")
    response = await client.get("/messages?queue=ordres")
    assert (response.status_code, response.json()["code"]) == (404, "TOPIC_NOT_FOUND")
    assert response.json()["near"] == ["orders"]
    assert world.metadata.topic("ordres") is None


async def test_groups_are_not_created_where_that_is_off(serve: Any) -> None:
    world = MemoryWorld(Settings(auto_create_groups=False, auto_create_topics=False))
    await world.topic()
    async with serve(world) as client:
        assert (await client.get("/messages?queue=orders")).json()["code"] == "GROUP_NOT_FOUND"
        assert (await client.post("/messages", json={"queue": "new", "body": 1})).json()["code"] == "TOPIC_NOT_FOUND"


async def test_only_offered_types_are_answered(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await world.topic()
    response = await client.get("/messages?queue=orders", headers={"accept": "text/html"})
    assert (response.status_code, response.json()["code"]) == (406, "NOT_ACCEPTABLE")


async def test_a_long_poll_ends_with_the_first_message(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await world.topic()
    waiting = asyncio.create_task(client.get("/messages?queue=orders&waitSeconds=20"))
    await settle()
    assert not waiting.done()
    await client.post("/messages", json={"queue": "orders", "body": 1})
    assert len((await waiting).json()["messages"]) == 1


async def test_no_more_requests_wait_than_allowed(serve: Any) -> None:
    world = MemoryWorld(Settings(waiting_requests_max=2))
    await world.topic()
    async with serve(world) as client:
        waiting = [asyncio.create_task(client.get("/messages?queue=orders&waitSeconds=20")) for _ in range(2)]
        await settle()
        response = await client.get("/messages?queue=orders&waitSeconds=20")
        assert (response.status_code, response.json()["code"]) == (429, "TOO_MANY_WAITING")
        assert response.headers["retry-after"] == "1"
        assert (await client.get("/messages?queue=orders")).status_code == 200
        world.gateway.shutdown.begin()
        for each in waiting:
            assert (await each).json()["reason"] == "SHUTTING_DOWN"
        response = await client.get("/messages?queue=orders&waitSeconds=20")
        assert response.json()["reason"] == "SHUTTING_DOWN"


async def test_the_nodes_problem_is_the_clients(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await world.topic()
    world.node.fail("receive", ServerError(ProblemCode.WRONG_GROUP_MODE, "the group is exclusive"))
    response = await client.get("/messages?queue=orders")
    assert (response.status_code, response.json()["code"]) == (409, "WRONG_GROUP_MODE")


async def test_an_unexpected_failure_shows_no_trace(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await world.topic()
    world.node.fail("receive", RuntimeError("secret path"))
    response = await client.get("/messages?queue=orders")
    assert (response.status_code, response.json()["code"]) == (500, "INTERNAL")
    assert "secret" not in response.text


class Connection:
    """One request, spoken as ASGI: the client goes when the test says so."""

    def __init__(self, app: FastAPI, query: str) -> None:
        self._gone = asyncio.Event()
        self._is_body_sent = False
        self.sent: list[dict[str, Any]] = []
        self.may_write = asyncio.Event()
        self.may_write.set()
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "path": "/messages",
            "raw_path": b"/messages",
            "query_string": query.encode(),
            "root_path": "",
            "scheme": "http",
            "headers": [],
            "client": None,
            "server": None,
        }
        self.request = asyncio.create_task(app(scope, self._receive, self._send))  # type: ignore[arg-type]

    def hang_up(self) -> None:
        self._gone.set()

    async def _receive(self) -> dict[str, Any]:
        if not self._is_body_sent:
            self._is_body_sent = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        await self.may_write.wait()
        self.sent.append(message)


async def test_a_client_that_goes_while_waiting_leaves_no_lease(app: FastAPI, world: MemoryWorld) -> None:
    topic = await world.topic(partitions=1)
    connection = Connection(app, "queue=orders&waitSeconds=20")
    await settle()
    connection.hang_up()
    await connection.request
    assert connection.sent == []
    world.node.log(topic.id, 0).records.append(Record(b"1"))
    await settle()
    assert world.node.live_leases(topic.id) == 0


async def test_leases_of_an_answer_that_was_not_written_return_and_do_not_count(
    app: FastAPI, world: MemoryWorld, client: httpx2.AsyncClient
) -> None:
    topic = await world.topic()
    await client.post("/messages", json={"queue": "orders", "body": 1})
    connection = Connection(app, "queue=orders")
    connection.hang_up()
    await connection.request
    assert connection.sent == []
    assert [call.action for call in world.node.calls("settle")] == ["release"]
    assert world.node.live_leases(topic.id) == 0
    [message] = (await client.get("/messages?queue=orders")).json()["messages"]
    assert message["attempt"] == 1


async def test_a_client_that_goes_within_a_large_answer_loses_its_leases(
    app: FastAPI, world: MemoryWorld, client: httpx2.AsyncClient
) -> None:
    topic = await world.topic(partitions=1)
    await client.post("/messages", json={"queue": "orders", "body": "x" * 600_000})
    connection = Connection(app, "queue=orders")
    connection.may_write.clear()
    await settle(50)
    assert world.node.live_leases(topic.id) == 1
    connection.hang_up()
    await settle()
    connection.may_write.set()
    await connection.request
    assert [message["type"] for message in connection.sent] == ["http.response.start"]
    assert world.node.live_leases(topic.id) == 0


class TwoNodes:
    """Even partitions are the first node's, odd ones the second's."""

    def __init__(self, world: MemoryWorld) -> None:
        self.nodes = {1: world.node, 2: MemoryNode()}
        one = world.metadata.partition

        def partition(topic_id: str, number: int) -> PartitionState | None:
            state = one(topic_id, number)
            return None if state is None else msgspec.structs.replace(state, leader=1 + number % 2)

        world.metadata.partition = partition  # type: ignore[method-assign]

    def client(self, node_id: int) -> MemoryNode:
        return self.nodes[node_id]


@pytest.fixture
def two_nodes(world: MemoryWorld) -> TwoNodes:
    nodes = TwoNodes(world)
    world.gateway = dataclasses.replace(world.gateway, nodes=nodes)
    return nodes


async def test_messages_come_from_every_node_up_to_the_limit(
    two_nodes: TwoNodes, world: MemoryWorld, serve: Any
) -> None:
    await world.topic()
    async with serve(world) as client:
        messages = [{"body": number, "partition": number % 8} for number in range(16)]
        await client.post("/messages", json={"queue": "orders", "messages": messages})
        first = (await client.get("/messages?queue=orders&max=10")).json()["messages"]
        rest = (await client.get("/messages?queue=orders&max=10")).json()["messages"]
        assert (len(first), len(rest)) == (10, 6)
        assert {message["body"] for message in first + rest} == set(range(16))


async def test_a_node_that_fails_leaves_the_others_messages(
    two_nodes: TwoNodes, world: MemoryWorld, serve: Any
) -> None:
    await world.topic()
    async with serve(world) as client:
        await client.post("/messages", json={"queue": "orders", "body": 1, "partition": 0})
        two_nodes.nodes[2].fail("receive", *[ServerError(ProblemCode.UNAVAILABLE, "moved")] * 2)
        assert len((await client.get("/messages?queue=orders")).json()["messages"]) == 1
        empty = await client.get("/messages?queue=orders")
        assert (empty.status_code, empty.json()) == (200, {"messages": [], "reason": "UNAVAILABLE"})


async def test_while_no_node_answers_a_receive_asks_again(two_nodes: TwoNodes, world: MemoryWorld, serve: Any) -> None:
    await world.topic()
    async with serve(world) as client:
        await client.post("/messages", json={"queue": "orders", "body": 1, "partition": 0})
        for node in two_nodes.nodes.values():
            node.fail("receive", ServerError(ProblemCode.UNAVAILABLE, "moved"))
        assert len((await client.get("/messages?queue=orders")).json()["messages"]) == 1


async def test_a_wait_sees_messages_of_every_node(two_nodes: TwoNodes, world: MemoryWorld, serve: Any) -> None:
    await world.topic()
    async with serve(world) as client:
        for partition in (0, 1):
            waiting = asyncio.create_task(client.get("/messages?queue=orders&waitSeconds=20"))
            await settle()
            await client.post("/messages", json={"queue": "orders", "body": 1, "partition": partition})
            assert len((await waiting).json()["messages"]) == 1


async def test_a_node_that_does_not_answer_is_given_up(serve: Any) -> None:
    world = MemoryWorld(Settings(request_timeout_ms=10))
    await world.topic()

    async def never(_request: object) -> None:
        await asyncio.Event().wait()

    world.node.receive = never  # type: ignore[assignment,method-assign]
    async with serve(world) as client:
        response = await client.get("/messages?queue=orders")
        assert (response.status_code, response.json()["code"]) == (504, "TIMED_OUT")


async def test_a_receive_makes_no_group_of_a_queue(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    """It would have another mode than the queue's, which could not be made any more."""
    await client.put("/topics/orders", json={"partitions": 1})
    answer = await client.get("/messages", params={"queue": "orders", "group": "sqs.orders.fifo"})
    assert (answer.status_code, answer.json()["code"]) == (404, "GROUP_NOT_FOUND")
    assert world.metadata.group("sqs.orders.fifo") is None
