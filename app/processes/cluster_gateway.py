"""A gateway of a cluster: no state of its own, so any of them serves any request.

Composition over ports and nothing else, so that a simulation runs the very same gateway.
"""

from contextlib import AsyncExitStack
from dataclasses import dataclass

from prometheus_client.registry import Collector

from app.auth.callers import SignedTokens
from app.auth.tokens import TokenTable
from app.configuration.server_settings import Settings
from app.gateway.batching.batch_numbers import BatchNumbers
from app.gateway.dependencies import Gateway, InThread
from app.gateway.remote_nodes import RemoteNodes
from app.gateway.traced_nodes import TracedNodes
from app.processes.earlier_nodes import name_earlier_nodes
from cluster.catalog.cluster_admin import ClusterAdmin
from cluster.catalog.group_admin import GroupAdmin
from cluster.catalog.namespace_admin import NamespaceAdmin
from cluster.catalog.producer_admin import ProducerAdmin
from cluster.catalog.queue_admin import QueueAdmin
from cluster.catalog.recurring_admin import RecurringAdmin
from cluster.catalog.redrive_admin import RedriveAdmin
from cluster.catalog.token_admin import TokenAdmin
from cluster.catalog.topic_admin import TopicAdmin
from cluster.metadata.metadata_view import MetadataView
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationStore
from cluster.ports.entropy import Entropy
from cluster.ports.tracing import Tracer
from storage.rpc.rpc_settings import RpcClientSettings
from storage.rpc.transport import NodeTransport


@dataclass(slots=True, eq=False)
class ClusterGateway:
    """Made by `start_cluster_gateway`. `gateway` goes to `create_app`."""

    gateway: Gateway
    metadata: MetadataView
    nodes: RemoteNodes
    store: CoordinationStore
    parts: AsyncExitStack

    def begin_shutdown(self) -> None:
        """Answer the long polls and refuse new work; requests under way go on."""
        self.gateway.shutdown.begin()

    async def close(self) -> None:
        """Hang up. No request may be under way any more."""
        self.begin_shutdown()
        await self.gateway.shutdown.end()
        await self.parts.aclose()


async def start_cluster_gateway(
    *,
    store: CoordinationStore,
    transport: NodeTransport,
    clock: Clock,
    entropy: Entropy,
    settings: Settings,
    rpc_client: RpcClientSettings | None = None,
    tokens: TokenTable | None = None,
    signed: SignedTokens | None = None,
    in_thread: InThread | None = None,
    collectors: tuple[Collector, ...] = (),
    tracer: Tracer | None = None,
) -> ClusterGateway:
    """Know the cluster and be ready to serve. `store` is the gateway's from here on: it is closed with it, also when
    the start fails. Waits for a coordination store that cannot be reached; raises CoordinationError."""
    async with AsyncExitStack() as parts:
        parts.push_async_callback(store.close)
        metadata = MetadataView(store, clock)
        parts.push_async_callback(metadata.close)
        await metadata.start()
        rpc_settings = rpc_client or RpcClientSettings()
        parts.callback(name_earlier_nodes(metadata, own_protocol=rpc_settings.versions.newest))
        nodes = RemoteNodes(metadata, transport, clock=clock, entropy=entropy, settings=rpc_settings)
        parts.push_async_callback(nodes.close)
        gateway = Gateway(
            metadata=metadata,
            topics=TopicAdmin(store, metadata, clock=clock, entropy=entropy),
            groups=GroupAdmin(store, metadata, clock=clock, entropy=entropy),
            producers=ProducerAdmin(store, metadata, clock=clock, entropy=entropy),
            recurring=RecurringAdmin(store, metadata, clock=clock, entropy=entropy),
            redrives=RedriveAdmin(store, metadata, clock=clock, entropy=entropy),
            stored_tokens=TokenAdmin(store, metadata, clock=clock, entropy=entropy),
            namespaces=NamespaceAdmin(store, metadata, clock=clock, entropy=entropy),
            queues=QueueAdmin(store, metadata, clock=clock, entropy=entropy),
            steering=ClusterAdmin(store, metadata, clock=clock),
            nodes=nodes if tracer is None else TracedNodes(nodes, tracer),
            clock=clock,
            entropy=entropy,
            settings=settings,
            tokens=tokens,
            signed=signed,
            in_thread=in_thread,
            collectors=collectors,
            tracer=tracer,
            batch_numbers=BatchNumbers(entropy),
        )
        return ClusterGateway(gateway, metadata, nodes, store, parts.pop_all())
    raise AssertionError("unreachable: no part of a start suppresses a failure")
