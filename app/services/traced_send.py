"""Sends that say in the span of their request what they are about."""

from typing import Any

from acklog.wire.identifiers import MessageId
from acklog.wire.record import PlainRecord, Record
from acklog.wire.tracing import DESTINATION, MESSAGE_COUNT, MESSAGE_ID, PARTITION
from app.auth.principal import Principal
from app.calls.send import Produce, record_of
from app.calls.send_result import SendResult
from app.gateway.batching.flight import Flight
from app.services.send import SendService
from cluster.errors import ServerError
from cluster.ports.tracing import Span, Tracer
from storage.rpc.traces import trace_of, traces_of


class TracedSendService(SendService):
    def __init__(self, *arguments: Any, tracer: Tracer) -> None:
        super().__init__(*arguments)
        self._tracer = tracer
        self._requests: dict[str, str] = {}
        """The spans of requests with a single message, which shares its batch with others, by the message's trace."""

    async def send(self, produce: Produce, principal: Principal) -> SendResult:
        span = self._tracer.current()
        if span is None:
            return await super().send(produce, principal)
        span.rename(f"send {produce.queue}")
        span.note({DESTINATION: produce.queue, MESSAGE_COUNT: len(produce.messages)})
        trace = _trace_of_single(produce)
        if trace is not None:
            self._requests[trace] = span.trace
        try:
            result = await super().send(produce, principal)
        finally:
            if trace is not None:
                self._requests.pop(trace, None)
        _tell_where(result, span)
        return result

    def _begin(self, flight: Flight, records: list[Record | PlainRecord]) -> None:
        # It runs in the context of any of the requests, or of one that is over: whose messages they are counts.
        with self._tracer.about([self._requests.get(each, each) for each in traces_of(records)]):
            super()._begin(flight, records)


def _trace_of_single(produce: Produce) -> str | None:
    message = produce.messages[0]
    if len(produce.messages) > 1 or isinstance(message, ServerError):
        return None
    return trace_of(record_of(message))


def _tell_where(result: SendResult, span: Span) -> None:
    if result.faults:
        span.note({"acklog.failed_count": len(result.faults), "acklog.problem": result.first_fault.code.name})
    if result.count == 1 and result.runs:
        [(_, placed)] = result.runs
        span.note({PARTITION: str(placed.partition)})
        if placed.offset >= 0:
            message_id = MessageId(result.topic.id, placed.partition, placed.epoch, placed.offset)
            span.note({MESSAGE_ID: str(message_id)})
