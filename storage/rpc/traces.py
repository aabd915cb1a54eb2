"""The traces that messages are of, as their headers say."""

from collections.abc import Iterable

from acklog.wire.record import PlainRecord, Record
from acklog.wire.tracing import TRACEPARENT, TRACES_MAX, TRACESTATE, is_sampled, is_tracestate
from cluster.ports.tracing import trace_text


def traces_of(records: Iterable[Record | PlainRecord]) -> list[str]:
    """Those that are recorded, each once, as far as TRACES_MAX."""
    found: dict[str, None] = {}
    for record in records:
        trace = trace_of(record)
        if trace is not None:
            found[trace] = None
            if len(found) == TRACES_MAX:
                break
    return list(found)


def trace_of(record: Record | PlainRecord) -> str | None:
    """The one of this message; None where it is of none that is recorded."""
    headers = None if isinstance(record, tuple) else record.headers
    traceparent = None if headers is None else headers.get(TRACEPARENT)
    if headers is None or traceparent is None or not is_sampled(traceparent):
        return None
    tracestate = headers.get(TRACESTATE, "")
    return trace_text(traceparent, tracestate if is_tracestate(tracestate) else "")
