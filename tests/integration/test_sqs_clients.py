"""A client of SQS that its makers wrote, by a real connection: what it sends is understood, and so is what it gets."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
import uvicorn
from botocore.config import Config

from app.http.application import create_server_app
from app.http.protocol.server_protocol import make_server_protocol
from app.sqs.sqs_error import SqsError, SqsErrorCode
from tests.support.memory_gateway import MemoryWorld
from tests.support.sqs_fakes import ATTRIBUTES, FakeSqs, received_message

pytestmark = pytest.mark.integration
WAIT_SECONDS = 30


class RunningServer:
    """A gateway in a thread of its own: the client waits in the test's."""

    def __init__(self, fake: FakeSqs) -> None:
        self._fake = fake
        self._server: uvicorn.Server | None = None
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.port = 0

    def __enter__(self) -> "RunningServer":
        self._thread.start()
        assert self._started.wait(WAIT_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.should_exit = True
        self._thread.join(WAIT_SECONDS)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        gateway = MemoryWorld().gateway
        application = create_server_app(gateway, [self._fake.front_door])
        protocol = make_server_protocol(gateway.settings, None, application.short_ways)
        config = uvicorn.Config(application.asgi, port=0, http=protocol, lifespan="off", log_config=None)
        self._server = uvicorn.Server(config)
        serving = asyncio.get_running_loop().create_task(self._server.serve())
        while not self._server.started:
            await asyncio.sleep(0)
        self.port = self._server.servers[0].sockets[0].getsockname()[1]
        self._started.set()
        await serving


@pytest.fixture
def fake() -> FakeSqs:
    return FakeSqs()


@pytest.fixture
def sqs(fake: FakeSqs) -> Iterator[Any]:
    with RunningServer(fake) as server:
        yield boto3.client(
            "sqs",
            endpoint_url=f"http://127.0.0.1:{server.port}",
            region_name="us-east-1",
            aws_access_key_id="any",
            aws_secret_access_key="any",
            config=Config(retries={"max_attempts": 1, "mode": "standard"}),
        )


def test_a_message_goes_there_and_back(sqs: Any, fake: FakeSqs) -> None:
    url = sqs.create_queue(QueueName="orders", Attributes={"DelaySeconds": "0"}, tags={"a": "b"})["QueueUrl"]
    assert sqs.get_queue_url(QueueName="orders")["QueueUrl"] == url
    attributes = {
        "size": {"DataType": "Number", "StringValue": "7"},
        "photo": {"DataType": "Binary.png", "BinaryValue": b"\x00\xff"},
    }
    sent = sqs.send_message(QueueUrl=url, MessageBody="é", MessageAttributes=attributes)
    assert sent["MessageId"] == "id-of-é"
    assert fake.asked.calls[-1][2].attributes == ATTRIBUTES
    fake.messages.received = [received_message(attributes=ATTRIBUTES, system_attributes={"SenderId": "me"})]
    [message] = sqs.receive_message(QueueUrl=url, MessageAttributeNames=["All"], WaitTimeSeconds=1)["Messages"]
    assert message["MessageAttributes"] == attributes
    assert message["Attributes"] == {"SenderId": "me"}
    sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=5)
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    assert fake.asked.calls[-1] == ("delete_messages", "orders", ["receipt-1"])
    sqs.delete_queue(QueueUrl=url)


def test_entries_that_fail_are_told(sqs: Any, fake: FakeSqs) -> None:
    url = sqs.get_queue_url(QueueName="orders")["QueueUrl"]
    fake.messages.faults = {"bad": SqsError(SqsErrorCode.INVALID_MESSAGE_CONTENTS, "no")}
    entries = [{"Id": "1", "MessageBody": "good"}, {"Id": "2", "MessageBody": "bad"}]
    result = sqs.send_message_batch(QueueUrl=url, Entries=entries)
    assert [each["Id"] for each in result["Successful"]] == ["1"]
    assert [(each["Id"], each["Code"]) for each in result["Failed"]] == [("2", "InvalidMessageContents")]


def test_errors_are_the_clients_own(sqs: Any) -> None:
    with pytest.raises(sqs.exceptions.QueueDoesNotExist) as refused:
        sqs.get_queue_url(QueueName="none")
    assert refused.value.response["Error"]["Code"] == "AWS.SimpleQueueService.NonExistentQueue"
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert refused.value.response["ResponseMetadata"]["RequestId"]


def test_pages_follow_each_other(sqs: Any, fake: FakeSqs) -> None:
    pages = iter(sqs.get_paginator("list_queues").paginate(PaginationConfig={"PageSize": 2}))
    assert len(next(pages)["QueueUrls"]) == 2
    fake.queues.next_place = None
    assert len(next(pages)["QueueUrls"]) == 2
    assert list(pages) == []
    assert [call[3] for call in fake.asked.calls] == ["", "b"]


def test_lists_and_tasks(sqs: Any) -> None:
    url = sqs.get_queue_url(QueueName="orders")["QueueUrl"]
    assert sqs.list_queue_tags(QueueUrl=url)["Tags"] == {"team": "<mail>", "": ""}
    assert sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"] == {"All": "5"}
    assert sqs.start_message_move_task(SourceArn="arn")["TaskHandle"] == "task-1"
    [task] = sqs.list_message_move_tasks(SourceArn="arn")["Results"]
    assert task["Status"] == "RUNNING"
    assert sqs.cancel_message_move_task(TaskHandle="h")["ApproximateNumberOfMessagesMoved"] == 7
    sqs.tag_queue(QueueUrl=url, Tags={"a": "b"})
    sqs.untag_queue(QueueUrl=url, TagKeys=["a"])
    sqs.add_permission(QueueUrl=url, Label="l", AWSAccountIds=["1"], Actions=["SendMessage"])
    sqs.remove_permission(QueueUrl=url, Label="l")
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"DelaySeconds": "1"})
    sqs.purge_queue(QueueUrl=url)
    assert len(sqs.list_dead_letter_source_queues(QueueUrl=url)["queueUrls"]) == 2
