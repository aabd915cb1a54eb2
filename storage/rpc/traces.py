"""The traces that messages are of, as their headers say."""

from collections.abc import Iterable

from acklog.wire.record import PlainRecord, Record
from acklog.wire.tracing import TRACEPARENT, TRACES_MAX, is_sampled


def traces_of(records: Iterable[Record | PlainRecord]) -> list[str]:
    """Those that are recorded, each once, as far as TRACES_MAX."""
    found: dict[str, None] = {}
    for record in records:
        traceparent = trace_of(record)
        if traceparent is not None:
            found[traceparent] = None
            if len(found) == TRACES_MAX:
                break
    return list(found)


def trace_of(record: Record | PlainRecord) -> str | None:
    """The one of this message; None where it is of none that is recorded."""
    headers = None if isinstance(record, tuple) else record.headers
    traceparent = None if headers is None else headers.get(TRACEPARENT)
    return traceparent if is_sampled(traceparent) else None
