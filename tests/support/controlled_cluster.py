"""Real controllers, registrars and a view on one store in memory, with a manual clock: a cluster without data."""

from dataclasses import dataclass, field

from cluster.catalog.topic_admin import TopicAdmin
from cluster.controller.controller_settings import ControllerSettings
from cluster.controller.host import ControllerHost
from cluster.controller.planner_settings import PlannerSettings
from cluster.life.election import ElectionSettings
from cluster.life.registration import NodeRegistrar
from cluster.metadata.metadata_view import MetadataView
from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.values import ControllerClaim, NodeRegistration, PartitionState, Topic, TopicConfig
from cluster.ports.coordination import KeyValue
from cluster.stores.memory_store import MemoryStore
from tests.support.counting_entropy import CountingEntropy
from tests.support.flaky_store import FlakyStore
from tests.support.manual_clock import ManualClock, settle

SETTINGS = ControllerSettings(
    planner=PlannerSettings(
        repair_delay_ms=60_000, preferred_delay_ms=5_000, balance_delay_ms=10_000, round_interval_ms=1_000
    ),
    election=ElectionSettings(ttl_ms=3_000, margin_ms=700, keep_alive_interval_ms=700),
)


@dataclass
class Node:
    """What a storage node does towards the store; `store` is its own connection, which a test may cut."""

    registration: NodeRegistration
    store: FlakyStore
    registrar: NodeRegistrar
    host: ControllerHost


@dataclass
class ControlledCluster:
    clock: ManualClock
    store: MemoryStore
    metadata: MetadataView
    topics: TopicAdmin
    settings: ControllerSettings = SETTINGS
    nodes: dict[int, Node] = field(default_factory=dict)
    retired: list[Node] = field(default_factory=list)

    @classmethod
    async def open(cls, settings: ControllerSettings = SETTINGS) -> "ControlledCluster":
        clock = ManualClock()
        store = MemoryStore(clock)
        metadata = MetadataView(store, clock)
        await metadata.start()
        topics = TopicAdmin(store, metadata, clock=clock, entropy=CountingEntropy())
        return cls(clock, store, metadata, topics, settings)

    async def close(self) -> None:
        for node in [*self.nodes.values(), *self.retired]:
            node.store.before.clear()
            await node.host.close()
            await node.registrar.close()
        await self.metadata.close()
        await self.store.close()

    async def start_node(self, node_id: int, *, incarnation: int = 1, directory: str = "", rack: str = "") -> Node:
        directory = directory or f"directory-{node_id}"
        registration = NodeRegistration(node_id, incarnation, directory, f"node-{node_id}:7000", rack)
        store = FlakyStore(self.store)
        registrar = NodeRegistrar(store, registration, clock=self.clock, on_change=lambda _: None)
        host = ControllerHost(store, ControllerClaim(node_id, incarnation), clock=self.clock, settings=self.settings)
        node = Node(registration, store, registrar, host)
        await registrar.start()
        host.start()
        if node_id in self.nodes:
            self.retired.append(self.nodes[node_id])
        self.nodes[node_id] = node
        await settle(50)
        return node

    async def stop_node(self, node_id: int) -> None:
        node = self.nodes.pop(node_id)
        await node.host.close()
        await node.registrar.close()
        await settle(50)

    async def create(self, name: str, *, partitions: int = 1, replicas: int = 3, min_isr: int = 1) -> Topic:
        config = TopicConfig(min_insync_replicas=min_isr)
        topic = await self.topics.create(name, partitions=partitions, config=config, replication_factor=replicas)
        await settle(50)
        return topic

    async def item(self, key: str) -> KeyValue:
        item = await self.store.get(key)
        assert item is not None
        return item

    async def state(self, topic: Topic, partition: int = 0) -> PartitionState:
        return decode(PartitionState, (await self.item(keys.partition(topic.id, partition))).value)

    def controllers(self) -> list[int]:
        return [node_id for node_id, node in self.nodes.items() if node.host.is_controller]
