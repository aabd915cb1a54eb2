"""SQS over a topic that is being restored: refused by either way, with an error that clients try again."""

from typing import Any

import httpx2
import pytest

from app.configuration.server_settings import Settings
from app.http.application import create_server_app
from app.processes.sqs_door import sqs_doors
from tests.support.http_protocol_client import MemoryServer, ProtocolTransport
from tests.support.memory_gateway import MemoryWorld
from tests.unit.app.conftest import client_of
from tests.unit.app.sqs.protocol.sqs_server import json_error

SETTINGS = Settings()
URL = "http://gateway/000000000000/begun"
CALLS = [
    ("SendMessage", {"MessageBody": "a"}),
    ("SendMessageBatch", {"Entries": [{"Id": "1", "MessageBody": "a"}]}),
    ("ReceiveMessage", {}),
    ("PurgeQueue", {}),
]


@pytest.mark.parametrize("is_short", [False, True], ids=["door", "short"])
async def test_a_queue_whose_topic_is_being_restored(is_short: bool) -> None:
    world = MemoryWorld(SETTINGS)
    application = create_server_app(world.gateway, sqs_doors(SETTINGS))
    transport = ProtocolTransport(MemoryServer(application, SETTINGS))
    whole = httpx2.AsyncClient(transport=transport, base_url="http://gateway")
    async with whole if is_short else client_of(application.asgi) as client:

        async def call(operation: str, **document: object) -> Any:
            return await client.post("/", json=document, headers={"X-Amz-Target": f"AmazonSQS.{operation}"})

        begun = await client.put("/topics/begun/restore", json={"restoreId": "r1", "partitions": 1})
        assert begun.status_code == 201
        assert (await call("CreateQueue", QueueName="begun")).status_code == 200
        for operation, document in CALLS:
            answer = await call(operation, QueueUrl=URL, **document)
            status, shape, message = json_error(answer)
            assert (status, shape) == (503, "ServiceUnavailable"), operation
            assert "is being restored" in message
    assert world.node.stored(world.metadata.topics_by_name["begun"].id) == []
