"""One connection to each node of the cluster, by the addresses that the nodes registered."""

import asyncio
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model.values import NodeRegistration


class Connection(Protocol):
    async def close(self) -> None: ...


_Connection = TypeVar("_Connection", bound=Connection)


class NodeConnections(Generic[_Connection]):
    """Made by `following`. `connect` makes the connection to a node that is registered, which dials when it is first
    used. `close` them at the end.

    A node that registers anew gets a new connection at once: the old one leads to a process that is gone, and whoever
    still waits on it learns that. One whose registration ends keeps its connection until then: leases also end because
    the coordination store was away, while the node lives and leads.
    """

    def __init__(self, metadata: MetadataView, connect: Callable[[NodeRegistration], _Connection]) -> None:
        """For `following` only."""
        self._metadata = metadata
        self._connect = connect
        self._open: dict[int, tuple[NodeRegistration, _Connection]] = {}
        self._closing: dict[asyncio.Task[None], None] = {}
        self._is_closed = False
        self._unsubscribe: Callable[[], None] = lambda: None

    @classmethod
    def following(
        cls, metadata: MetadataView, connect: Callable[[NodeRegistration], _Connection]
    ) -> "NodeConnections[_Connection]":
        connections = cls(metadata, connect)
        connections._unsubscribe = metadata.subscribe(connections._metadata_changed)
        return connections

    def to(self, node_id: int) -> _Connection:
        """Raises ServerError UNAVAILABLE for a node that has not registered as long as this process lives."""
        found = self._open.get(node_id)
        if found is not None:
            return found[1]
        if self._is_closed:
            raise ServerError(ProblemCode.UNAVAILABLE, "the connections to the nodes are closed")
        registration = self._metadata.node(node_id)
        if registration is None:
            raise ServerError(ProblemCode.UNAVAILABLE, f"node {node_id} is not registered")
        connection = self._connect(registration)
        self._open[node_id] = registration, connection
        return connection

    async def close(self) -> None:
        self._is_closed = True
        self._unsubscribe()
        for node_id in list(self._open):
            self._retire(node_id)
        await asyncio.gather(*self._closing)

    def _metadata_changed(self) -> None:
        for node_id, (registration, _) in list(self._open.items()):
            present = self._metadata.node(node_id)
            if present is not None and not _is_same_process(present, registration):
                self._retire(node_id)

    def _retire(self, node_id: int) -> None:
        _, connection = self._open.pop(node_id)
        task = asyncio.get_running_loop().create_task(connection.close())
        self._closing[task] = None
        task.add_done_callback(self._closing.pop)


def _is_same_process(one: NodeRegistration, other: NodeRegistration) -> bool:
    return (one.incarnation, one.address) == (other.incarnation, other.address)
