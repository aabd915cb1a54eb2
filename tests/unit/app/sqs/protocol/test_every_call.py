"""Each call by both protocols: what comes to the services, and what comes back."""

import base64
from typing import Any, NamedTuple

import pytest

from app.sqs.messages.message_attribute import MessageAttribute
from app.sqs.messages.outgoing_message import OutgoingMessage
from app.sqs.messages.received_message import ReceiveOptions
from app.sqs.shapes import CALLS
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.model.action import Action
from tests.support.sqs_fakes import ATTRIBUTES, received_message
from tests.unit.app.sqs.protocol.sqs_server import URL, result_of, sqs_server

QUEUE = {"QueueUrl": URL}
ARN = "arn:aws:sqs:us-east-1:000000000000:letters"
BINARY = base64.b64encode(b"\x00\xff").decode()
PHOTO = MessageAttribute(data_type="Binary.png", binary_value=b"\x00\xff")
SIZE = MessageAttribute(data_type="Number", string_value="7")
TRACE = MessageAttribute(data_type="String", string_value="Root=1-5759e988-bd862e3fe1be46a994272793")
URLS = ["http://gateway/000000000000/a", "http://gateway/000000000000/b"]


class Row(NamedTuple):
    operation: str
    document: dict[str, Any]
    pairs: list[tuple[str, str]]
    asked: list[tuple[Any, ...]]
    json: dict[str, Any]
    xml: list[tuple[str, Any]] | None


def found(action: Action) -> tuple[Any, ...]:
    return ("find", "orders", action)


SENDING = {
    "MessageBody": "é & <x>\n",
    "DelaySeconds": 5,
    "MessageAttributes": {
        "size": {"DataType": "Number", "StringValue": "7"},
        "photo": {"DataType": "Binary.png", "BinaryValue": BINARY},
    },
    "MessageSystemAttributes": {"AWSTraceHeader": {"DataType": "String", "StringValue": TRACE.string_value}},
    "MessageDeduplicationId": "d",
    "MessageGroupId": "g",
}
SENDING_PAIRS = [
    ("MessageBody", "é & <x>\n"),
    ("DelaySeconds", "5"),
    ("MessageAttribute.1.Name", "size"),
    ("MessageAttribute.1.Value.DataType", "Number"),
    ("MessageAttribute.1.Value.StringValue", "7"),
    ("MessageAttribute.3.Name", "photo"),
    ("MessageAttribute.3.Value.DataType", "Binary.png"),
    ("MessageAttribute.3.Value.BinaryValue", BINARY),
    ("MessageSystemAttribute.1.Name", "AWSTraceHeader"),
    ("MessageSystemAttribute.1.Value.DataType", "String"),
    ("MessageSystemAttribute.1.Value.StringValue", str(TRACE.string_value)),
    ("MessageDeduplicationId", "d"),
    ("MessageGroupId", "g"),
]
OUTGOING = OutgoingMessage(
    body="é & <x>\n",
    delay_seconds=5,
    attributes={"size": SIZE, "photo": PHOTO},
    system_attributes={"AWSTraceHeader": TRACE},
    deduplication_id="d",
    group_id="g",
)
SENT_ID = "id-of-é & <x>\n"


def in_batch(operation: str, pairs: list[tuple[str, str]], entry_id: str, number: int) -> list[tuple[str, str]]:
    prefix = f"{operation}RequestEntry.{number}"
    return [(f"{prefix}.Id", entry_id), *((f"{prefix}.{name}", text) for name, text in pairs)]


