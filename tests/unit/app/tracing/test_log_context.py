"""Lines of the log, and the spans in which they were written."""

from app.tracing.log_context import add_current_span
from cluster.ports.tracing import SpanKind
from tests.support.recorded_spans import SAMPLED, TRACE_ID, RecordedSpans


def logged() -> dict[str, object]:
    return dict(add_current_span(None, "info", {"event": "e"}))


def test_a_line_within_a_span_names_it() -> None:
    spans = RecordedSpans()
    with spans.tracer.span("work", SpanKind.INTERNAL, [SAMPLED]) as span:
        line = logged()
    assert line == {"event": "e", "trace_id": TRACE_ID, "span_id": span.traceparent.split("-")[2]}


def test_another_line_does_not() -> None:
    spans = RecordedSpans()
    with spans.tracer.about([SAMPLED]):
        assert logged() == {"event": "e"}
    assert logged() == {"event": "e"}
