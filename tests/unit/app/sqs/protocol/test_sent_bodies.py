"""Bodies as they are sent: what is signed of a packed one, and what becomes of one that is too large."""

import asyncio
import gzip
from collections.abc import AsyncIterator

import pytest

from app.configuration.server_settings import Settings
from app.http.application import create_server_app
from app.http.exchange.http_services import HttpServices
from app.http.exchange.request_body import DROPPED_BYTES_MAX
from app.http.protocol.front_doors import FrontDoor
from app.sqs.protocol.front_door import BODY_BYTES_MAX, SqsFrontDoor
from app.sqs.signature.sqs_callers import SqsCallers
from tests.support.aws_signer import HOST, AwsSigner
from tests.support.memory_gateway import MemoryWorld
from tests.support.sqs_access import KEY_ID, SECRET, table_of
from tests.support.sqs_fakes import FakeSqs
from tests.unit.app.conftest import client_of
from tests.unit.app.sqs.protocol.sqs_server import URL, json_error, sqs_server, xml_error

SEND = b'{"QueueUrl": "%b", "MessageBody": "hello"}' % URL.encode()
TARGET = ("X-Amz-Target", "AmazonSQS.SendMessage")
PART_BYTES = 64 * 1024
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize(
    ("signed", "sent", "status"),
    [
        (gzip.compress(SEND), gzip.compress(SEND), 200),
        (SEND, gzip.compress(SEND), 403),
        (gzip.compress(SEND), gzip.compress(SEND + b" "), 403),
    ],
    ids=["what is sent", "what it unpacks to", "something else"],
)
async def test_what_is_signed_of_a_packed_body_is_what_is_sent(signed: bytes, sent: bytes, status: int) -> None:
    world, fake = MemoryWorld(tokens=table_of(roles=["admin"])), FakeSqs()

    def make(http: HttpServices) -> FrontDoor:
        return SqsFrontDoor(http, fake.services, SqsCallers(http.callers, http.gateway.clock))

    application = create_server_app(world.gateway, [make])
    signer = AwsSigner(KEY_ID, SECRET, now_ms=world.gateway.clock.now_ms())
    call = signer.signed(headers=[TARGET, ("Content-Encoding", "gzip")], body=signed)
    async with client_of(application.asgi) as client:
        headers = {name.decode(): value.decode() for name, value in call.headers} | {"host": HOST}
        headers["content-length"] = str(len(sent))
        answer = await client.post("/", content=sent, headers=headers)
    assert answer.status_code == status, answer.text
    assert [call[0] for call in fake.asked.calls] == (["find", "send"] if status == 200 else [])


async def test_a_packed_body_is_not_unpacked_further_than_the_limit() -> None:
    async with sqs_server() as server:
        packed = gzip.compress(b"Action=SendMessage&MessageBody=".ljust(BODY_BYTES_MAX + 1, b"x"))
        answer = await server.client.post("/", content=packed, headers={**FORM, "Content-Encoding": "gzip"})
        assert xml_error(answer)[:2] == (400, "InvalidParameterValue")
        assert server.fake.asked.calls == []


@pytest.mark.parametrize(
    ("size", "headers", "is_taken"),
    [
        (BODY_BYTES_MAX + 1, {}, True),
        (DROPPED_BYTES_MAX, {}, True),
        (DROPPED_BYTES_MAX + 1, {}, False),
        (BODY_BYTES_MAX + 16 * PART_BYTES, {"Expect": "100-continue"}, False),
    ],
)
@pytest.mark.parametrize("is_declared", [True, False])
async def test_a_body_that_is_too_large_is_taken_to_its_end_so_that_its_sender_sees_the_answer(
    size: int, headers: dict[str, str], is_taken: bool, is_declared: bool
) -> None:
    taken = 0

    async def parts() -> AsyncIterator[bytes]:
        nonlocal taken
        while taken < size:
            part = b"x" * min(PART_BYTES, size - taken)
            taken += len(part)
            yield part

    declared = {"Content-Length": str(size)} if is_declared else {}
    async with sqs_server() as server:
        answer = await server.client.post("/", content=parts(), headers={**FORM, **headers, **declared})
        assert xml_error(answer)[:2] == (400, "InvalidParameterValue")
    if is_declared or size <= DROPPED_BYTES_MAX:
        assert (taken == size) is is_taken


async def test_a_body_without_an_end_is_not_taken_for_ever() -> None:
    taken = 0

    async def parts() -> AsyncIterator[bytes]:
        nonlocal taken
        while True:
            taken += PART_BYTES
            yield b"x" * PART_BYTES

    async with sqs_server() as server:
        answer = await server.client.post("/", content=parts(), headers=FORM)
        assert xml_error(answer)[:2] == (400, "InvalidParameterValue")
    assert taken <= BODY_BYTES_MAX + DROPPED_BYTES_MAX + 4 * PART_BYTES


async def test_a_body_that_is_too_large_and_does_not_end_is_answered_in_time() -> None:
    async def parts() -> AsyncIterator[bytes]:
        yield b"x" * (BODY_BYTES_MAX + 1)
        await asyncio.Event().wait()

    async with sqs_server(Settings(body_timeout_ms=20)) as server:
        answer = await server.client.post("/", content=parts(), headers=FORM)
        assert xml_error(answer)[:2] == (400, "InvalidParameterValue")


@pytest.mark.parametrize("odd", [b'"Odd": "\xff"', b'"\xff": 1', b'"Odd": {"a": ["\xc3"]}'])
async def test_members_that_nobody_knows_are_text_all_the_same(odd: bytes) -> None:
    headers = {"X-Amz-Target": "AmazonSQS.ListQueues", "Content-Type": "application/x-amz-json-1.0"}
    async with sqs_server() as server:
        answer = await server.client.post("/", content=b"{%b}" % odd, headers=headers)
        assert json_error(answer)[:2] == (400, "SerializationException")
        assert server.fake.asked.calls == []
