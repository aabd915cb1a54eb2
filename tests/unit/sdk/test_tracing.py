"""Traces of an application that go with its messages."""

import json
import subprocess
import sys
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from acklog import AsyncClient, Message, OutgoingMessage
from acklog.client import message_calls
from acklog.producer.encoding import encode
from tests.sim.loop import SimLoop, simulate
from tests.support.recorded_spans import SAMPLED, links_of, traceparent
from tests.unit.sdk.fake_queue import FakeQueue


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """Of an application that traces everything."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", lambda name: provider.get_tracer(name))
    return exporter


def test_a_send_and_a_settlement_name_the_span_that_is_current(exporter: InMemorySpanExporter) -> None:
    with trace.get_tracer("application").start_as_current_span("checkout"):
        calls: list[Any] = [
            message_calls.send("orders", OutgoingMessage(1), acks=None, idempotency_key=None),
            message_calls.send_many("orders", [OutgoingMessage(1)], acks=None, idempotency_key="k"),
            message_calls.ack("receipt"),
        ]
    [span] = exporter.get_finished_spans()
    assert [call.request.headers["traceparent"] for call in calls] == [traceparent(span)] * 3


def test_without_a_span_nothing_is_named() -> None:
    call = message_calls.send("orders", OutgoingMessage(1), acks=None, idempotency_key=None)
    assert "traceparent" not in call.request.headers


def test_a_span_that_is_not_recorded_is_not_named() -> None:
    tracer = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False).get_tracer("application")
    with tracer.start_as_current_span("checkout"):
        call = message_calls.send("orders", OutgoingMessage(1), acks=None, idempotency_key=None)
    assert "traceparent" not in call.request.headers


def test_messages_of_a_producer_name_it_each_in_headers_of_its_own(exporter: InMemorySpanExporter) -> None:
    with trace.get_tracer("application").start_as_current_span("checkout"):
        plain = json.loads(encode(1, None, None, None, None, None, None, None))
        own = json.loads(encode(1, None, {"traceparent": "own", "a": "b"}, None, None, None, None, None))
    [span] = exporter.get_finished_spans()
    assert plain == {"body": 1, "headers": {"traceparent": traceparent(span)}}
    assert own["headers"] == {"traceparent": "own", "a": "b"}


def test_a_handler_runs_within_a_span_that_is_linked_to_the_producers(exporter: InMemorySpanExporter) -> None:
    queue = FakeQueue.of(1)
    queue.items[0].headers = {"traceparent": SAMPLED}
    seen: list[str] = []

    async def main(_loop: SimLoop) -> None:
        async with AsyncClient(transport=queue) as client:
            consumer = client.consumer("orders", group="mail")

            def handle(message: Message) -> None:
                call = message_calls.send("mails", OutgoingMessage(1), acks=None, idempotency_key=None)
                seen.append(call.request.headers["traceparent"])
                consumer.stop()

            await consumer.serve(handle)

    simulate(0, main)
    [span] = exporter.get_finished_spans()
    attributes = dict(span.attributes or {})
    assert (span.name, span.kind, links_of(span)) == ("process orders", trace.SpanKind.CONSUMER, [SAMPLED])
    assert attributes["messaging.consumer.group.name"] == "mail"
    assert seen == [traceparent(span)]


def test_an_application_that_does_not_trace_imports_nothing_of_it() -> None:
    program = (
        "import sys, acklog\n"
        "from acklog.client import message_calls\n"
        "message_calls.send('orders', acklog.OutgoingMessage(1), acks=None, idempotency_key=None)\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
