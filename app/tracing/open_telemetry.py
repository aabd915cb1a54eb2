"""The port of tracing on OpenTelemetry's SDK. Imported only where something is traced."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Link, SpanContext, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from acklog.wire.tracing import TRACEPARENT, TRACESTATE
from cluster.errors import ServerError
from cluster.ports import tracing
from cluster.ports.entropy import Entropy
from cluster.ports.tracing import Attributes

_KINDS = {
    tracing.SpanKind.SERVER: trace.SpanKind.SERVER,
    tracing.SpanKind.INTERNAL: trace.SpanKind.INTERNAL,
    tracing.SpanKind.PRODUCER: trace.SpanKind.PRODUCER,
}
_ABOUT = contexts.create_key("acklog-about")
_W3C = TraceContextTextMapPropagator()
ERROR_TYPE = "error.type"


class OpenTelemetryTracer:
    """`cluster.ports.tracing.Tracer`. Who asks for a span has seen to it that it is recorded: the provider's own
    sampler has nothing to decide."""

    def __init__(self, provider: TracerProvider, entropy: Entropy, *, sample_per_mille: int) -> None:
        self._tracer = provider.get_tracer("acklog")
        self._entropy = entropy
        self._share = sample_per_mille / 1000

    def is_drawn(self) -> bool:
        return self._entropy.fraction() < self._share

    @contextmanager
    def span(self, name: str, kind: tracing.SpanKind, traces: Sequence[str] = ()) -> Iterator[tracing.Span]:
        # Not a child of what happens to be current: the context of a callback may be that of another request.
        parent = contexts.Context() if not traces else _context_of(traces[0])
        with self._tracer.start_as_current_span(
            name,
            parent,
            _KINDS[kind],
            links=_links(traces[1:]),
            record_exception=False,
            set_status_on_exception=False,
        ) as recorded:
            span = RecordedSpan(recorded)
            try:
                yield span
            except ServerError as error:
                span.fail(error.code.name)
                raise
            except Exception as error:
                span.fail(type(error).__name__)
                raise

    @contextmanager
    def about(self, traces: Sequence[str]) -> Iterator[None]:
        token = contexts.attach(Context({_ABOUT: list(traces)}))
        try:
            yield
        finally:
            contexts.detach(token)

    def current(self) -> "RecordedSpan | None":
        span = trace.get_current_span()
        return RecordedSpan(span) if span.is_recording() else None

    def carried(self) -> list[str]:
        span = self.current()
        if span is not None:
            return [span.trace]
        about: Any = contexts.get_value(_ABOUT)
        return about or []


class RecordedSpan:
    """`cluster.ports.tracing.Span`."""

    __slots__ = ("_span",)

    def __init__(self, span: trace.Span) -> None:
        self._span = span

    @property
    def traceparent(self) -> str:
        return traceparent_of(self._span.get_span_context())

    @property
    def trace(self) -> str:
        return tracing.trace_text(self.traceparent, self._span.get_span_context().trace_state.to_header())

    def rename(self, name: str) -> None:
        self._span.update_name(name)

    def note(self, attributes: Attributes) -> None:
        self._span.set_attributes(dict(attributes))

    def event(self, name: str, attributes: Attributes) -> None:
        self._span.add_event(name, dict(attributes))

    def link(self, traces: Sequence[str]) -> None:
        for link in _links(traces):
            self._span.add_link(link.context)

    def fail(self, kind: str) -> None:
        self._span.set_attribute(ERROR_TYPE, kind)
        self._span.set_status(Status(StatusCode.ERROR))


def traceparent_of(span: SpanContext) -> str:
    return f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags:02x}"


def _context_of(trace_text: str) -> Context:
    traceparent, _, tracestate = trace_text.partition(" ")
    carried = {TRACEPARENT: traceparent, TRACESTATE: tracestate} if tracestate else {TRACEPARENT: traceparent}
    return _W3C.extract(carried, Context())


def _links(traces: Sequence[str]) -> list[Link]:
    return [Link(trace.get_current_span(_context_of(each)).get_span_context()) for each in traces]
