"""Which requests are SQS's, and how they are told what went wrong."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from acklog.wire.problems import ProblemCode
from app.sqs.messages.outgoing_message import OutgoingMessage
from app.sqs.protocol.body_sizes import BODY_BYTES_MAX
from app.sqs.protocol.form import PARAMETERS_MAX
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.errors import ServerError
from cluster.ports.coordination import CoordinationError, OutcomeUnknownError
from tests.unit.app.sqs.protocol.sqs_server import (
    NAMESPACE,
    URL,
    SqsServer,
    json_error,
    result_of,
    sqs_server,
    xml_error,
    xml_of,
)

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
PATH = "/000000000000/orders"


@pytest.fixture
async def server() -> AsyncIterator[SqsServer]:
    async with sqs_server() as server:
        yield server


# --- whose a request is -----------------------------------------------------------------------------------------------


async def test_the_path_names_the_queue_where_nothing_else_does(server: SqsServer) -> None:
    assert (await server.json("PurgeQueue", path=PATH)).status_code == 200
    assert result_of(await server.query("PurgeQueue", path=PATH), "PurgeQueue") is None
    other = "http://elsewhere/000000000000/other"
    assert (await server.json("PurgeQueue", {"QueueUrl": other}, path=PATH)).status_code == 200
    await server.query("PurgeQueue", ("QueueUrl", other), path=PATH)
    assert server.fake.asked.calls == [("purge", "orders")] * 2 + [("purge", "other")] * 2


async def test_without_a_path_a_queue_is_named(server: SqsServer) -> None:
    said = "The request must contain the parameter QueueUrl."
    assert json_error(await server.json("PurgeQueue")) == (400, "MissingRequiredParameterException", said)
    assert xml_error(await server.query("PurgeQueue")) == (400, "MissingParameter", said)
    answer = await server.json("PurgeQueue", {"QueueUrl": "nothing"})
    assert json_error(answer)[:2] == (404, "InvalidAddress")


async def test_a_call_may_stand_in_the_query(server: SqsServer) -> None:
    answer = await server.client.post(f"{PATH}?Action=SendMessage&MessageBody=a%20b+c&Version=2012-11-05")
    assert ("MessageId", "id-of-a b c") in result_of(answer, "SendMessage")
    answer = await server.client.get("/?Action=ListQueues&QueueNamePrefix=x")
    assert result_of(answer, "ListQueues")
    answer = await server.client.post("/?Action=ListQueues", content=b"QueueNamePrefix=x", headers=FORM)
    assert result_of(answer, "ListQueues")
    assert server.fake.asked.calls[-1] == ("list_page", "x", 1000, "")


@pytest.mark.parametrize("call", ["SendMessage&MessageBody=a", "ReceiveMessage", "PurgeQueue", "DeleteQueue"])
async def test_where_nobody_is_asked_who_they_are_an_address_changes_nothing(server: SqsServer, call: str) -> None:
    """Any page may show a picture from there, and its browser says nothing of the page."""
    answer = await server.client.get(f"{PATH}?Action={call}")
    assert xml_error(answer)[:2] == (400, "AWS.SimpleQueueService.UnsupportedOperation")
    assert server.fake.asked.calls == []


async def test_a_slash_behind_the_path_says_nothing(server: SqsServer) -> None:
    answer = await server.query("SendMessage", ("MessageBody", "a"), path=f"{PATH}/")
    assert ("MessageId", "id-of-a") in result_of(answer, "SendMessage")


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/", {}, 307),
        ("GET", "/?Actions=ListQueues", {}, 307),
        ("POST", "/", {}, 405),
        ("POST", "/", {"X-Amz-Target": "AWSSNS.Publish"}, 405),
        ("POST", "/", {"Content-Type": "application/json"}, 405),
        ("GET", PATH, {}, 404),
        ("PUT", f"{PATH}?Action=ListQueues", FORM, 404),
        ("POST", "/messages?Action=ListQueues", {"X-Amz-Target": "AmazonSQS.ListQueues"}, 400),
        ("POST", "/12345/orders", FORM, 404),
        ("POST", "/000000000000/a/b", FORM, 404),
        ("GET", "/topics?Action=ListQueues", {}, 400),
    ],
)
async def test_the_api_of_acklog_is_as_it_was(
    server: SqsServer, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    answer = await server.client.request(method, path, headers=headers)
    assert answer.status_code == status
    assert "x-amzn-requestid" not in answer.headers
    assert server.fake.asked.calls == []


@pytest.mark.parametrize("content_type", ["application/x-amz-json-1.1", "application/json", "", "text/plain"])
async def test_other_names_of_json_are_taken(server: SqsServer, content_type: str) -> None:
    answer = await server.json("ListQueues", headers={"Content-Type": content_type})
    assert answer.json()["QueueUrls"]


async def test_which_version_is_asked_for_says_nothing(server: SqsServer) -> None:
    for version in ("", "&Version=2009-02-01", "&Version=x"):
        answer = await server.client.post("/", content=f"Action=ListQueues{version}".encode(), headers=FORM)
        assert result_of(answer, "ListQueues")


async def test_an_empty_body_says_nothing(server: SqsServer) -> None:
    headers = {"X-Amz-Target": "AmazonSQS.ListQueues"}
    assert (await server.client.post("/", headers=headers)).json()["QueueUrls"]


async def test_urls_are_those_by_which_the_server_was_called(server: SqsServer) -> None:
    answer = await server.json("GetQueueUrl", {"QueueName": "orders"}, headers={"Host": "queue.example:9"})
    assert answer.json() == {"QueueUrl": "http://queue.example:9/000000000000/orders"}


# --- what is wrong with a request -------------------------------------------------------------------------------------


async def test_unknown_operations(server: SqsServer) -> None:
    assert json_error(await server.json("Publish"))[:2] == (400, "UnknownOperationException")
    assert xml_error(await server.query("Publish"))[:2] == (400, "InvalidAction")
    answer = await server.client.post("/", content=b"QueueName=x", headers=FORM)
    assert xml_error(answer)[:2] == (400, "MissingAction")


async def test_errors_say_what_they_are_called_in_the_other_protocol(server: SqsServer) -> None:
    queue = {"QueueUrl": "http://gateway/000000000000/none", "MessageBody": "a"}
    answer = await server.json("SendMessage", queue)
    assert answer.headers["x-amzn-query-error"] == "AWS.SimpleQueueService.NonExistentQueue;Sender"
    assert answer.headers["x-amzn-requestid"]
    assert json_error(answer) == (400, "QueueDoesNotExist", "The specified queue does not exist.")


@pytest.mark.parametrize(
    ("operation", "document", "code", "part"),
    [
        ("SendMessage", '{"QueueUrl":"u"}', "MissingRequiredParameterException", " MessageBody."),
        ("SendMessage", '{"MessageBody":null}', "MissingRequiredParameterException", " MessageBody."),
        ("SendMessageBatch", '{"Entries":[{"Id":"a"}]}', "MissingRequiredParameterException", "Entries.1.MessageBody."),
        ("SendMessage", '{"MessageBody":5}', "SerializationException", "$.MessageBody"),
        ("SendMessage", '{"MessageBody":"a","DelaySeconds":"5"}', "SerializationException", "$.DelaySeconds"),
        ("SendMessage", '{"MessageBody":"a","DelaySeconds":2147483648}', "SerializationException", "DelaySeconds"),
        (
            "SendMessage",
            '{"MessageBody":"a","MessageAttributes":{"b":{"DataType":"Binary","BinaryValue":"%"}}}',
            "SerializationException",
            "base64",
        ),
        ("SendMessage", '{"MessageBody":"\\ud800"}', "SerializationException", ""),
        ("SendMessage", "[]", "SerializationException", ""),
        ("SendMessage", "{", "SerializationException", ""),
        ("SendMessage", '{"x":' + "[" * 100_000, "SerializationException", ""),
    ],
)
async def test_what_is_wrong_with_json(server: SqsServer, operation: str, document: str, code: str, part: str) -> None:
    headers = {"X-Amz-Target": f"AmazonSQS.{operation}"}
    answer = await server.client.post(PATH, content=document.encode(), headers=headers)
    status, shape, message = json_error(answer)
    assert (status, shape) == (400, code)
    assert part in message
    assert server.fake.asked.calls == []


@pytest.mark.parametrize(
    ("form", "code", "part"),
    [
        ("Action=SendMessage", "MissingParameter", "MessageBody"),
        ("Action=SendMessage&MessageBody=a&DelaySeconds=x", "InvalidParameterValue", "DelaySeconds"),
        ("Action=SendMessage&MessageBody=a&DelaySeconds=2147483648", "InvalidParameterValue", "DelaySeconds"),
        ("Action=SendMessage&MessageBody=a&DelaySeconds=" + "9" * 5000, "InvalidParameterValue", "DelaySeconds"),
        ("Action=SendMessage&MessageBody=a&DelaySeconds=%C2%B2", "InvalidParameterValue", "DelaySeconds"),
        ("Action=SetQueueAttributes&Attribute.1.Name=x", "MissingParameter", "Attribute.1.Value"),
        ("Action=SetQueueAttributes&Attribute.1.Value=x", "MissingParameter", "Attribute.1.Name"),
        ("Action=SetQueueAttributes&Attribute.x.Value=x", "MalformedInput", "Attribute"),
        ("Action=SetQueueAttributes&Attribute.0.Value=x", "MalformedInput", "Attribute"),
        ("Action=SetQueueAttributes&Attribute.9999999999.Value=x", "MalformedInput", "Attribute"),
        ("Action=SetQueueAttributes&Attribute.%C2%B2.Value=x", "MalformedInput", "Attribute"),
        ("Action=SendMessage&MessageBody.1=a", "MissingParameter", "MessageBody"),
        ("Action=SendMessage&MessageBody=%ff", "MalformedInput", "UTF-8"),
        ("Action=UntagQueue&TagKey.1.x=a", "MissingParameter", "TagKey.1"),
    ],
)
async def test_what_is_wrong_with_forms(server: SqsServer, form: str, code: str, part: str) -> None:
    answer = await server.client.post(PATH, content=form.encode(), headers=FORM)
    status, found, message = xml_error(answer)
    assert (status, found) == (400, code)
    assert part in message
    assert server.fake.asked.calls == []


async def test_lists_without_a_number_and_without_anything(server: SqsServer) -> None:
    for form in ("AttributeName=All", "AttributeName.1=All", "AttributeName="):
        await server.client.post(PATH, content=f"Action=GetQueueAttributes&{form}".encode(), headers=FORM)
    wanted = [call[2] for call in server.fake.asked.calls]
    assert wanted == [["All"], ["All"], []]


async def test_as_many_parameters_as_may_be(server: SqsServer) -> None:
    form = "Action=ListQueues" + "".join(f"&x{number}=" for number in range(PARAMETERS_MAX - 1))
    assert result_of(await server.client.post("/", content=form.encode(), headers=FORM), "ListQueues")
    answer = await server.client.post("/", content=f"{form}&y".encode(), headers=FORM)
    assert xml_error(answer)[:2] == (400, "InvalidParameterValue")


async def test_as_many_bytes_as_may_be(server: SqsServer) -> None:
    start = b"Action=SendMessage&MessageBody="
    body = start + b"%41" * ((BODY_BYTES_MAX - len(start)) // 3)
    assert (await server.client.post(PATH, content=body, headers=FORM)).status_code == 200
    [_, (_, _, message)] = server.fake.asked.calls
    assert message == OutgoingMessage(body="A" * ((BODY_BYTES_MAX - len(start)) // 3))
    answer = await server.client.post(PATH, content=body + b"&&&&", headers=FORM)
    assert xml_error(answer)[:2] == (400, "InvalidParameterValue")


@pytest.mark.parametrize("size", [65_534, 65_535, 65_536, 65_537, 65_538])
async def test_escapes_are_whole_wherever_a_step_ends(server: SqsServer, size: int) -> None:
    body = b"Action=SendMessage&MessageBody=" + b"a" * size + b"%C3%A9+%26%zz" + b"b" * size
    assert (await server.client.post(PATH, content=body, headers=FORM)).status_code == 200
    assert server.fake.asked.calls[-1][2].body == "a" * size + "é &%zz" + "b" * size


# --- what fails behind the door ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "status", "code", "retry_after"),
    [
        (SqsError(SqsErrorCode.PURGE_QUEUE_IN_PROGRESS, "once"), 403, "PurgeQueueInProgress", None),
        (ServerError(ProblemCode.FORBIDDEN, "no"), 403, "AccessDeniedException", None),
        (ServerError(ProblemCode.QUOTA_EXCEEDED, "no", retry_after_ms=1_001), 403, "RequestThrottled", "2"),
        (ServerError(ProblemCode.TOO_MANY_WAITING, "no"), 403, "RequestThrottled", "1"),
        (ServerError(ProblemCode.UNAVAILABLE, "no", retry_after_ms=10), 503, "ServiceUnavailable", "1"),
        (ServerError(ProblemCode.CONFLICT, "no"), 503, "ServiceUnavailable", "1"),
        (ServerError(ProblemCode.TOPIC_NOT_FOUND, "no"), 400, "QueueDoesNotExist", None),
        (ServerError(ProblemCode.MESSAGE_TOO_LARGE, "no"), 400, "InvalidParameterValueException", None),
        (CoordinationError("no"), 503, "ServiceUnavailable", "1"),
        (OutcomeUnknownError("no"), 500, "InternalFailure", None),
        (RuntimeError("a bug"), 500, "InternalFailure", None),
    ],
)
async def test_failures_of_the_services(
    server: SqsServer, fault: Exception, status: int, code: str, retry_after: str | None
) -> None:
    server.fake.asked.fault = fault
    answer = await server.json("PurgeQueue", {"QueueUrl": URL})
    assert json_error(answer)[:2] == (status, code)
    assert answer.headers.get("retry-after") == retry_after
    assert "a bug" not in answer.text
    answer = await server.query("PurgeQueue", ("QueueUrl", URL))
    assert xml_error(answer)[0] == status
    assert answer.headers.get("retry-after") == retry_after


async def test_no_code_of_acklog_is_an_error_that_clients_of_sqs_do_not_know(server: SqsServer) -> None:
    for code in ProblemCode:
        server.fake.asked.fault = ServerError(code, "no")
        answer = await server.json("PurgeQueue", {"QueueUrl": URL})
        assert answer.headers["x-amzn-query-error"].endswith(";Receiver" if answer.status_code >= 500 else ";Sender")
        assert answer.status_code in (400, 403, 404, 408, 500, 503)


@pytest.mark.parametrize(
    ("ids", "code"),
    [
        ([], "EmptyBatchRequest"),
        ([str(number) for number in range(11)], "TooManyEntriesInBatchRequest"),
        (["a", "a"], "BatchEntryIdsNotDistinct"),
        (["a b"], "InvalidBatchEntryId"),
        (["a" * 81], "InvalidBatchEntryId"),
        ([""], "InvalidBatchEntryId"),
    ],
)
async def test_batches_that_are_none(server: SqsServer, ids: list[str], code: str) -> None:
    for operation in ("SendMessageBatch", "DeleteMessageBatch", "ChangeMessageVisibilityBatch"):
        entries: list[dict[str, Any]] = [
            {"Id": each, "MessageBody": "b", "ReceiptHandle": "r", "VisibilityTimeout": 1} for each in ids
        ]
        answer = await server.json(operation, {"QueueUrl": URL, "Entries": entries})
        assert json_error(answer)[:2] == (400, code)
    assert server.fake.asked.calls == []


async def test_lists_of_attribute_values_are_not_for_sending(server: SqsServer) -> None:
    attributes = {"a": {"DataType": "String", "StringListValues": ["x"]}}
    answer = await server.json("SendMessage", {"QueueUrl": URL, "MessageBody": "b", "MessageAttributes": attributes})
    assert json_error(answer)[:2] == (400, "UnsupportedOperation")


async def test_pages_are_for_those_who_say_how_long(server: SqsServer) -> None:
    assert "NextToken" not in (await server.json("ListQueues")).json()
    assert "NextToken" in (await server.json("ListQueues", {"MaxResults": 1})).json()
    server.fake.queues.names, server.fake.queues.next_place = [], None
    assert (await server.json("ListQueues", {"MaxResults": 1})).json() == {}
    answer = await server.json("ListDeadLetterSourceQueues", {"QueueUrl": URL})
    assert answer.json() == {"queueUrls": []}


async def test_a_receive_of_nothing_says_nothing(server: SqsServer) -> None:
    assert (await server.json("ReceiveMessage", {"QueueUrl": URL})).json() == {}
    answer = await server.query("ReceiveMessage", ("QueueUrl", URL))
    assert xml_of(answer).find(f"{NAMESPACE}ReceiveMessageResult") is not None
    assert result_of(answer, "ReceiveMessage") == ""


async def test_metrics_have_each_call_by_its_name(server: SqsServer) -> None:
    await server.json("ListQueues")
    await server.query("ListQueues")
    await server.query("Nonsense")
    text = (await server.client.get("/metrics")).text
    assert 'acklog_http_requests_total{method="POST",route="sqs/ListQueues",status="200"} 2' in text
    assert 'acklog_http_requests_total{method="POST",route="sqs",status="400"} 1' in text
    assert "Nonsense" not in text
