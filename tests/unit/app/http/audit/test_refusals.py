"""What is refused, on every way through the gateway, and when there is very much of it."""

from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest

from app.configuration.server_settings import Settings
from app.http.application import create_server_app
from app.http.protocol.web_guard import guard_of
from tests.support.http_protocol_client import MemoryServer, ProtocolTransport
from tests.support.manual_clock import settle
from tests.support.memory_gateway import MemoryWorld
from tests.unit.app.http.audit.audited_world import (
    ADMIN,
    AUDITOR,
    PRODUCER,
    READER,
    UNKNOWN,
    audited_world,
    bearer,
    records_of,
    token_table,
)

LATE = "a-token-that-ends-0123456789"
SEND = {"queue": "orders", "body": 1}
HOT = [
    ("POST", "/messages", SEND, "sendMessages"),
    ("POST", "/messages", {"queue": "orders", "messages": [{"body": 1}]}, "sendMessages"),
    ("GET", "/messages?queue=orders&group=g", None, "receiveMessages"),
    ("POST", "/ack", {"receipt": "r"}, "acknowledge"),
    ("GET", "/topics/orders/partitions/0/records", None, "readRecords"),
]


async def refused_of(client: Any) -> list[tuple[Any, ...]]:
    found = [each for each in await records_of(client) if each["result"] == "refused"]
    return [
        (each["operation"], each.get("principal", {}).get("name"), each["status"], each["code"])
        for each in found
        if not each.get("count")
    ]


@pytest.mark.parametrize(("method", "path", "body", "operation"), HOT, ids=[f"{each[3]}-{each[2]}" for each in HOT])
async def test_hot_calls(serve: Any, method: str, path: str, body: object, operation: str) -> None:
    async with serve(audited_world()) as client:
        document = {} if body is None else {"json": body}
        await client.request(method, path, headers=bearer(AUDITOR), **document)
        await client.request(method, path, headers=bearer(UNKNOWN), **document)
        await client.request(method, path, **document)
        assert await refused_of(client) == [
            (operation, "auditor", 403, "FORBIDDEN"),
            (operation, None, 401, "UNAUTHENTICATED"),
            (operation, None, 401, "UNAUTHENTICATED"),
        ]
        if operation == "receiveMessages":
            assert (await records_of(client))[0]["names"] == {"queue": "orders", "group": "g"}


async def test_whose_token_it_was_that_has_ended(serve: Any) -> None:
    """Of the file, and of the store."""
    world = audited_world()
    at_ms = world.clock.now_ms() + 1_000
    ending = {"name": "late", "token": LATE, "roles": ["consumer"]}
    tokens = token_table([{**ending, "expiresAt": datetime.fromtimestamp(at_ms / 1000, UTC).isoformat()}])
    assert world.gateway.tokens is not None
    world.gateway.tokens.adopt(tokens)
    async with serve(world) as client:
        body = {"name": "stored", "roles": ["consumer"], "expiresAt": at_ms}
        stored = (await client.post("/tokens", json=body, headers=bearer(ADMIN))).json()["token"]
        await world.clock.advance_ms(1_000)
        for token in (LATE, stored):
            for method, path in (("GET", "/messages?queue=orders&group=g"), ("DELETE", "/topics/orders")):
                assert (await client.request(method, path, headers=bearer(token))).status_code == 401
        assert await refused_of(client) == [
            (operation, name, 401, "TOKEN_EXPIRED")
            for name in ("late", "stored")
            for operation in ("receiveMessages", "deleteTopic")
        ]


async def test_what_is_allowed_leaves_nothing(serve: Any) -> None:
    world = audited_world()
    async with serve(world) as client:
        for _ in range(3):
            assert (await client.post("/messages", json=SEND, headers=bearer(PRODUCER))).status_code == 201
            got = await client.get("/messages?queue=orders&group=g", headers=bearer(READER))
            receipt = got.json()["messages"][0]["receipt"]
            assert (await client.post("/ack", json={"receipt": receipt}, headers=bearer(READER))).status_code == 200
        await client.get("/cluster", headers=bearer(READER))
        assert world.metadata.topic("__audit") is None, "not even a topic"


