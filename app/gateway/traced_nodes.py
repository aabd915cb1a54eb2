"""A node directory for a process that is traced: whom it asks for something, it tells what that is a part of."""

from app.gateway.dependencies import NodeDirectory
from cluster.ports.tracing import Tracer
from storage.rpc.node_api import NodeApi
from storage.rpc.traced_caller import TracedCaller


class TracedNodes:
    """`app.gateway.dependencies.NodeDirectory` around another one."""

    def __init__(self, nodes: NodeDirectory, tracer: Tracer) -> None:
        self._nodes = nodes
        self._tracer = tracer

    def client(self, node_id: int) -> NodeApi:
        """Raises ServerError UNAVAILABLE for a node that is not known."""
        return TracedCaller(self._nodes.client(node_id), self._tracer)
