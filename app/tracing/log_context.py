"""Lines of the log that say in which span they were written."""

from collections.abc import MutableMapping
from typing import Any

from opentelemetry import trace


def add_current_span(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A processor of structlog. A span that has ended, which a task behind it may still see, is none."""
    span = trace.get_current_span()
    if span.is_recording():
        context = span.get_span_context()
        event["trace_id"] = f"{context.trace_id:032x}"
        event["span_id"] = f"{context.span_id:016x}"
    return event
