"""The node directory of a storage node: itself without a connection, all others over one."""

from app.gateway.dependencies import NodeDirectory
from storage.rpc.node_api import NodeApi


class NodesWithSelf:
    """`attach` the node once it is made; before that it is looked for among the others."""

    def __init__(self, node_id: int, others: NodeDirectory) -> None:
        self._node_id = node_id
        self._others = others
        self._itself: NodeApi | None = None

    def attach(self, itself: NodeApi) -> None:
        self._itself = itself

    def client(self, node_id: int) -> NodeApi:
        """Raises ServerError UNAVAILABLE for a node that is not known."""
        if node_id == self._node_id and self._itself is not None:
            return self._itself
        return self._others.client(node_id)
