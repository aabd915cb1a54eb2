"""What a receive by the short way has leased goes back when its client is gone."""

import json

import pytest

from app.configuration.server_settings import Settings
from app.http.answers.receive import CHUNK_BYTES
from app.http.application import create_server_app
from tests.support.http_protocol_client import MemoryServer
from tests.support.manual_clock import settle
from tests.support.memory_gateway import MemoryWorld
from tests.support.sqs_fakes import FakeSqs, received_message
from tests.unit.app.sqs.protocol.sqs_server import URL

SETTINGS = Settings()
BODY = json.dumps({"QueueUrl": URL}).encode()
RECEIVE = (
    b"POST / HTTP/1.1\r\nhost: gateway\r\nx-amz-target: AmazonSQS.ReceiveMessage\r\ncontent-length: %d\r\n\r\n%b"
    % (len(BODY), BODY)
)


@pytest.mark.parametrize("size_bytes", [1, 2 * CHUNK_BYTES])
@pytest.mark.parametrize("leaves", [False, True])
async def test_what_nobody_took_goes_back_once(size_bytes: int, leaves: bool) -> None:
    fake = FakeSqs()
    fake.messages.received = [received_message(body="x" * size_bytes)]
    server = MemoryServer(create_server_app(MemoryWorld(SETTINGS).gateway, [fake.front_door]), SETTINGS)
    protocol, transport = server.connect()
    protocol.data_received(RECEIVE)
    if leaves:
        transport.close()
    await settle(50)
    assert (bool(transport.written), fake.messages.released) == (not leaves, leaves)
    assert (server.asgi_requests, server.state.tasks) == (0, set())
    protocol.connection_lost(None)
    await settle()
    assert fake.messages.released == leaves
