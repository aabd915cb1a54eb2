"""Administrative calls of SQS, and refused ones, in the audit log."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from acklog.wire.problems import ProblemCode
from app.configuration.server_settings import Settings
from app.sqs.protocol.sqs_route import ROUTES
from cluster.errors import ServerError
from cluster.model.internal_topics import AUDIT_TOPIC
from tests.unit.app.http.audit.audited_world import ADMIN, PRODUCER, UNKNOWN, bearer, records_of, token_table
from tests.unit.app.sqs.protocol.sqs_server import URL, SqsServer, json_error, sqs_server, xml_error
from tests.unit.app.sqs.protocol.test_every_call import ROWS

ADMINISTRATIVE = {
    "CreateQueue",
    "DeleteQueue",
    "SetQueueAttributes",
    "TagQueue",
    "UntagQueue",
    "AddPermission",
    "RemovePermission",
    "PurgeQueue",
}


@asynccontextmanager
async def audited(mode: str) -> AsyncIterator[SqsServer]:
    async with sqs_server(Settings(audit=mode), token_table()) as server:
        yield server


def test_which_calls_are_administrative() -> None:
    assert {name for name, route in ROUTES.items() if route.needed.is_administrative} == ADMINISTRATIVE


@pytest.mark.parametrize("mode", ["on", "required"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.operation)
async def test_each_act_is_recorded_once(row: Any, mode: str) -> None:
    async with audited(mode) as server:
        await server.json(row.operation, row.document, headers=bearer(ADMIN))
        found = [each for each in await records_of(server.client) if each["operation"].startswith("sqs.")]
    ends = [each for each in found if each["result"] != "intended"]
    assert len(ends) == (row.operation in ADMINISTRATIVE)
    assert len(found) == len(ends) * (2 if mode == "required" else 1)
    for each in ends:
        assert each["operation"] == f"sqs.{row.operation}"
        assert each["names"] == {"topic": "orders", "group": "sqs.orders"}
        assert (each["result"], each["status"], each["principal"]["name"]) == ("allowed", 200, "admin")


async def test_a_record_says_what_was_asked() -> None:
    async with audited("on") as server:
        form = [("QueueName", "orders"), ("Attribute.1.Name", "DelaySeconds"), ("Attribute.1.Value", "5")]
        await server.query("CreateQueue", *form, headers=bearer(ADMIN))
        [record] = await records_of(server.client, "&operation=sqs.CreateQueue")
    assert record["asked"] == {"Attributes": {"DelaySeconds": "5"}}
    assert record["route"] == "sqs/CreateQueue"


async def test_an_act_that_fails_is_recorded_with_its_error() -> None:
    async with audited("on") as server:
        server.fake.asked.fault = ServerError(ProblemCode.TIMED_OUT, "late")
        await server.json("PurgeQueue", {"QueueUrl": URL}, headers=bearer(ADMIN))
        [record] = await records_of(server.client, "&operation=sqs.PurgeQueue")
    assert (record["result"], record["code"], record["status"]) == ("unknown", "TIMED_OUT", 500)


@pytest.mark.parametrize("mode", ["on", "required"])
async def test_a_refusal_is_recorded_once(mode: str) -> None:
    async with audited(mode) as server:
        answer = await server.query("DeleteQueue", ("QueueUrl", URL), headers=bearer(PRODUCER))
        assert xml_error(answer)[:2] == (403, "AccessDenied")
        answer = await server.json("SendMessage", {"QueueUrl": URL, "MessageBody": "a"}, headers=bearer(UNKNOWN))
        assert json_error(answer)[:2] == (403, "UnrecognizedClientException")
        found = await records_of(server.client, "&result=refused")
    said = [(each["operation"], each.get("principal", {}).get("name"), each["code"]) for each in found]
    assert said == [("sqs.DeleteQueue", "producer", "AccessDenied"), ("sqs.SendMessage", None, "InvalidClientTokenId")]


async def test_what_is_no_refusal_is_none() -> None:
    """Some errors have the same status."""
    async with audited("on") as server:
        server.fake.asked.fault = ServerError(ProblemCode.QUOTA_EXCEEDED, "later")
        answer = await server.json("SendMessage", {"QueueUrl": URL, "MessageBody": "a"}, headers=bearer(PRODUCER))
        assert json_error(answer)[:2] == (403, "RequestThrottled")
        assert await records_of(server.client, "&result=refused") == []


async def test_nothing_is_done_that_cannot_be_recorded() -> None:
    async with audited("required") as server:
        await server.client.put("/topics/first", headers=bearer(ADMIN))
        topic = server.world.metadata.topic(AUDIT_TOPIC)
        assert topic is not None
        server.world.metadata.leaderless.add((topic.id, 0))
        server.world.gateway.settings.adopt({"audit_timeout_ms": 10})
        answer = await server.json("PurgeQueue", {"QueueUrl": URL}, headers=bearer(ADMIN))
        assert json_error(answer)[:2] == (503, "ServiceUnavailable")
        assert server.fake.asked.calls == []


async def test_who_shows_nothing_is_not_waited_for() -> None:
    """Nobody's body is made room for who is refused in any case."""
    async with audited("on") as server:
        body = iter([b"never read"])
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = await server.client.post("/", content=_parts(body), headers=headers)
        assert xml_error(answer)[0] == 403
        assert next(body, None) is not None


async def _parts(body: Any) -> AsyncIterator[bytes]:
    for part in body:
        yield part
