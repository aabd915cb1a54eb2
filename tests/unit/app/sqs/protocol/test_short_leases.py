"""What a receive by the short way has leased when its client is gone."""

import json
from typing import Any

from app.configuration.server_settings import Settings
from app.http.application import create_server_app
from app.processes.sqs_door import sqs_doors
from tests.support.http_protocol_client import MemoryServer
from tests.support.manual_clock import settle
from tests.support.memory_gateway import MemoryWorld

SETTINGS = Settings()
URL = "http://a/000000000000/orders.fifo"


class Rig:
    def __init__(self) -> None:
        self.world = MemoryWorld(SETTINGS)
        self.server = MemoryServer(create_server_app(self.world.gateway, sqs_doors(SETTINGS)), SETTINGS)

    async def call(self, operation: str, *, leaves: bool = False, **document: object) -> Any:
        """What is answered; None where nothing is."""
        body = json.dumps(document).encode()
        head = (
            f"POST / HTTP/1.1\r\nhost: a\r\nx-amz-target: AmazonSQS.{operation}\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        protocol, transport = self.server.connect()
        protocol.data_received(head.encode() + body)
        if leaves:
            transport.close()
        await settle(200)
        transport.closed.set()
        protocol.connection_lost(None)
        await settle()
        written = transport.written.partition(b"\r\n\r\n")[2]
        return json.loads(written) if written else None

    async def filled(self) -> None:
        await self.call("CreateQueue", QueueName="orders.fifo", Attributes={"FifoQueue": "true"})
        sent = {"MessageBody": "a", "MessageGroupId": "g", "MessageDeduplicationId": "d"}
        assert "MessageId" in await self.call("SendMessage", QueueUrl=URL, **sent)
        self.server.asgi_requests = 0

    def leases(self) -> int:
        return self.world.node.live_leases(self.world.metadata.topics_by_name["orders.fifo"].id)


async def test_what_nobody_took_goes_back() -> None:
    rig = Rig()
    await rig.filled()
    assert await rig.call("ReceiveMessage", QueueUrl=URL, leaves=True) is None
    assert rig.leases() == 0
    assert [each["Body"] for each in (await rig.call("ReceiveMessage", QueueUrl=URL))["Messages"]] == ["a"]
    assert (rig.leases(), rig.server.asgi_requests) == (1, 0)
