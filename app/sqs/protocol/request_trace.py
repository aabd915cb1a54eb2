"""The trace that a request of SQS is a part of, as its headers say it: W3C's, or that of X-Ray."""

from collections.abc import Iterable, Mapping

from acklog.wire.tracing import TRACEPARENT
from app.http.exchange.trace_context import NAMES, trace_context_of
from app.sqs.messages.attribute_checks import TRACE_HEADER_BYTES_MAX
from app.sqs.messages.trace_header import is_trace, trace_headers

AMAZON_TRACE = b"x-amzn-trace-id"
TRACE_NAMES = NAMES | {AMAZON_TRACE}


def request_trace_of(headers: Iterable[tuple[bytes, bytes]]) -> Mapping[str, str]:
    """What its messages get as headers where they say nothing themselves; nothing where it is of no trace. What is
    wrong counts as nothing, and so do several; where there are both, `traceparent` is taken."""
    named = [header for header in headers if header[0] in TRACE_NAMES]
    if not named:
        return {}
    context = trace_context_of(named)
    if context is not None:
        return context
    traces = [value.decode("latin-1") for name, value in named if name == AMAZON_TRACE]
    if len(traces) != 1 or len(traces[0]) > TRACE_HEADER_BYTES_MAX or not is_trace(traces[0]):
        return {}
    return trace_headers(traces[0])


def is_named(trace: Mapping[str, str]) -> bool:
    """Whether it says which trace: one of X-Ray need not say of which span."""
    return TRACEPARENT in trace
