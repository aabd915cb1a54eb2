"""What is recorded of a message of SQS on its way through a cluster, and which trace goes with it."""

import json
from collections.abc import Callable, Coroutine
from typing import Any

import httpx2
import pytest

from app.configuration.server_settings import Settings
from app.http.application import create_server_app
from app.processes.sqs_door import sqs_doors
from app.sqs.messages.attribute_checks import TRACE_HEADER_BYTES_MAX
from tests.support.cluster import Cluster, ClusterBuilder
from tests.support.recorded_spans import (
    SAMPLED,
    TRACE_ID,
    UNSAMPLED,
    RecordedSpans,
    links_of,
    parent_of,
    trace_id,
    traceparent,
)

AMAZON = f"Root=1-{TRACE_ID[:8]}-{TRACE_ID[8:]};Parent=b7ad6b7169203331;Sampled=1"
OWN = "Root=1-11111111-111111111111111111111111;Parent=2222222222222222;Sampled=1"


class SqsCaller:
    """By the JSON protocol."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self.client = client
        self.url = "http://gateway/000000000000/orders"

    async def call(self, operation: str, headers: dict[str, str] | None = None, **members: Any) -> dict[str, Any]:
        all_headers = {"X-Amz-Target": f"AmazonSQS.{operation}", "Content-Type": "application/x-amz-json-1.0"}
        content = json.dumps({"QueueUrl": self.url, **members})
        answer = await self.client.post("/", content=content, headers={**all_headers, **(headers or {})})
        return {"status": answer.status_code, **answer.json()}

    async def send(self, headers: dict[str, str] | None = None, **members: Any) -> dict[str, Any]:
        return await self.call("SendMessage", headers, MessageBody="hello", **members)

    async def receive(self, headers: dict[str, str] | None = None) -> dict[str, Any]:
        found = await self.call("ReceiveMessage", headers, WaitTimeSeconds=5, MessageSystemAttributeNames=["All"])
        [message] = found["Messages"]
        return dict(message)


def run(spans: RecordedSpans | None, story: Callable[[SqsCaller], Coroutine[Any, Any, None]]) -> None:
    async def main(cluster: Cluster) -> None:
        doors = sqs_doors(Settings())
        application = create_server_app(cluster.gateways[0].gateway, doors)
        transport = httpx2.ASGITransport(app=application.asgi, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url="http://gateway", timeout=None) as client:
            caller = SqsCaller(client)
            await caller.call("CreateQueue", QueueName="orders")
            await story(caller)

    builder = ClusterBuilder().nodes(1).gateway(auto_create_topics=False)
    (builder if spans is None else builder.traced(spans.tracer)).run(main)


@pytest.mark.parametrize("header", [{"traceparent": SAMPLED}, {"X-Amzn-Trace-Id": AMAZON}])
def test_a_recorded_message_has_its_whole_life_in_its_trace(header: dict[str, str]) -> None:
    spans = RecordedSpans()

    async def story(caller: SqsCaller) -> None:
        await caller.send(header)
        message = await caller.receive()
        assert message["Attributes"]["AWSTraceHeader"] == AMAZON
        handle = message["ReceiptHandle"]
        await caller.call("ChangeMessageVisibility", header, ReceiptHandle=handle, VisibilityTimeout=0)
        message = await caller.receive(header)
        await caller.call("DeleteMessage", header, ReceiptHandle=message["ReceiptHandle"])

    run(spans, story)
    assert {trace_id(span) for span in spans.ended} == {TRACE_ID}
    send = spans.named("send orders")
    assert parent_of(send) == SAMPLED
    assert parent_of(spans.named("append orders")) == traceparent(send)
    receiving = spans.named("receive orders")
    assert (parent_of(receiving), links_of(receiving)) == (SAMPLED, [SAMPLED])
    assert parent_of(spans.all_named("lease orders")[1]) == traceparent(receiving)
    for name in ("nack orders", "ack orders"):
        node, server = spans.all_named(name)
        assert (parent_of(server), parent_of(node)) == (SAMPLED, traceparent(server))
    told = dict(spans.all_named("ack orders")[1].attributes or {})
    assert told["messaging.operation.name"] == "ack"
    assert told["http.response.status_code"] == 200
    assert told["messaging.consumer.group.name"] == "sqs.orders"


def test_every_message_of_a_batch_that_says_nothing_gets_the_trace_of_its_request() -> None:
    async def story(caller: SqsCaller) -> None:
        own = {"AWSTraceHeader": {"DataType": "String", "StringValue": OWN}}
        entries = [
            {"Id": "own", "MessageBody": "own", "MessageSystemAttributes": own},
            {"Id": "none", "MessageBody": "none"},
        ]
        await caller.call("SendMessageBatch", {"traceparent": SAMPLED}, Entries=entries)
        found = [await caller.receive() for _ in range(2)]
        assert {each["Body"]: each["Attributes"]["AWSTraceHeader"] for each in found} == {"own": OWN, "none": AMAZON}

    run(None, story)


def test_of_x_ray_all_is_kept_and_both_headers_are_one_trace() -> None:
    async def story(caller: SqsCaller) -> None:
        for headers, expected in (
            ({"X-Amzn-Trace-Id": f"{OWN};Lineage=a:1"}, f"{OWN};Lineage=a:1"),
            ({"X-Amzn-Trace-Id": "Root=1-11111111-111111111111111111111111"}, None),
            ({"X-Amzn-Trace-Id": f"Root={'1' * (TRACE_HEADER_BYTES_MAX - 5)}"}, None),
            ({"X-Amzn-Trace-Id": OWN, "traceparent": SAMPLED}, AMAZON),
        ):
            await caller.send(headers)
            message = await caller.receive()
            assert message["Attributes"]["AWSTraceHeader"] == (expected or headers["X-Amzn-Trace-Id"])

    run(None, story)


@pytest.mark.parametrize(
    "value", ["", "whatever", "Root=1\t2", "Root=" + "1" * (TRACE_HEADER_BYTES_MAX - 4), "Sampled=1"]
)
def test_a_trace_of_x_ray_that_is_none_counts_as_none(value: str) -> None:
    async def story(caller: SqsCaller) -> None:
        await caller.send({"X-Amzn-Trace-Id": value})
        assert "AWSTraceHeader" not in (await caller.receive())["Attributes"]

    run(None, story)


def test_what_is_drawn_begins_a_trace_which_goes_with_the_message() -> None:
    spans = RecordedSpans(sample_per_mille=1_000)

    async def story(caller: SqsCaller) -> None:
        await caller.send()
        message = await caller.receive()
        [_, span_id] = traceparent(spans.named("send orders")).split("-")[1:3]
        assert f"Parent={span_id};" in message["Attributes"]["AWSTraceHeader"]

    run(spans, story)
    assert parent_of(spans.named("send orders")) == ""


@pytest.mark.parametrize("headers", [{}, {"traceparent": UNSAMPLED}])
def test_nothing_is_recorded_of_what_nobody_traces(headers: dict[str, str]) -> None:
    spans = RecordedSpans()

    async def story(caller: SqsCaller) -> None:
        await caller.send(headers)
        message = await caller.receive()
        assert ("AWSTraceHeader" in message["Attributes"]) == bool(headers)
        await caller.call("DeleteMessage", headers, ReceiptHandle=message["ReceiptHandle"])

    run(spans, story)
    assert spans.ended == []


def test_a_request_that_is_wrong_is_told_and_is_no_failure_of_the_server() -> None:
    spans = RecordedSpans()

    async def story(caller: SqsCaller) -> None:
        refused = await caller.send({"traceparent": SAMPLED}, DelaySeconds=901)
        assert refused["status"] == 400

    run(spans, story)
    span = spans.named("send")
    told = dict(span.attributes or {})
    assert (told["http.response.status_code"], told["acklog.problem"]) == (400, "InvalidParameterValue")
    assert span.status.is_unset
