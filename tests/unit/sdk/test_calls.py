import json
from typing import Any

import msgspec
import pytest

from acklog import AsyncClient, Client
from acklog.client import catalog_calls, message_calls
from acklog.client.address import base_url_of, given_or_found, headers_of
from acklog.client.call import Response, segment, target
from acklog.errors import (
    AcklogError,
    InvalidArgument,
    InvalidField,
    Overloaded,
    ReceiptStale,
    UnexpectedAnswer,
)
from acklog.messages import Message, OutgoingMessage, Sent
from tests.unit.sdk.fake_log import answer, problem

STALE = {"code": "RECEIPT_STALE", "detail": "gone", "retriable": False}


def sent_body(message: OutgoingMessage, **options: Any) -> Any:
    call = message_calls.send("orders", message, acks=None, idempotency_key=None, **options)
    return json.loads(call.request.body)


def test_a_body_of_json_and_a_body_of_bytes() -> None:
    assert sent_body(OutgoingMessage({"n": 1}, "k")) == {"queue": "orders", "body": {"n": 1}, "key": "k"}
    assert sent_body(OutgoingMessage(None)) == {"queue": "orders", "body": None}
    assert sent_body(OutgoingMessage(b"\0", content_type="a/b"))["bodyBase64"] == "AA=="
    assert sent_body(OutgoingMessage(bytearray(b"\0")))["bodyBase64"] == "AA=="


@pytest.mark.parametrize("body", [object(), {1: object()}, "\ud800"])
def test_a_body_that_json_cannot_hold_is_refused(body: Any) -> None:
    with pytest.raises(InvalidArgument, match="cannot be JSON"):
        sent_body(OutgoingMessage(body))


def test_only_a_send_with_a_key_may_be_repeated_blindly() -> None:
    def is_repeatable(message: OutgoingMessage, key: str | None) -> bool:
        return message_calls.send("t", message, acks=None, idempotency_key=key).is_repeatable

    assert not is_repeatable(OutgoingMessage(1), None)
    assert is_repeatable(OutgoingMessage(1), "k")
    assert is_repeatable(OutgoingMessage(1, dedup_id="d"), None)
    both = [OutgoingMessage(1, dedup_id="d"), OutgoingMessage(2)]
    assert not message_calls.send_many("t", both, acks=None, idempotency_key=None).is_repeatable


def test_results_of_a_batch_are_places_and_errors_in_order() -> None:
    call = message_calls.send_many("t", [OutgoingMessage(1)] * 2, acks=None, idempotency_key="k")
    assert call.request.headers["Idempotency-Key"] == "k"
    results = [{"messageId": "m-1", "partition": 2, "offset": 3}, {**STALE, "code": "OVERLOADED", "retriable": True}]
    first, second = call.read(answer(207, {"results": results, "failed": 1, "topicCreated": True}))
    assert first == Sent("m-1", 2, 3, topic_created=True)
    assert isinstance(second, Overloaded)
    assert second.retriable
    failed = [{"code": "INVALID_FIELD", "detail": "no", "retriable": False, "field": "messages[0].key"}] * 2
    errors = call.read(problem(400, "INVALID_FIELD", False, results=failed, failed=2))
    assert [type(error) for error in errors] == [InvalidField] * 2
    with pytest.raises(InvalidField):
        call.read(problem(400, "INVALID_FIELD", False))


@pytest.mark.parametrize("content", [b"", b"{}", b'{"results":[],"failed":0}', b"\xff"])
def test_an_answer_that_does_not_fit_the_request_is_noticed(content: bytes) -> None:
    call = message_calls.send_many("t", [OutgoingMessage(1)], acks=None, idempotency_key=None)
    with pytest.raises(UnexpectedAnswer):
        call.read(Response(201, content, {}))


@pytest.mark.parametrize("count", [0, 10_001])
def test_requests_are_bounded(count: int) -> None:
    with pytest.raises(InvalidArgument, match="1 to 10000"):
        message_calls.send_many("t", [OutgoingMessage(1)] * count, acks=None, idempotency_key=None)
    with pytest.raises(InvalidArgument, match="1 to 10000"):
        message_calls.ack(["r"] * count)


def test_receipts_and_messages_are_settled_alike() -> None:
    message = msgspec.convert(
        {
            "messageId": "m",
            "queue": "t",
            "partition": 0,
            "offset": 0,
            "timestamp": 1,
            "appendTime": 1,
            "receipt": "r-1",
        },
        Message,
    )
    said = message_calls.nack("r-2", delay_s=None, reason="ä" * 200)
    assert json.loads(said.request.body) == {"receipts": ["r-2"], "reason": "ä" * 128}, "256 bytes"
    call = message_calls.nack([message, "r-2"], delay_s=2.5)
    assert json.loads(call.request.body) == {"receipts": ["r-1", "r-2"], "delaySeconds": 2.5}
    first, second = call.read(answer(207, {"results": [{"status": "returned"}, STALE], "failed": 1}))
    assert (first.receipt, first.status, first.error) == ("r-1", "returned", None)
    assert (second.receipt, second.status) == ("r-2", None)
    assert isinstance(second.error, ReceiptStale)
    assert json.loads(message_calls.ack(message).request.body) == {"receipts": ["r-1"]}
    [stale] = message_calls.ack("r").read(problem(409, "RECEIPT_STALE", False, results=[STALE], failed=1))
    assert isinstance(stale.error, AcklogError)


def test_the_query_of_a_receive() -> None:
    call = message_calls.receive(
        ["a", "b"],
        group="g&g",
        max_messages=5,
        max_bytes=None,
        wait_s=1.5,
        visibility_s=0,
        consumer="wörker 1",
        auto_ack=True,
    )
    assert call.request.target == (
        "/messages?queue=a&queue=b&group=g%26g&max=5&waitSeconds=1.5&visibilitySeconds=0"
        "&consumer=w%C3%B6rker%201&autoAck=true"
    )
    assert call.wait_s == 1.5


