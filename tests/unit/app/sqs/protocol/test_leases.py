"""What a receive has leased goes back where nobody takes the answer."""

import asyncio
from typing import Any

import pytest

from app.auth.tokens import parse_token_table
from app.configuration.server_settings import Settings
from app.http.application import create_server_app
from tests.support.manual_clock import settle
from tests.support.memory_gateway import MemoryWorld
from tests.support.sqs_fakes import FakeSqs, received_message

TOKEN = "a-workers-token-0123456789"
TABLE = b'{"tokens":[{"name":"worker","token":"%b","roles":["consumer"]}]}' % TOKEN.encode()
NOBODYS = b'{"tokens":[{"name":"other","token":"another-token-0123456789","roles":["consumer"]}]}'


class Waiter:
    """A request for messages, of a client that a test can take away."""

    def __init__(self, fake: FakeSqs, world: MemoryWorld) -> None:
        self._asgi = create_server_app(world.gateway, [fake.front_door]).asgi
        self._incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.sent: list[Any] = []
        self.takes_parts = asyncio.Event()
        self.takes_parts.set()

    async def run(self, *, is_json: bool) -> None:
        headers = [(b"authorization", b"Bearer " + TOKEN.encode()), (b"host", b"gateway")]
        query, body = b"Action=ReceiveMessage", b"{}"
        if is_json:
            headers.append((b"x-amz-target", b"AmazonSQS.ReceiveMessage"))
            query = b""
        else:
            headers.append((b"content-type", b"application/x-www-form-urlencoded"))
            body = b""
        scope = {
            "type": "http",
            "method": "POST",
            "scheme": "http",
            "path": "/000000000000/orders",
            "raw_path": b"/000000000000/orders",
            "query_string": query,
            "headers": headers,
        }
        self._incoming.put_nowait({"type": "http.request", "body": body, "more_body": False})
        await self._asgi(scope, self._incoming.get, self._send)

    def leave(self) -> None:
        self._incoming.put_nowait({"type": "http.disconnect"})

    async def _send(self, message: Any) -> None:
        await self.takes_parts.wait()
        self.sent.append(message)


@pytest.fixture(params=[True, False], ids=["json", "query"])
def is_json(request: pytest.FixtureRequest) -> bool:
    chosen: bool = request.param
    return chosen


@pytest.fixture
def fake() -> FakeSqs:
    fake = FakeSqs()
    fake.messages.received = [received_message()]
    return fake


async def test_an_answer_that_is_written_keeps_its_leases(fake: FakeSqs, is_json: bool) -> None:
    waiter = Waiter(fake, MemoryWorld())
    await waiter.run(is_json=is_json)
    assert waiter.sent[0]["status"] == 200
    assert b"receipt-1" in waiter.sent[1]["body"]
    assert fake.messages.released == 0


async def test_a_client_that_goes_while_it_waits_gets_nothing(fake: FakeSqs, is_json: bool) -> None:
    begun = asyncio.Event()

    async def forever() -> None:
        begun.set()
        await asyncio.Event().wait()

    fake.messages.waiting_for = forever
    waiter = Waiter(fake, MemoryWorld())
    task = asyncio.create_task(waiter.run(is_json=is_json))
    await begun.wait()
    waiter.leave()
    await task
    assert waiter.sent == []
    assert fake.messages.released == 1


async def test_a_client_that_goes_while_the_answer_is_written_keeps_no_lease(fake: FakeSqs) -> None:
    fake.messages.received = [received_message(body="a" * 1_000_000)]
    waiter = Waiter(fake, MemoryWorld())
    waiter.takes_parts.clear()
    task = asyncio.create_task(waiter.run(is_json=True))
    await settle()
    waiter.leave()
    await settle()
    waiter.takes_parts.set()
    await task
    assert fake.messages.released == 1


async def test_a_client_that_does_not_read_keeps_no_lease(fake: FakeSqs, is_json: bool) -> None:
    waiter = Waiter(fake, MemoryWorld(Settings(write_timeout_ms=10)))
    waiter.takes_parts.clear()
    await waiter.run(is_json=is_json)
    assert fake.messages.released == 1


async def test_a_server_that_stops_answers_those_who_wait(fake: FakeSqs, is_json: bool) -> None:
    begun = asyncio.Event()

    async def forever() -> None:
        begun.set()
        await asyncio.Event().wait()

    fake.messages.waiting_for, fake.messages.received = forever, []
    world = MemoryWorld()
    waiter = Waiter(fake, world)
    task = asyncio.create_task(waiter.run(is_json=is_json))
    await begun.wait()
    world.gateway.shutdown.begin()
    await task
    assert waiter.sent[0]["status"] == 200


async def test_who_is_not_let_in_any_more_does_not_wait_on(fake: FakeSqs, is_json: bool) -> None:
    begun = asyncio.Event()

    async def forever() -> None:
        begun.set()
        await asyncio.Event().wait()

    fake.messages.waiting_for = forever
    tokens = parse_token_table(TABLE)
    waiter = Waiter(fake, MemoryWorld(tokens=tokens))
    task = asyncio.create_task(waiter.run(is_json=is_json))
    await begun.wait()
    tokens.adopt(parse_token_table(NOBODYS))
    await task
    assert waiter.sent[0]["status"] == 403
    assert (
        b"InvalidClientTokenId"
        in b"".join(name + value for name, value in waiter.sent[0]["headers"]) + (waiter.sent[1]["body"])
    )
