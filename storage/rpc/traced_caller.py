"""The caller's end of a node whose calls are recorded: it says what each of them is a part of."""

from msgspec.structs import replace

from cluster.ports.tracing import Tracer
from storage.rpc import messages
from storage.rpc.node_api import NodeApi, ProduceWaiter
from storage.rpc.passing_node import PassingNode


class TracedCaller(PassingNode):
    def __init__(self, node: NodeApi, tracer: Tracer) -> None:
        super().__init__(node)
        self._tracer = tracer

    async def produce(self, request: messages.ProduceRequest) -> messages.ProduceResponse:
        traces = self._tracer.carried()
        return await self._node.produce(replace(request, traces=traces) if traces else request)

    def begin_produce(self, request: messages.ProduceRequest, waiter: ProduceWaiter) -> bool:
        """What is traced takes the other way, on which there is room for a span."""
        return not self._tracer.carried() and self._node.begin_produce(request, waiter)

    async def schedule(self, request: messages.ProduceRequest) -> messages.ProduceResponse:
        traces = self._tracer.carried()
        return await self._node.schedule(replace(request, traces=traces) if traces else request)

    async def receive(self, request: messages.ReceiveRequest) -> messages.ReceiveResponse:
        traces = self._tracer.carried()
        return await self._node.receive(replace(request, traces=traces) if traces else request)

    async def settle(self, request: messages.SettleRequest) -> messages.SettleResponse:
        traces = self._tracer.carried()
        return await self._node.settle(replace(request, traces=traces) if traces else request)