async def test_what_is_refused_of_a_batch_is_told(serve: Any) -> None:
    """Its answer is 207, by which a token could try out receipts unseen."""
    world = audited_world()
    async with serve(world) as client:
        await client.put("/groups/g", headers=bearer(ADMIN))
        for topic in ("orders", "salaries"):
            await client.post("/messages", json={"queue": topic, "body": 1}, headers=bearer(ADMIN))
        receipts = []
        for topic in ("orders", "salaries"):
            got = await client.get(f"/messages?queue={topic}&group=g", headers=bearer(ADMIN))
            receipts.append(got.json()["messages"][0]["receipt"])
        body = {"name": "some", "rights": [{"allow": ["settle"], "topics": ["orders"], "groups": ["g"]}]}
        some = (await client.post("/tokens", json=body, headers=bearer(ADMIN))).json()["token"]
        answer = await client.post("/ack", json={"receipts": receipts}, headers=bearer(some))
        assert answer.status_code == 207
        assert await refused_of(client) == [("acknowledge", "some", 207, "FORBIDDEN")]
        whole = await client.post("/ack", json={"receipts": receipts[1:]}, headers=bearer(some))
        assert whole.status_code == 403
        assert (await refused_of(client))[1:] == [("acknowledge", "some", 403, "FORBIDDEN")]


async def test_of_a_batch_that_fails_as_a_whole_the_record_says_its_answer(serve: Any) -> None:
    """Be it for another reason than what was refused."""
    async with serve(audited_world()) as client:
        await client.put("/groups/g", headers=bearer(ADMIN))
        await client.post("/messages", json={"queue": "salaries", "body": 1}, headers=bearer(ADMIN))
        got = await client.get("/messages?queue=salaries&group=g", headers=bearer(ADMIN))
        receipt = got.json()["messages"][0]["receipt"]
        body = {"name": "some", "rights": [{"allow": ["settle"], "topics": ["orders"], "groups": ["g"]}]}
        some = (await client.post("/tokens", json=body, headers=bearer(ADMIN))).json()["token"]
        answer = await client.post("/ack", json={"receipts": ["no receipt", receipt]}, headers=bearer(some))
        assert answer.status_code == 400
        assert await refused_of(client) == [("acknowledge", "some", 400, "FORBIDDEN")]


async def test_a_refusal_says_of_what_it_was(serve: Any) -> None:
    """Also where only the body says it."""
    async with serve(audited_world()) as client:
        await client.put("/topics/salaries", headers=bearer(ADMIN))
        await client.put("/groups/g", headers=bearer(ADMIN))
        send = {"queue": "salaries", "body": 1}
        seek = {"topic": "salaries", "to": "latest"}
        await client.post("/messages", json=send, headers=bearer(PRODUCER))
        await client.post("/messages", json={"queue": "salaries", "messages": [{"body": 1}]}, headers=bearer(PRODUCER))
        rights = [{"allow": ["seek"], "topics": ["orders"], "groups": ["g"]}]
        made = await client.post("/tokens", json={"name": "s", "rights": rights}, headers=bearer(ADMIN))
        await client.put("/groups/g/offsets", json=seek, headers=bearer(made.json()["token"]))
        found = [each for each in await records_of(client) if each["result"] == "refused"]
        assert [each["names"] for each in found] == [
            {"queue": "salaries"},
            {"queue": "salaries"},
            {"topic": "salaries", "group": "g"},
        ]


async def test_a_refused_batch_says_how_many_and_of_what(serve: Any) -> None:
    async with serve(audited_world()) as client:
        await client.put("/groups/g", headers=bearer(ADMIN))
        receipts = []
        for topic, count in (("orders", 1), ("salaries", 2)):
            body = {"queue": topic, "messages": [{"body": 1}] * count}
            await client.post("/messages", json=body, headers=bearer(ADMIN))
            got = await client.get(f"/messages?queue={topic}&group=g&max=10", headers=bearer(ADMIN))
            receipts += [each["receipt"] for each in got.json()["messages"]]
        body = {"name": "some", "rights": [{"allow": ["settle"], "topics": ["orders"], "groups": ["g"]}]}
        some = bearer((await client.post("/tokens", json=body, headers=bearer(ADMIN))).json()["token"])
        for sent, status, count in ((receipts, 207, 2), (receipts[1:], 403, 2), (receipts[1:2], 403, 0)):
            assert (await client.post("/ack", json={"receipts": sent}, headers=some)).status_code == status
            record = (await records_of(client))[-1]
            assert (record["status"], record.get("count", 0)) == (status, count)
            assert record["names"] == {"topic": "salaries", "group": "g"}
            assert record["detail"] == "the token is not for the topic that this is of"
        message_id = "m" + receipts[1].removeprefix("r")
        message_id = "-".join(message_id.split("-")[:5])
        await client.post("/ack", json={"messageId": message_id, "group": "g"}, headers=some)
        assert (await records_of(client))[-1]["names"] == {"topic": "salaries", "group": "g"}


