"""The SDK's spans, by OpenTelemetry's API: what comes of them decides whoever has set up its SDK."""

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from acklog.messages import Message
from acklog.wire import tracing
from acklog.wire.tracing import TRACEPARENT

_W3C = TraceContextTextMapPropagator()


def current_traceparent() -> str | None:
    context = trace.get_current_span().get_span_context()
    if not (context.is_valid and context.trace_flags.sampled):
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


@contextmanager
def process_span(message: Message, group: str) -> Iterator[None]:
    tracer = trace.get_tracer("acklog")
    name = f"process {message.topic}"
    with tracer.start_as_current_span(name, kind=SpanKind.CONSUMER, links=_links_to(message)) as span:
        if span.is_recording():
            span.set_attributes(
                {
                    tracing.SYSTEM: tracing.SYSTEM_NAME,
                    tracing.OPERATION_NAME: "process",
                    tracing.OPERATION_TYPE: "process",
                    tracing.DESTINATION: message.topic,
                    tracing.PARTITION: str(message.partition),
                    tracing.GROUP: group,
                    tracing.MESSAGE_ID: message.message_id,
                    tracing.ATTEMPT: message.attempt,
                }
            )
        yield


def _links_to(message: Message) -> list[Link]:
    """To the span in which the message was sent, where its headers name one."""
    carried = {TRACEPARENT: message.headers.get(TRACEPARENT, "")}
    sent = trace.get_current_span(_W3C.extract(carried, Context())).get_span_context()
    return [Link(sent)] if sent.is_valid else []
