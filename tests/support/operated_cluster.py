"""A gateway over real controllers, registrars and a metadata view; its nodes hold no data."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx2

from app.auth.tokens import TokenTable
from app.gateway.dependencies import Gateway
from app.http.application import create_app
from cluster.catalog.cluster_admin import ClusterAdmin
from cluster.catalog.group_admin import GroupAdmin
from cluster.catalog.namespace_admin import NamespaceAdmin
from cluster.catalog.producer_admin import ProducerAdmin
from cluster.catalog.queue_admin import QueueAdmin
from cluster.catalog.recurring_admin import RecurringAdmin
from cluster.catalog.redrive_admin import RedriveAdmin
from cluster.catalog.token_admin import TokenAdmin
from cluster.model.values import Topic
from storage.rpc.node_api import NodeApi
from tests.support.controlled_cluster import ControlledCluster
from tests.support.counting_entropy import CountingEntropy
from tests.support.flaky_store import FlakyStore
from tests.support.memory_node import MemoryNode

ROUND_MS = 1_100


class EveryNode:
    """One memory node answers for all."""

    def __init__(self) -> None:
        self.node = MemoryNode()

    def client(self, node_id: int) -> NodeApi:
        return self.node


@dataclass
class OperatedCluster:
    """`store` is the gateway's own connection to the coordination store, which a test may cut."""

    controlled: ControlledCluster
    store: FlakyStore
    gateway: Gateway
    client: httpx2.AsyncClient

    @classmethod
    @asynccontextmanager
    async def open(cls, *, nodes: int = 3, tokens: TokenTable | None = None) -> AsyncIterator["OperatedCluster"]:
        """So many nodes, each in a rack of its own, node 1 the controller."""
        controlled = await ControlledCluster.open()
        for node_id in range(1, nodes + 1):
            await controlled.start_node(node_id, rack=f"rack-{node_id}")
        store, clock, entropy = FlakyStore(controlled.store), controlled.clock, CountingEntropy()
        gateway = Gateway(
            metadata=controlled.metadata,
            topics=controlled.topics,
            groups=GroupAdmin(store, controlled.metadata, clock=clock, entropy=entropy),
            producers=ProducerAdmin(store, controlled.metadata, clock=clock, entropy=entropy),
            recurring=RecurringAdmin(store, controlled.metadata, clock=clock, entropy=entropy),
            redrives=RedriveAdmin(store, controlled.metadata, clock=clock, entropy=entropy),
            stored_tokens=TokenAdmin(store, controlled.metadata, clock=clock, entropy=entropy),
            namespaces=NamespaceAdmin(store, controlled.metadata, clock=clock, entropy=entropy),
            queues=QueueAdmin(store, controlled.metadata, clock=clock, entropy=entropy),
            steering=ClusterAdmin(store, controlled.metadata, clock=clock),
            nodes=EveryNode(),
            clock=clock,
            entropy=entropy,
            tokens=tokens,
        )
        transport = httpx2.ASGITransport(app=create_app(gateway), raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url="http://gateway") as client:
            yield cls(controlled, store, gateway, client)
        await controlled.close()

    async def orders(self, *, partitions: int = 3, replicas: int = 2, min_isr: int = 1) -> Topic:
        return await self.controlled.create("orders", partitions=partitions, replicas=replicas, min_isr=min_isr)

    async def go_on(self) -> None:
        """Until the controller has looked at everything once more."""
        await self.controlled.clock.advance_ms(ROUND_MS)
