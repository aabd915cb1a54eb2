"""Bodies of calls: how long they may take, what they count against, and which pages may send them."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from app.auth.principal import ANYONE
from app.auth.tokens import parse_token_table
from app.configuration.server_settings import Settings
from app.http.application import create_server_app
from app.http.exchange.http_services import HttpServices
from app.http.protocol.front_doors import FrontDoor
from app.http.protocol.web_guard import guard_of
from app.sqs.protocol.body_sizes import SMALL_BYTES_MAX
from tests.support.http_protocol_client import MemoryServer, read_answer
from tests.support.manual_clock import settle
from tests.support.memory_gateway import MemoryWorld
from tests.support.sqs_fakes import FakeSqs
from tests.unit.app.conftest import client_of
from tests.unit.app.sqs.protocol.sqs_server import URL, json_error, sqs_server, xml_error

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
TOKENS = ("a-first-token-0123456789", "a-second-token-0123456789")
TABLE = b'{"tokens":[{"name":"a","token":"%b","roles":["admin"]},{"name":"b","token":"%b","roles":["admin"]}]}' % tuple(
    token.encode() for token in TOKENS
)


class Observed:
    """A fake's front door, and the services that it was made with."""

    def __init__(self) -> None:
        self.fake = FakeSqs()
        self.services: HttpServices | None = None

    def make(self, services: HttpServices) -> FrontDoor:
        self.services = services
        return self.fake.front_door(services)

    @property
    def held_bytes(self) -> int:
        assert self.services is not None
        return self.services.bytes_in_flight.held_bytes


async def test_a_body_that_does_not_come_is_not_waited_for_long() -> None:
    async def parts() -> AsyncIterator[bytes]:
        yield b"Action=ListQueues"
        await asyncio.Event().wait()

    async with sqs_server(Settings(body_timeout_ms=10)) as server:
        answer = await server.client.post("/", content=parts(), headers=FORM)
        assert xml_error(answer)[:2] == (408, "RequestTimeout")
        assert server.fake.asked.calls == []


async def test_a_body_may_be_packed() -> None:
    async with sqs_server() as server:
        answer = await server.json("ListQueues", headers={"Content-Encoding": "br"})
        assert json_error(answer)[:2] == (400, "SerializationException")
        answer = await server.json("ListQueues", headers={"Content-Encoding": "gzip"})
        assert json_error(answer)[:2] == (400, "SerializationException")


async def test_who_waits_for_messages_holds_what_they_said() -> None:
    observed, begun = Observed(), asyncio.Event()
    goes_on = asyncio.Event()

    async def waits() -> None:
        begun.set()
        await goes_on.wait()

    observed.fake.messages.waiting_for = waits
    async with client_of(create_server_app(MemoryWorld().gateway, [observed.make]).asgi) as client:
        headers = {"X-Amz-Target": "AmazonSQS.ReceiveMessage"}
        asking = asyncio.create_task(client.post("/", json={"QueueUrl": URL}, headers=headers))
        await begun.wait()
        assert 0 < observed.held_bytes < 100
        goes_on.set()
        assert (await asking).status_code == 200
        assert observed.held_bytes == 0


async def test_one_token_cannot_take_all_the_room() -> None:
    """Bodies are counted for their token as soon as it is known whose they are."""
    observed = Observed()
    gateway = MemoryWorld(tokens=parse_token_table(TABLE)).gateway
    async with client_of(create_server_app(gateway, [observed.make]).asgi) as client:
        assert observed.services is not None
        allowance = observed.services.bytes_in_flight
        first = observed.services.callers.of(f"Bearer {TOKENS[0]}")
        hold = allowance.hold(first)
        hold.take_whole(allowance.share_bytes)
        statuses = []
        for token in TOKENS:
            headers = {"X-Amz-Target": "AmazonSQS.ListQueues", "Authorization": f"Bearer {token}"}
            statuses.append(await client.post("/", json={}, headers=headers))
        assert json_error(statuses[0])[:2] == (403, "RequestThrottled")
        assert statuses[0].headers["retry-after"] == "1"
        assert statuses[1].status_code == 200
        hold.release()
        assert allowance.held_bytes == 0


async def test_no_room_is_said_so_that_clients_come_again() -> None:
    observed = Observed()
    async with client_of(create_server_app(MemoryWorld().gateway, [observed.make]).asgi) as client:
        assert observed.services is not None
        allowance = observed.services.bytes_in_flight
        with allowance.hold(ANYONE) as hold:
            hold.take_whole(allowance.limit_bytes)
            answer = await client.post("/", content=b"Action=ListQueues", headers=FORM)
            assert xml_error(answer)[:2] == (403, "RequestThrottled")
        assert (await client.post("/", content=b"Action=ListQueues", headers=FORM)).status_code == 200


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("POST / HTTP/1.1\r\norigin: http://elsewhere.example", 403),
        ("POST / HTTP/1.1\r\nsec-fetch-site: cross-site", 403),
        ("POST /000000000000/orders HTTP/1.1\r\norigin: null", 403),
        ("POST /?Action=PurgeQueue HTTP/1.1\r\norigin: http://elsewhere.example", 403),
        ("POST / HTTP/1.1\r\norigin: http://localhost:8080", 200),
        ("POST / HTTP/1.1", 200),
    ],
)
async def test_pages_of_other_sites_send_nothing(head: str, status: int) -> None:
    """A form is what any page can send to any address without asking."""
    world, fake = MemoryWorld(), FakeSqs()
    guard = guard_of(listens_on="127.0.0.1", allowed_hosts="", has_tokens=False)
    application = create_server_app(world.gateway, [fake.front_door])
    body = b"Action=SendMessage&MessageBody=a&QueueUrl=/000000000000/orders"
    server = MemoryServer(application, world.gateway.settings, guard)
    protocol, transport = server.connect()
    fields = f"host: localhost:8080\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: {len(body)}"
    protocol.data_received(f"{head}\r\n{fields}\r\n\r\n".encode() + body)
    answer: Any = await read_answer("POST", transport)
    assert answer.status == status
    assert [call[0] for call in fake.asked.calls] == (["find", "send"] if status == 200 else [])
    protocol.transport.close()
    protocol.connection_lost(None)
    await settle()


@pytest.mark.parametrize("operation", ["ReceiveMessage", "PurgeQueue", "DeleteQueue", "GetQueueAttributes"])
async def test_calls_without_messages_are_small(operation: str) -> None:
    """What is in them is gone through before anybody looks at rights, and a receive that waits holds them."""
    async with sqs_server() as server:
        answer = await server.json(operation, {"QueueUrl": URL, "Odd": "x" * SMALL_BYTES_MAX})
        status, code, message = json_error(answer)
        assert (status, code) == (400, "InvalidParameterValueException")
        assert f"{SMALL_BYTES_MAX} at most" in message
        assert server.fake.asked.calls == []
