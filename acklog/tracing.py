"""The traces that an application is in, on their way through its messages.

Whoever traces has imported OpenTelemetry; where nobody has there is no span, and nothing to be done for one.
"""

import sys
from contextlib import AbstractContextManager, nullcontext

from acklog.messages import Message

_API = "opentelemetry.trace"
_NO_SPAN: AbstractContextManager[None] = nullcontext()


def current_trace() -> str | None:
    """W3C's `traceparent` of the span that is current; None where there is none, or it is not recorded."""
    if _API not in sys.modules:
        return None
    from acklog.spans import current_traceparent

    return current_traceparent()


def processing(message: Message, group: str) -> AbstractContextManager[None]:
    """A span for the work on a message, linked to that in which it was sent."""
    if _API not in sys.modules:
        return _NO_SPAN
    from acklog.spans import process_span

    return process_span(message, group)
