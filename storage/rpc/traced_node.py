"""A node whose calls are recorded: what is appended, leased and settled, as far as somebody traces it.

A lease and a settlement are also told to the traces of their messages, whoever asks for them: so a message's trace has
all that became of it, redeliveries included.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from acklog.wire.tracing import (
    ATTEMPT,
    DESTINATION,
    GROUP,
    MESSAGE_COUNT,
    OFFSET,
    OPERATION_NAME,
    OPERATION_TYPE,
    PARTITION,
    SYSTEM,
    SYSTEM_NAME,
    TRACES_MAX,
)
from cluster.metadata.metadata_view import MetadataView
from cluster.ports.tracing import Span, SpanKind, Tracer
from storage.rpc import messages
from storage.rpc.node_api import NodeApi, ProduceWaiter
from storage.rpc.passing_node import PassingNode
from storage.rpc.traces import trace_of

LEASES_MAX = 10_000
"""The last leases of traced messages, which are remembered so that what becomes of them is told to their traces."""

_Lease = tuple[str, int, str, int]
"""Topic id, partition, group id and offset."""


class TracedNode(PassingNode):
    """`names` knows topics and groups by their ids."""

    def __init__(self, node: NodeApi, tracer: Tracer, names: MetadataView, *, leases_max: int = LEASES_MAX) -> None:
        super().__init__(node)
        self._tracer = tracer
        self._names = names
        self._leases_max = leases_max
        self._leases: OrderedDict[_Lease, str] = OrderedDict()

    def begin_produce(self, request: messages.ProduceRequest, waiter: ProduceWaiter) -> bool:
        return not request.traces and self._node.begin_produce(request, waiter)

    async def produce(self, request: messages.ProduceRequest) -> messages.ProduceResponse:
        if not request.traces:
            return await self._node.produce(request)
        with self._span("append", "send", request.topic_id, request.traces) as span:
            span.note({PARTITION: str(request.partition)})
            return await self._node.produce(request)

    async def schedule(self, request: messages.ProduceRequest) -> messages.ProduceResponse:
        if not request.traces:
            return await self._node.schedule(request)
        with self._span("schedule", "send", request.topic_id, request.traces) as span:
            span.note({PARTITION: str(request.partition)})
            return await self._node.schedule(request)

    async def receive(self, request: messages.ReceiveRequest) -> messages.ReceiveResponse:
        if not request.traces:
            response = await self._node.receive(request)
            traces = self._note_leases(request.group_id, response.messages)
            if traces:
                with self._span("lease", "receive", response.messages[0].topic_id, traces) as span:
                    self._tell_of_leases(span, request, response)
            return response
        with self._span("lease", "receive", request.topic_ids[0], request.traces) as span:
            response = await self._node.receive(request)
            span.link(self._note_leases(request.group_id, response.messages))
            self._tell_of_leases(span, request, response)
            return response

    async def settle(self, request: messages.SettleRequest) -> messages.SettleResponse:
        traces = self._traces_of_leases(request)
        if not request.traces and not traces:
            return await self._node.settle(request)
        with self._span(request.action, "settle", request.topic_id, [*request.traces, *traces]) as span:
            span.note(
                {
                    PARTITION: str(request.partition),
                    GROUP: self._group(request.group_id),
                    MESSAGE_COUNT: len(request.items),
                }
            )
            if len(request.items) == 1:
                span.note({OFFSET: request.items[0].offset})
            if request.reason:
                span.note({"acklog.reason": request.reason})
            return await self._node.settle(request)

    @contextmanager
    def _span(self, operation: str, kind: str, topic_id: str, traces: list[str]) -> Iterator[Span]:
        topic = self._names.topic_by_id(topic_id)
        destination = topic_id if topic is None else topic.name
        with self._tracer.span(f"{operation} {destination}", SpanKind.INTERNAL, traces) as span:
            span.note(
                {
                    SYSTEM: SYSTEM_NAME,
                    OPERATION_NAME: operation,
                    OPERATION_TYPE: kind,
                    DESTINATION: destination,
                }
            )
            yield span

    def _group(self, group_id: str) -> str:
        group = self._names.group_by_id(group_id)
        return group_id if group is None else group.name

    def _tell_of_leases(self, span: Span, request: messages.ReceiveRequest, response: messages.ReceiveResponse) -> None:
        span.note({GROUP: self._group(request.group_id), MESSAGE_COUNT: len(response.messages)})
        if not response.messages:
            span.note({"acklog.reason": response.reason})
        if len(response.messages) == 1:
            [message] = response.messages
            span.note({PARTITION: str(message.partition), OFFSET: message.offset, ATTEMPT: message.attempt})
        again = [message for message in response.messages if message.attempt > 1]
        for message in again[:TRACES_MAX]:
            span.event("redelivery", {ATTEMPT: message.attempt, PARTITION: str(message.partition)})

    def _note_leases(self, group_id: str, delivered: Iterable[messages.DeliveredMessage]) -> list[str]:
        """The traces of the messages, as far as TRACES_MAX."""
        found: dict[str, None] = {}
        for message in delivered:
            trace = trace_of(message.record)
            if trace is not None:
                if len(found) < TRACES_MAX:
                    found[trace] = None
                if message.receipt:
                    self._remember((message.topic_id, message.partition, group_id, message.offset), trace)
        return list(found)

    def _remember(self, lease: _Lease, trace: str) -> None:
        self._leases[lease] = trace
        self._leases.move_to_end(lease)
        if len(self._leases) > self._leases_max:
            self._leases.popitem(last=False)

    def _traces_of_leases(self, request: messages.SettleRequest) -> list[str]:
        if not self._leases:
            return []
        found: dict[str, None] = {}
        for item in request.items:
            trace = self._leases.get((request.topic_id, request.partition, request.group_id, item.offset))
            if trace is not None and len(found) < TRACES_MAX:
                found[trace] = None
        return list(found)
