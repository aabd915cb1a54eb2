"""A server whose traces go to a real receiver, over both of OTLP's protocols; and to none that answers."""

import asyncio
import socket
from collections import Counter
from collections.abc import Callable
from typing import Any

import aiohttp
import pytest

from tests.integration.conftest import ServerMaker
from tests.support.otlp_receiver import OtlpReceiver, ReceivedSpan, grpc_receiver, http_receiver
from tests.support.recorded_spans import SAMPLED, TRACE_ID
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.integration
PRODUCER = SAMPLED.split("-")[2]
EXPECTED = Counter(
    {
        "send orders": 1,
        "append orders": 1,
        "lease orders": 2,
        "nack orders": 2,
        "dead-letter orders": 1,
        "append orders.work.dlq": 1,
        "lease orders.work.dlq": 1,
        "ack orders.work.dlq": 1,
    }
)


async def started(server: ServerProcess) -> ServerProcess:
    return await asyncio.to_thread(server.start)


async def call(url: str, method: str, target: str, document: Any = None, **headers: str) -> Any:
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, url + target, json=document, headers=headers) as answer,
    ):
        assert answer.status < 300, await answer.text()
        return await answer.json()


async def live_and_die(url: str, receive_url: str | None = None) -> None:
    """A message is sent in a trace that is recorded, given back until its attempts are used up, and read as a dead
    letter. Its consumers trace nothing."""
    consume = receive_url or url
    await call(url, "PUT", "/topics/orders", {"partitions": 1})
    await call(url, "PUT", "/groups/work", {"settings": {"maxAttempts": 2}})
    await call(url, "PUT", "/groups/readers", {})
    await call(url, "POST", "/messages", {"queue": "orders", "body": 1}, traceparent=SAMPLED)
    for _ in range(2):
        received = await call(consume, "GET", "/messages?queue=orders&group=work&waitSeconds=20")
        assert received["messages"], received
        [message] = received["messages"]
        await call(consume, "POST", "/nack", {"receipt": message["receipt"], "delaySeconds": 0})
    async with aiohttp.ClientSession() as session:
        while True:  # the topic is made when the first message has died
            async with session.get(f"{consume}/messages?queue=orders.work.dlq&group=readers&waitSeconds=1") as answer:
                messages = (await answer.json()).get("messages")
            if messages:
                break
    assert messages[0]["headers"]["traceparent"] == SAMPLED
    await call(consume, "POST", "/ack", {"receipt": messages[0]["receipt"]})


def check_story(receiver: OtlpReceiver) -> None:
    assert {span.trace_id for span in receiver.spans} == {TRACE_ID}
    [send], [append] = receiver.named("send orders"), receiver.named("append orders")
    assert (send.kind, send.parent) == ("SERVER", PRODUCER)
    assert append.parent == send.span_id
    first, second = receiver.named("lease orders")
    assert (first.parent, first.events) == (PRODUCER, [])
    assert (second.parent, second.events) == (PRODUCER, ["redelivery"])
    assert [span.parent for span in receiver.named("nack orders")] == [PRODUCER] * 2
    [death] = receiver.named("dead-letter orders")
    assert (death.parent, death.links) == (PRODUCER, [PRODUCER])
    assert death.attributes["messaging.destination.name"] == "orders.work.dlq"
    [copied] = receiver.named("append orders.work.dlq")
    assert copied.parent == death.span_id
    [letter] = receiver.named("lease orders.work.dlq")
    assert letter.parent == PRODUCER


def is_told(receiver: OtlpReceiver) -> Callable[[], object]:
    """Whether everything has come of what `check_story` looks at: each process exports in its own time."""
    return lambda: Counter(span.name for span in receiver.spans) >= EXPECTED


@pytest.mark.parametrize(("receive", "protocol"), [(http_receiver, "http/protobuf"), (grpc_receiver, "grpc")])
async def test_the_whole_life_of_a_message_is_one_trace(receive: Any, protocol: str, make_server: ServerMaker) -> None:
    async with receive() as receiver:
        options = ("--otlp-endpoint", receiver.url, "--otlp-protocol", protocol, "--trace-sample-per-mille", "0")
        server = await started(make_server(*options))
        await live_and_die(server.base_url)
        await receiver.until(is_told(receiver))
        check_story(receiver)
        assert {span.service for span in receiver.spans} == {"acklog-server"}
        metrics = await asyncio.to_thread(server.request, "GET", "/metrics")
        assert b"acklog_trace_spans_dropped_total 0.0" in metrics.content


async def test_what_waits_is_exported_at_a_stop(make_server: ServerMaker) -> None:
    async with http_receiver() as receiver:
        server = await started(make_server("--otlp-endpoint", receiver.url, "--trace-sample-per-mille", "1000"))
        await call(server.base_url, "POST", "/messages", {"queue": "orders", "body": 1})
        await asyncio.to_thread(server.stop)
        assert [span.name for span in begun(receiver)] == ["send orders"]


def begun(receiver: OtlpReceiver) -> list[ReceivedSpan]:
    return [span for span in receiver.spans if not span.parent]


async def test_without_an_endpoint_nothing_is_exported_or_counted(make_server: ServerMaker) -> None:
    async with http_receiver() as receiver:
        environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url}  # of somebody else's, it is no setting of ours
        server = await started(make_server(environment=environment))
        await live_and_die(server.base_url)
        metrics = await asyncio.to_thread(server.request, "GET", "/metrics")
        await asyncio.to_thread(server.stop)
        assert receiver.spans == []
        assert b"acklog_trace_spans" not in metrics.content


async def test_a_receiver_that_is_down_costs_its_spans_and_nothing_else(make_server: ServerMaker) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections and never answers
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        options = ("--otlp-endpoint", endpoint, "--trace-sample-per-mille", "1000", "--trace-queue-max", "10")
        server = await started(make_server(*options, "--trace-flush-timeout-ms", "500"))
        for number in range(20):
            await call(server.base_url, "POST", "/messages", {"queue": "orders", "body": number})
        metrics = (await asyncio.to_thread(server.request, "GET", "/metrics")).content.decode()
        [dropped] = [line for line in metrics.splitlines() if line.startswith("acklog_trace_spans_dropped_total ")]
        assert float(dropped.split()[1]) >= 30, "of 40 spans 10 may wait"
        await asyncio.to_thread(server.stop)