def test_durations_go_out_to_the_millisecond() -> None:
    third = 1 / 3
    call = message_calls.receive(
        "t", group="g", max_messages=1, max_bytes=None, wait_s=third, visibility_s=third, consumer=None, auto_ack=False
    )
    assert "&waitSeconds=0.333&visibilitySeconds=0.333" in call.request.target
    records = message_calls.records("t", 0, offset=None, epoch=None, time_ms=None, max_bytes=None, wait_s=third)
    assert records.request.target.endswith("?waitSeconds=0.333")
    assert b'"delaySeconds":0.333}' in bytes(message_calls.nack("r-1", delay_s=third).request.body)
    assert b'"visibilitySeconds":0.333}' in bytes(message_calls.extend("r-1", visibility_s=third).request.body)


def test_a_received_message_reads_its_body_when_asked() -> None:
    call = message_calls.receive(
        "t", group="g", max_messages=1, max_bytes=None, wait_s=0, visibility_s=None, consumer=None, auto_ack=False
    )
    fields = {"messageId": "m", "queue": "t", "partition": 0, "offset": 0, "timestamp": 1, "appendTime": 2}
    json_message = {**fields, "receipt": "r", "attempt": 3, "key": "k", "body": {"n": [1, 2.5]}}
    bytes_message = {**fields, "receipt": "r", "attempt": 1, "bodyBase64": "AAE=", "contentType": "image/png"}
    received = call.read(answer(200, {"messages": [json_message, bytes_message]}))
    first, second = received
    assert (first.topic, first.attempt, first.timestamp_ms, first.append_time_ms) == ("t", 3, 1, 2)
    assert first.body == {"n": [1, 2.5]}
    assert first.body is first.body
    assert first.body_bytes == b'{"n": [1, 2.5]}'
    assert first.body_as(dict[str, list[float]]) == {"n": [1, 2.5]}
    assert second.body == second.body_bytes == b"\x00\x01"
    assert json.loads(msgspec.json.encode(first)) == json_message
    assert (len(received), received.reason, received.group_created) == (2, None, False)


def test_a_name_cannot_become_another_path() -> None:
    assert segment("a/b?c") == "a%2Fb%3Fc"
    for name in ("", ".", ".."):
        with pytest.raises(InvalidArgument):
            segment(name)
    assert target("/x", [("a", None)]) == "/x"


def test_a_seek_has_one_target() -> None:
    options: dict[str, Any] = {
        "to_offset": None,
        "to_time_ms": None,
        "to_earliest": False,
        "to_latest": False,
        "to_relative": None,
        "to_message_id": None,
        "partition": None,
        "dry_run": False,
    }
    with pytest.raises(InvalidArgument, match="give one of"):
        catalog_calls.seek("g", "t", **options)
    with pytest.raises(InvalidArgument, match="give one of"):
        catalog_calls.seek("g", "t", **{**options, "to_offset": 0, "to_latest": True})
    call = catalog_calls.seek("g", "t", **{**options, "to_time_ms": 5, "partition": 0})
    assert json.loads(call.request.body) == {"topic": "t", "to": {"time": 5}, "partition": 0, "dryRun": False}


def test_settings_are_spelled_as_the_api_does() -> None:
    call = catalog_calls.create_topic("t", partitions=3, replication_factor=None, config={"retention_ms": 5})
    assert json.loads(call.request.body) == {"partitions": 3, "config": {"retentionMs": 5}}


def test_a_change_says_whether_it_may_delete_messages() -> None:
    asked: dict[str, Any] = {"partitions": None, "replication_factor": None, "config": {"retention_ms": 5}}
    careful = catalog_calls.update_topic("t", **asked, allow_data_loss=False).request
    assert (careful.method, careful.target) == ("PATCH", "/topics/t")
    assert catalog_calls.update_topic("t", **asked, allow_data_loss=True).request.target == (
        "/topics/t?allowDataLoss=true"
    )


def test_what_is_not_given_comes_from_the_environment() -> None:
    environment = {"ACKLOG_URL": "http://queue:9", "ACKLOG_TOKEN": "secret"}

    def variable(name: str) -> str:
        return environment.get(name, "")

    assert given_or_found(None, None, variable) == ("http://queue:9", "secret")
    assert given_or_found("http://other", "mine", variable) == ("http://other", "mine")
    environment.clear()
    assert given_or_found(None, None, variable) == ("http://127.0.0.1:8080", None)


def test_a_client_reads_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACKLOG_URL", "http://queue:9/base/")
    monkeypatch.setenv("ACKLOG_TOKEN", "not a token")
    with pytest.raises(InvalidArgument, match="token"):
        Client()
    monkeypatch.setenv("ACKLOG_TOKEN", "")
    with Client() as client:
        assert client.url == AsyncClient().url == "http://queue:9/base"


@pytest.mark.parametrize(
    "url", ["", "localhost:8080", "ftp://x", "http://", "http://x:99999", "http://u@x", "http://x?y=1"]
)
def test_what_is_no_url_of_a_server_is_refused(url: str) -> None:
    with pytest.raises(InvalidArgument):
        base_url_of(url)


def test_a_url_and_a_token() -> None:
    assert base_url_of("https://example.org/queue/") == "https://example.org/queue"
    assert headers_of("abc", version="1")["Authorization"] == "Bearer abc"
    for token in ("", "a b", "a\n", "é"):
        with pytest.raises(InvalidArgument, match="token"):
            headers_of(token, version="1")
