"""Requests that are recorded: a server's span around each that somebody traces, or that is drawn to begin a trace."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from acklog.wire.tracing import (
    OPERATION_NAME,
    OPERATION_TYPE,
    SYSTEM,
    SYSTEM_NAME,
    TRACEPARENT,
    TRACESTATE,
    is_sampled,
)
from app.http.exchange.trace_context import NAMES, trace_context_of
from app.http.protocol.draws import Draws
from cluster.ports.tracing import SpanKind, Tracer, trace_text

_SEND = ("send", "send")
OPERATIONS = {
    ("POST", "/messages"): _SEND,
    ("GET", "/messages"): ("receive", "receive"),
    ("POST", "/ack"): ("ack", "settle"),
    ("POST", "/nack"): ("nack", "settle"),
    ("POST", "/extend"): ("extend", "settle"),
}
"""What each call is, and of which kind, as OpenTelemetry has it."""
_TRACEPARENT = TRACEPARENT.encode()


class TracedApplication:
    """An ASGI application around another one."""

    def __init__(self, app: ASGIApp, tracer: Tracer, draws: Draws) -> None:
        self._app = app
        self._tracer = tracer
        self._draws = draws

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        operation = OPERATIONS.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        traces = None if operation is None else self._traces(scope, operation)
        if operation is None or traces is None:
            await self._app(scope, receive, send)
        else:
            await self._record(operation, traces, scope, receive, send)

    def _traces(self, scope: Scope, operation: tuple[str, str]) -> list[str] | None:
        """What the request is a part of, or nothing yet; None where it is not to be recorded."""
        context = trace_context_of(scope["headers"])
        if context is not None:
            is_recorded = is_sampled(context[TRACEPARENT])
            return [trace_text(context[TRACEPARENT], context.get(TRACESTATE, ""))] if is_recorded else None
        return [] if self._draws.is_drawn(operation[0]) else None

    async def _record(
        self, operation: tuple[str, str], traces: list[str], scope: Scope, receive: Receive, send: Send
    ) -> None:
        name, kind = operation
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
            if operation is _SEND and not traces:
                # The messages' own trace begins here, and goes with them as one that their producer had begun.
                others = [header for header in scope["headers"] if header[0] not in NAMES]
                headers = [*others, (_TRACEPARENT, span.traceparent.encode())]
                scope = {**scope, "headers": headers}

            async def observed_send(message: Message) -> None:
                if message["type"] == "http.response.start":
                    status = message["status"]
                    span.note({"http.response.status_code": status})
                    if status >= 500:
                        span.fail(str(status))
                await send(message)

            await self._app(scope, receive, observed_send)