async def test_messages_that_say_what_their_sender_may_not_are_told(serve: Any) -> None:
    """By 207 somebody could try out which origins are believed."""
    async with serve(audited_world()) as client:
        claim = {"body": 1, "headers": {"acklog-dead-letter-topic": "salaries"}}
        plain = {"body": 1}
        for messages, status, count in (
            ([plain, claim, claim], 207, 2),
            ([claim, plain], 207, 0),
            ([claim, claim], 403, 2),
            ([claim], 403, 0),
        ):
            body = {"queue": "orders", "messages": messages}
            answer = await client.post("/messages", json=body, headers=bearer(PRODUCER))
            assert answer.status_code == status, answer.text
            record = (await records_of(client))[-1]
            assert (record["operation"], record["status"], record.get("count", 0)) == ("sendMessages", status, count)
            assert (record["names"], record["code"]) == ({"queue": "orders"}, "FORBIDDEN")
            assert record["principal"]["name"] == "producer"
        assert len(await records_of(client, "&result=refused")) == 4


@pytest.mark.parametrize("path", ["", "/partitions/0", "/partitions/0/records"])
async def test_what_the_audit_log_itself_needs(serve: Any, path: str) -> None:
    async with serve(audited_world()) as client:
        for topic, needs in (("__audit", "audit on the cluster"), ("orders", "on the topic")):
            await client.get(f"/topics/{topic}{path}", headers=bearer(PRODUCER))
            assert (await records_of(client))[-1]["needs"][0].endswith(needs)


async def test_a_flood_is_summed_up(serve: Any) -> None:
    world = audited_world(audit_refusals_in_full_max=3, audit_refusal_interval_ms=1_000)
    async with serve(world) as client:
        for _ in range(3):
            await client.post("/messages", json=SEND, headers=bearer(UNKNOWN))
        assert len(await refused_of(client)) == 3, "at the limit each has a record"
        for _ in range(50):
            await client.post("/messages", json=SEND, headers=bearer(UNKNOWN))
        await client.get("/messages?queue=orders", headers=bearer(UNKNOWN))
        assert len(await records_of(client)) == 3
        await world.clock.advance_ms(1_000)
        found = await records_of(client)
        assert (len(found), found[3]["count"]) == (4, 51)
        assert (found[3]["code"], found[3]["operations"]) == ("UNAUTHENTICATED", ["sendMessages", "receiveMessages"])
        assert found[3]["until"] >= found[3]["time"]
        await client.post("/messages", json=SEND, headers=bearer(UNKNOWN))
        assert len(await records_of(client)) == 5, "the next interval has its first ones"
        metrics = (await client.get("/metrics", headers=bearer(ADMIN))).text
        assert "acklog_audit_refusals_summed_total 51.0" in metrics
        assert 'acklog_audit_records_total{result="refused"} 5.0' in metrics


async def test_sums_are_told_when_the_server_ends(serve: Any) -> None:
    world = audited_world(audit_refusals_in_full_max=1)
    async with serve(world) as client:
        for _ in range(5):
            await client.post("/messages", json=SEND, headers=bearer(UNKNOWN))
        await world.gateway.shutdown.end()
        assert [each.get("count", 0) for each in await records_of(client)] == [0, 4]


async def test_rights_on_trial_open_it_to_nobody(serve: Any) -> None:
    async with serve(audited_world(rights_dry_run=True)) as client:
        await client.put("/topics/orders", headers=bearer(PRODUCER))
        for path in ("/audit", "/topics/__audit", "/topics/__audit/partitions/0/records"):
            answer = await client.get(path, headers=bearer(PRODUCER))
            assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")
        assert [each["operation"] for each in await records_of(client)] == [
            "putTopic",
            "readAudit",
            "describeTopic",
            "readRecords",
        ]


async def test_pages_of_other_sites() -> None:
    """They come to no application, and to no single send."""
    world = MemoryWorld(Settings(audit="on"))
    guard = guard_of(listens_on="127.0.0.1", allowed_hosts="", has_tokens=False)
    server = MemoryServer(create_server_app(world.gateway), world.gateway.settings, guard)
    async with httpx2.AsyncClient(transport=ProtocolTransport(server), base_url="http://127.0.0.1") as client:
        for method in ("POST", "GET"):
            answer = await client.request(method, "/messages?queue=orders", headers={"Origin": "http://elsewhere"})
            assert answer.json()["code"] == "ORIGIN_NOT_ALLOWED"
        await settle()
        found = (await client.get("/audit")).json()["records"]
    assert [(each["status"], each["code"], each["result"]) for each in found] == [
        (403, "ORIGIN_NOT_ALLOWED", "refused"),
        (403, "ORIGIN_NOT_ALLOWED", "refused"),
    ]
