"""Administrative calls of SQS, and refused ones, in the audit log."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from acklog.wire.problems import ProblemCode
from app.configuration.server_settings import Settings
from app.http.application import create_server_app
from app.http.exchange.http_services import HttpServices
from app.http.protocol.front_doors import FrontDoor
from app.sqs.protocol.failures import sqs_error_of
from app.sqs.protocol.front_door import SqsFrontDoor
from app.sqs.protocol.sqs_route import ROUTES
from app.sqs.signature.sqs_callers import SqsCallers
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.errors import ServerError
from cluster.model.internal_topics import AUDIT_TOPIC
from tests.support.aws_signer import AwsSigner
from tests.support.memory_gateway import MemoryWorld
from tests.support.sqs_access import KEY_ID, SECRET
from tests.support.sqs_fakes import FakeSqs
from tests.unit.app.conftest import client_of
from tests.unit.app.http.audit.audited_world import ADMIN, PRODUCER, UNKNOWN, bearer, records_of, token_table
from tests.unit.app.sqs.protocol.sqs_server import (
    URL,
    SqsServer,
    json_error,
    short_sqs_server,
    sqs_server,
    xml_error,
)
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


@pytest.mark.parametrize("connect", [sqs_server, short_sqs_server], ids=["door", "short"])
@pytest.mark.parametrize(
    ("operation", "what", "entry"),
    [
        ("SendMessageBatch", "MessageBody", {}),
        ("DeleteMessageBatch", "ReceiptHandle", {}),
        ("ChangeMessageVisibilityBatch", "ReceiptHandle", {"VisibilityTimeout": 1}),
    ],
)
async def test_entries_of_a_batch_that_are_refused_are_recorded(
    connect: Any, operation: str, what: str, entry: Any
) -> None:
    async with connect(Settings(audit="on"), token_table()) as server:
        faults = server.fake.messages.faults
        faults["mine"] = sqs_error_of(ServerError(ProblemCode.FORBIDDEN, "not yours"))
        faults["odd"] = SqsError(SqsErrorCode.INVALID_MESSAGE_CONTENTS, "odd")
        for texts, count in ((["a", "mine", "mine", "odd"], 2), (["mine"], 0), (["a", "odd"], None)):
            entries = [{"Id": str(number), what: each, **entry} for number, each in enumerate(texts)]
            answer = await server.json(operation, {"QueueUrl": URL, "Entries": entries}, headers=bearer(ADMIN))
            assert answer.status_code == 200
            found = await records_of(server.client, "&result=refused")
            if count is not None:
                record = found[-1]
                assert (record["operation"], record["status"], record.get("count", 0)) == (
                    f"sqs.{operation}",
                    200,
                    count,
                )
                assert (record["code"], record["detail"]) == ("AccessDenied", "not yours")
                assert record["names"] == {"topic": "orders", "group": "sqs.orders"}
        assert len(found) == 2


@pytest.mark.parametrize("connect", [sqs_server, short_sqs_server], ids=["door", "short"])
async def test_a_hot_call_that_is_refused_is_recorded_by_its_queue(connect: Any) -> None:
    async with connect(Settings(audit="on"), token_table()) as server:
        url = URL.replace("orders", "salaries")
        for operation, what in (("SendMessage", "MessageBody"), ("DeleteMessage", "ReceiptHandle")):
            answer = await server.json(operation, {"QueueUrl": url, what: "a"}, headers=bearer(PRODUCER))
            assert json_error(answer)[1].endswith("AccessDeniedException")
        found = await records_of(server.client, "&result=refused")
    assert [(each["operation"], each["principal"]["name"], each["status"], each["names"]) for each in found] == [
        (operation, "producer", 403, {"topic": "salaries", "group": "sqs.salaries"})
        for operation in ("sqs.SendMessage", "sqs.DeleteMessage")
    ]


async def test_whose_access_key_it_was_that_has_ended() -> None:
    world, fake = MemoryWorld(Settings(audit="on"), token_table()), FakeSqs()
    assert world.gateway.tokens is not None
    ended = datetime.fromtimestamp(world.clock.now_ms() / 1000, UTC).isoformat()
    keys = [{"id": KEY_ID, "secret": SECRET}]
    late = {"name": "late", "token": "a-late-token-0123456789", "roles": ["producer"], "expiresAt": ended}
    world.gateway.tokens.adopt(token_table([{**late, "accessKeys": keys}]))

    def make(http: HttpServices) -> FrontDoor:
        return SqsFrontDoor(http, fake.services, SqsCallers(http.callers, http.gateway.clock))

    async with client_of(create_server_app(world.gateway, [make]).asgi) as client:
        signer = AwsSigner(KEY_ID, SECRET, now_ms=world.clock.now_ms())
        call = signer.signed(headers=[("X-Amz-Target", "AmazonSQS.SendMessage")], body=b"{}")
        signed = {name.decode(): value.decode() for name, value in call.headers}
        target = {"X-Amz-Target": "AmazonSQS.SendMessage"}
        for headers in (signed, {**target, **bearer("a-late-token-0123456789")}):
            answer = await client.post("/", content=call.body, headers=headers)
            assert json_error(answer)[:2] == (403, "ExpiredTokenException")
        found = await records_of(client, "&result=refused")
    assert [each["principal"]["name"] for each in found] == ["late", "late"]
    assert [each["code"] for each in found] == ["ExpiredToken", "ExpiredToken"]


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
