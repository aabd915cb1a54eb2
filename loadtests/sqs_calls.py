"""Ready-made calls of SQS and of our own API that do the same, for `loadtests.sqs_costs`."""

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple
from urllib.parse import urlencode

import msgspec

from loadtests.http_connection import HttpConnection, make_request
from tests.support.aws_signer import AwsSigner, SignedCall
from tests.support.sqs_access import KEY_ID, SECRET

VARIANTS = 500
MESSAGES = 10
"""Of a receive, and of what is said to be done."""
_TEXT = "order 1234 of customer 17: two pieces of A-00017, to be delivered until Friday; 129.90 EUR in all, paid"
_FORM = "application/x-www-form-urlencoded"
_TARGET = "X-Amz-Target"
_JSON = "application/x-amz-json-1.0"


class Pair(NamedTuple):
    """A receive, and what is made of its answer: the request that says it is done, and how many messages that are."""

    receive: bytes
    done: Callable[[bytes], tuple[bytes, int]]


class OwnMessage(msgspec.Struct):
    receipt: str


class OwnMessages(msgspec.Struct):
    messages: list[OwnMessage]


class QueueMessage(msgspec.Struct):
    handle: str = msgspec.field(name="ReceiptHandle")


class QueueMessages(msgspec.Struct):
    messages: list[QueueMessage] = msgspec.field(default_factory=list, name="Messages")


_own = msgspec.json.Decoder(OwnMessages).decode
_sqs = msgspec.json.Decoder(QueueMessages).decode


def bodies() -> list[str]:
    """Texts that are JSON, as most are."""
    return [json.dumps({"number": number, "text": _TEXT}) for number in range(VARIANTS)]


def own_sends(queue: str, *headers: str) -> list[bytes]:
    found = [f'{{"queue":"{queue}","body":{body}}}'.encode() for body in bodies()]
    return [_with(make_request("POST", "/messages", body), headers) for body in found]


def own_pair(queue: str, group: str, *, messages: int = MESSAGES) -> Pair:
    def done(answer: bytes) -> tuple[bytes, int]:
        receipts = [each.receipt for each in _own(answer).messages]
        return make_request("POST", "/ack", msgspec.json.encode({"receipts": receipts})), len(receipts)

    return Pair(make_request("GET", f"/messages?queue={queue}&group={group}&max={messages}"), done)


def json_call(operation: str, document: object) -> bytes:
    request = make_request("POST", "/", msgspec.json.encode(document), content_type=_JSON)
    return _with(request, (f"x-amz-target: AmazonSQS.{operation}",))


def json_sends(queue_url: str) -> list[bytes]:
    return [json_call("SendMessage", {"QueueUrl": queue_url, "MessageBody": body}) for body in bodies()]


def query_sends(queue_url: str) -> list[bytes]:
    named = {"Action": "SendMessage", "Version": "2012-11-05", "QueueUrl": queue_url}
    forms = [urlencode({**named, "MessageBody": body}).encode() for body in bodies()]
    return [make_request("POST", "/", form, content_type=_FORM) for form in forms]


def signed_sends(queue_url: str, now_ms: int) -> list[bytes]:
    """Good for a quarter of an hour."""
    signer = AwsSigner(KEY_ID, SECRET, now_ms=now_ms)
    headers = ((_TARGET, "AmazonSQS.SendMessage"), ("Content-Type", _JSON))
    documents = [msgspec.json.encode({"QueueUrl": queue_url, "MessageBody": body}) for body in bodies()]
    return [_bytes_of(signer.signed(headers=headers, body=document)) for document in documents]


def json_pair(queue_url: str) -> Pair:
    def done(answer: bytes) -> tuple[bytes, int]:
        handles = [each.handle for each in _sqs(answer).messages]
        entries = [{"Id": str(number), "ReceiptHandle": handle} for number, handle in enumerate(handles)]
        return json_call("DeleteMessageBatch", {"QueueUrl": queue_url, "Entries": entries}), len(handles)

    return Pair(json_call("ReceiveMessage", {"QueueUrl": queue_url, "MaxNumberOfMessages": MESSAGES}), done)


async def made_queue(connection: HttpConnection, name: str) -> str:
    """Its URL."""
    answer = await connection.request(json_call("CreateQueue", {"QueueName": name}))
    assert answer.status == 200, answer.body
    return str(json.loads(answer.body)["QueueUrl"])


def filling(queue_url: str, count: int) -> list[bytes]:
    """Batches that bring so many messages."""
    texts = bodies()
    entries = [{"Id": str(number), "MessageBody": texts[number]} for number in range(MESSAGES)]
    return [json_call("SendMessageBatch", {"QueueUrl": queue_url, "Entries": entries})] * -(-count // MESSAGES)


def own_filling(queue: str, count: int, *, each: int = 1_000) -> list[bytes]:
    messages = ",".join(f'{{"body":{body}}}' for body in (bodies() * -(-each // VARIANTS))[:each])
    return [make_request("POST", "/messages", f'{{"queue":"{queue}","messages":[{messages}]}}'.encode())] * -(
        -count // each
    )


def _bytes_of(call: SignedCall) -> bytes:
    lines = [b"%b %b HTTP/1.1" % (call.method.encode(), call.raw_path)]
    lines += [b"%b: %b" % header for header in call.headers]
    lines.append(b"content-length: %d" % len(call.body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + call.body


def _with(request: bytes, headers: Sequence[str]) -> bytes:
    head, _, body = request.partition(b"\r\n\r\n")
    return b"\r\n".join([head, *(each.encode() for each in headers)]) + b"\r\n\r\n" + body
