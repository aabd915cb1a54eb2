"""The embedded server: gateway, storage node and controller in one process, SQLite where a cluster has etcd.

Same code, same API, same durability as a cluster; only the composition differs, and it is all here.
"""

from dataclasses import dataclass

from app.auth.tokens import TokenTable
from app.dependencies import Gateway
from app.settings import Settings
from app.shutdown import Shutdown
from cluster.clock import Clock
from cluster.controller.embedded import EmbeddedController
from cluster.coordination import CoordinationStore
from cluster.entropy import Entropy
from cluster.errors import AcklogError
from cluster.groups import Groups
from cluster.metadata_view import MetadataView
from cluster.registration import Registration
from cluster.topics import Topics
from acklog.wire.problems import ProblemCode
from storage.disk.executor import IoExecutor
from storage.disk.port import Disk
from storage.node.dead_letter_topics import DeadLetterTopics
from storage.node.settings import NodeSettings
from storage.node.storage_node import StorageNode
from storage.rpc.in_process import InProcessNode
from storage.rpc.node_api import NodeApi

NODE_ID = 1


class LocalNodes:
    """The node directory of a process that is its own only node."""

    def __init__(self) -> None:
        self._client: NodeApi | None = None

    def attach(self, node: NodeApi) -> None:
        self._client = node

    def client(self, node_id: int) -> NodeApi:
        if self._client is None or node_id != NODE_ID:
            raise AcklogError(ProblemCode.UNAVAILABLE, f"There is no node {node_id}.", retry_after_ms=1000)
        return self._client


@dataclass(slots=True)
class EmbeddedServer:
    """Started by `start_embedded`. `gateway` goes to `create_app`."""

    gateway: Gateway
    node: StorageNode
    metadata: MetadataView
    controller: EmbeddedController
    registration: Registration
    store: CoordinationStore

    async def close(self) -> None:
        """Stop gracefully: long polls answered, writes completed, state checkpointed."""
        self.gateway.shutdown.begin()
        await self.node.close()
        await self.controller.close()
        await self.registration.close()
        await self.metadata.close()
        await self.store.close()