ROWS = [
    Row(
        "CreateQueue",
        {"QueueName": "orders", "Attributes": {"DelaySeconds": "5", "Policy": "{}"}, "tags": {"team": "mail"}},
        [
            ("QueueName", "orders"),
            ("Attribute.1.Name", "DelaySeconds"),
            ("Attribute.1.Value", "5"),
            ("Attribute.2.Name", "Policy"),
            ("Attribute.2.Value", "{}"),
            ("Tag.1.Key", "team"),
            ("Tag.1.Value", "mail"),
        ],
        [("create", "orders", {"DelaySeconds": "5", "Policy": "{}"}, {"team": "mail"})],
        {"QueueUrl": URL},
        [("QueueUrl", URL)],
    ),
    Row("DeleteQueue", QUEUE, [("QueueUrl", URL)], [("delete", "orders")], {}, None),
    Row(
        "ListQueues",
        {"QueueNamePrefix": "o", "NextToken": "a", "MaxResults": 2},
        [("QueueNamePrefix", "o"), ("NextToken", "a"), ("MaxResults", "2")],
        [("list_page", "o", 2, "a")],
        {"QueueUrls": URLS, "NextToken": "b"},
        [*(("QueueUrl", url) for url in URLS), ("NextToken", "b")],
    ),
    Row(
        "GetQueueUrl",
        {"QueueName": "orders", "QueueOwnerAWSAccountId": "000000000000"},
        [("QueueName", "orders"), ("QueueOwnerAWSAccountId", "000000000000")],
        [found(Action.LOOK)],
        {"QueueUrl": URL},
        [("QueueUrl", URL)],
    ),
    Row(
        "GetQueueAttributes",
        {**QUEUE, "AttributeNames": ["DelaySeconds", "All"]},
        [("QueueUrl", URL), ("AttributeName.1", "DelaySeconds"), ("AttributeName.2", "All")],
        [("attributes", "orders", ["DelaySeconds", "All"])],
        {"Attributes": {"DelaySeconds": "5", "All": "5"}},
        [
            ("Attribute", [("Name", "DelaySeconds"), ("Value", "5")]),
            ("Attribute", [("Name", "All"), ("Value", "5")]),
        ],
    ),
    Row(
        "SetQueueAttributes",
        {**QUEUE, "Attributes": {"DelaySeconds": ""}},
        [("QueueUrl", URL), ("Attribute.1.Name", "DelaySeconds"), ("Attribute.1.Value", "")],
        [("set_attributes", "orders", {"DelaySeconds": ""})],
        {},
        None,
    ),
    Row("PurgeQueue", QUEUE, [("QueueUrl", URL)], [("purge", "orders")], {}, None),
    Row(
        "ListDeadLetterSourceQueues",
        QUEUE,
        [("QueueUrl", URL)],
        [("dead_letter_sources", "orders", 1000, "")],
        {"queueUrls": URLS},
        [("QueueUrl", url) for url in URLS],
    ),
    Row(
        "TagQueue",
        {**QUEUE, "Tags": {"a": "1", "b": ""}},
        [("QueueUrl", URL), ("Tag.1.Key", "a"), ("Tag.1.Value", "1"), ("Tag.2.Key", "b"), ("Tag.2.Value", "")],
        [("tag", "orders", {"a": "1", "b": ""})],
        {},
        None,
    ),
    Row(
        "UntagQueue",
        {**QUEUE, "TagKeys": ["a", "b"]},
        [("QueueUrl", URL), ("TagKey.1", "a"), ("TagKey.2", "b")],
        [("untag", "orders", ["a", "b"])],
        {},
        None,
    ),
    Row(
        "ListQueueTags",
        QUEUE,
        [("QueueUrl", URL)],
        [("tags", "orders")],
        {"Tags": {"team": "<mail>", "": ""}},
        [("Tag", [("Key", "team"), ("Value", "<mail>")]), ("Tag", [("Key", ""), ("Value", "")])],
    ),
    Row(
        "AddPermission",
        {**QUEUE, "Label": "l", "AWSAccountIds": ["1", "2"], "Actions": ["SendMessage"]},
        [
            ("QueueUrl", URL),
            ("Label", "l"),
            ("AWSAccountId.1", "1"),
            ("AWSAccountId.2", "2"),
            ("ActionName.1", "SendMessage"),
        ],
        [("add_permission", "orders", "l", ["1", "2"], ["SendMessage"])],
        {},
        None,
    ),
    Row(
        "RemovePermission",
        {**QUEUE, "Label": "l"},
        [("QueueUrl", URL), ("Label", "l")],
        [("remove_permission", "orders", "l")],
        {},
        None,
    ),
    Row(
        "SendMessage",
        {**QUEUE, **SENDING},
        [("QueueUrl", URL), *SENDING_PAIRS],
        [found(Action.SEND), ("send", "orders", OUTGOING)],
        {"MD5OfMessageBody": "m", "MessageId": SENT_ID, "SequenceNumber": "9"},
        [("MD5OfMessageBody", "m"), ("MessageId", SENT_ID), ("SequenceNumber", "9")],
    ),
    Row(
        "SendMessageBatch",
        {**QUEUE, "Entries": [{"Id": "1", **SENDING}, {"Id": "2", "MessageBody": "bad"}]},
        [
            ("QueueUrl", URL),
            *in_batch("SendMessageBatch", SENDING_PAIRS, "1", 1),
            *in_batch("SendMessageBatch", [("MessageBody", "bad")], "2", 2),
        ],
        [found(Action.SEND), ("send_batch", "orders", [OUTGOING, OutgoingMessage(body="bad")])],
        {
            "Successful": [{"Id": "1", "MessageId": SENT_ID, "MD5OfMessageBody": "m"}],
            "Failed": [{"Id": "2", "SenderFault": True, "Code": "InvalidMessageContents", "Message": "no"}],
        },
        [
            ("SendMessageBatchResultEntry", [("Id", "1"), ("MessageId", SENT_ID), ("MD5OfMessageBody", "m")]),
            (
                "BatchResultErrorEntry",
                [("Id", "2"), ("SenderFault", "true"), ("Code", "InvalidMessageContents"), ("Message", "no")],
            ),
        ],
    ),
    Row(
        "ReceiveMessage",
        {
            **QUEUE,
            "AttributeNames": ["SenderId"],
            "MessageSystemAttributeNames": ["All"],
            "MessageAttributeNames": ["s.*"],
            "MaxNumberOfMessages": 10,
            "VisibilityTimeout": 30,
            "WaitTimeSeconds": 0,
            "ReceiveRequestAttemptId": "r",
        },
        [
            ("QueueUrl", URL),
            ("AttributeName.1", "SenderId"),
            ("MessageSystemAttributeName.1", "All"),
            ("MessageAttributeName.1", "s.*"),
            ("MaxNumberOfMessages", "10"),
            ("VisibilityTimeout", "30"),
            ("WaitTimeSeconds", "0"),
            ("ReceiveRequestAttemptId", "r"),
        ],
        [
            found(Action.RECEIVE),
            (
                "receive",
                "orders",
                ReceiveOptions(
                    count_max=10,
                    visibility_seconds=30,
                    wait_seconds=0,
                    system_attribute_names=["SenderId", "All"],
                    attribute_names=["s.*"],
                    attempt_id="r",
                ),
            ),
        ],
        {
            "Messages": [
                {"MessageId": "id-1", "ReceiptHandle": "receipt-1", "MD5OfBody": "m", "Body": "a\rb\x01"},
                {
                    "MessageId": "id-2",
                    "ReceiptHandle": "receipt-2",
                    "MD5OfBody": "m",
                    "Body": "body 2",
                    "Attributes": {"SenderId": "me"},
                    "MD5OfMessageAttributes": "n",
                    "MessageAttributes": {
                        "size": {"DataType": "Number", "StringValue": "7"},
                        "photo": {"DataType": "Binary.png", "BinaryValue": BINARY},
                    },
                },
            ]
        },
        [
            (
                "Message",
                [
                    ("MessageId", "id-1"),
                    ("ReceiptHandle", "receipt-1"),
                    ("MD5OfBody", "m"),
                    ("Body", "a\rb\ufffd"),
                ],
            ),
            (
                "Message",
                [
                    ("MessageId", "id-2"),
                    ("ReceiptHandle", "receipt-2"),
                    ("MD5OfBody", "m"),
                    ("Body", "body 2"),
                    ("Attribute", [("Name", "SenderId"), ("Value", "me")]),
                    ("MD5OfMessageAttributes", "n"),
                    (
                        "MessageAttribute",
                        [("Name", "size"), ("Value", [("DataType", "Number"), ("StringValue", "7")])],
                    ),
                    (
                        "MessageAttribute",
                        [("Name", "photo"), ("Value", [("DataType", "Binary.png"), ("BinaryValue", BINARY)])],
                    ),
                ],
            ),
        ],
    ),
    Row(
        "DeleteMessage",
        {**QUEUE, "ReceiptHandle": "r"},
        [("QueueUrl", URL), ("ReceiptHandle", "r")],
        [found(Action.SETTLE), ("delete_messages", "orders", ["r"])],
        {},
        None,
    ),
    Row(
        "DeleteMessageBatch",
        {**QUEUE, "Entries": [{"Id": "x", "ReceiptHandle": "r"}, {"Id": "y", "ReceiptHandle": "bad"}]},
        [
            ("QueueUrl", URL),
            *in_batch("DeleteMessageBatch", [("ReceiptHandle", "r")], "x", 1),
            *in_batch("DeleteMessageBatch", [("ReceiptHandle", "bad")], "y", 20),
        ],
        [found(Action.SETTLE), ("delete_messages", "orders", ["r", "bad"])],
        {
            "Successful": [{"Id": "x"}],
            "Failed": [{"Id": "y", "SenderFault": True, "Code": "InvalidMessageContents", "Message": "no"}],
        },
        [
            ("DeleteMessageBatchResultEntry", [("Id", "x")]),
            (
                "BatchResultErrorEntry",
                [("Id", "y"), ("SenderFault", "true"), ("Code", "InvalidMessageContents"), ("Message", "no")],
            ),
        ],
    ),
    Row(
        "ChangeMessageVisibility",
        {**QUEUE, "ReceiptHandle": "r", "VisibilityTimeout": 0},
        [("QueueUrl", URL), ("ReceiptHandle", "r"), ("VisibilityTimeout", "0")],
        [found(Action.SETTLE), ("change_visibility", "orders", [("r", 0)])],
        {},
        None,
    ),
    Row(
        "ChangeMessageVisibilityBatch",
        {**QUEUE, "Entries": [{"Id": "x", "ReceiptHandle": "r", "VisibilityTimeout": 7}]},
        [
            ("QueueUrl", URL),
            *in_batch("ChangeMessageVisibilityBatch", [("ReceiptHandle", "r"), ("VisibilityTimeout", "7")], "x", 1),
        ],
        [found(Action.SETTLE), ("change_visibility", "orders", [("r", 7)])],
        {"Successful": [{"Id": "x"}], "Failed": []},
        [("ChangeMessageVisibilityBatchResultEntry", [("Id", "x")])],
    ),
    Row(
        "StartMessageMoveTask",
        {"SourceArn": ARN, "DestinationArn": "d", "MaxNumberOfMessagesPerSecond": 5},
        [("SourceArn", ARN), ("DestinationArn", "d"), ("MaxNumberOfMessagesPerSecond", "5")],
        [("start_move", ARN, "d", 5)],
        {"TaskHandle": "task-1"},
        [("TaskHandle", "task-1")],
    ),
    Row(
        "ListMessageMoveTasks",
        {"SourceArn": ARN},
        [("SourceArn", ARN)],
        [("moves", ARN, 1)],
        {
            "Results": [
                {
                    "TaskHandle": "h",
                    "Status": "RUNNING",
                    "SourceArn": ARN,
                    "ApproximateNumberOfMessagesMoved": 2,
                    "ApproximateNumberOfMessagesToMove": 5,
                    "StartedTimestamp": 99,
                }
            ]
        },
        [
            (
                "ListMessageMoveTasksResultEntry",
                [
                    ("TaskHandle", "h"),
                    ("Status", "RUNNING"),
                    ("SourceArn", ARN),
                    ("ApproximateNumberOfMessagesMoved", "2"),
                    ("ApproximateNumberOfMessagesToMove", "5"),
                    ("StartedTimestamp", "99"),
                ],
            )
        ],
    ),
    Row(
        "CancelMessageMoveTask",
        {"TaskHandle": "h"},
        [("TaskHandle", "h")],
        [("cancel_move", "h")],
        {"ApproximateNumberOfMessagesMoved": 7},
        [("ApproximateNumberOfMessagesMoved", "7")],
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.operation)
async def test_both_protocols_ask_the_same_and_are_answered_the_same(row: Row) -> None:
    async with sqs_server() as server:
        bad = SqsError(SqsErrorCode.INVALID_MESSAGE_CONTENTS, "no")
        server.fake.messages.faults = {"bad": bad}
        server.fake.messages.received = [
            received_message(1, body="a\rb\x01"),
            received_message(2, attributes=ATTRIBUTES, attributes_md5="n", system_attributes={"SenderId": "me"}),
        ]
        answer = await server.json(row.operation, row.document)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-amz-json-1.0")
        assert answer.json() == row.json
        assert answer.headers["x-amzn-requestid"]
        assert server.fake.asked.calls == row.asked
        server.fake.asked.calls.clear()
        answer = await server.query(row.operation, *row.pairs)
        assert result_of(answer, row.operation) == row.xml
        assert server.fake.asked.calls == row.asked


def test_the_table_has_every_call() -> None:
    assert sorted(row.operation for row in ROWS) == sorted(CALLS)
