"""Requests of SQS that are recorded, as `app.http.protocol.traced_application` has it for those of Acklog's API."""

from collections.abc import Awaitable, Callable, Mapping

from starlette.responses import Response
from starlette.types import Scope

from acklog.wire.tracing import (
    OPERATION_NAME,
    OPERATION_TYPE,
    SYSTEM,
    SYSTEM_NAME,
    TRACEPARENT,
    TRACESTATE,
    is_sampled,
)
from app.sqs.protocol.failures import sqs_error_of
from app.sqs.protocol.request_trace import is_named
from app.sqs.sqs_error import SqsError
from cluster.ports.tracing import Span, SpanKind, Tracer, trace_text

_SEND = ("send", "send")
_ACK = ("ack", "settle")
_EXTEND = ("extend", "settle")
_OPERATIONS = {
    "SendMessage": _SEND,
    "SendMessageBatch": _SEND,
    "ReceiveMessage": ("receive", "receive"),
    "DeleteMessage": _ACK,
    "DeleteMessageBatch": _ACK,
    "ChangeMessageVisibility": _EXTEND,
    "ChangeMessageVisibilityBatch": _EXTEND,
}
"""What each call is, and of which kind, until it is known better: a visibility of 0 is a nack."""

Do = Callable[[Mapping[str, str]], Awaitable[Response]]
"""Does it; its messages are of that trace."""


class SqsTracing:
    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    async def recorded(self, scope: Scope, operation: str, trace: Mapping[str, str], do: Do) -> Response:
        """`trace` is the request's. What is not to be recorded is just done. Raises what `do` does."""
        known = _OPERATIONS.get(operation)
        traces = None if known is None else self._traces(trace)
        if known is None or traces is None:
            return await do(trace)
        name, kind = known
        failure: SqsError | None = None
        with self._tracer.span(name, SpanKind.SERVER, traces) as span:
            span.note(
                {
                    SYSTEM: SYSTEM_NAME,
                    OPERATION_NAME: name,
                    OPERATION_TYPE: kind,
                    "http.request.method": scope["method"],
                    "url.path": scope["path"],
                }
            )
            try:
                # One that begins here goes with the messages as one that their producer had begun.
                response = await do(trace if is_named(trace) else {TRACEPARENT: span.traceparent, **trace})
            except Exception as error:
                failure = sqs_error_of(error)
                _tell(failure, span)
            else:
                span.note({"http.response.status_code": response.status_code})
        if failure is not None:
            raise failure.again()
        return response

    def _traces(self, trace: Mapping[str, str]) -> list[str] | None:
        """What the request is a part of, or nothing yet; None where it is not to be recorded."""
        if not is_named(trace):
            return [] if self._tracer.is_drawn() else None
        is_recorded = is_sampled(trace[TRACEPARENT])
        return [trace_text(trace[TRACEPARENT], trace.get(TRACESTATE, ""))] if is_recorded else None


def _tell(failure: SqsError, span: Span) -> None:
    """A request that was wrong is no failure of the server."""
    fault = failure.code.value
    span.note({"http.response.status_code": fault.status, "acklog.problem": fault.code})
    if fault.status >= 500:
        span.fail(fault.code)
