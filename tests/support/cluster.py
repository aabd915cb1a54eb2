"""Whole nodes and gateways on virtual time, with a store, a transport and disks in memory. A builder says what a test's
cluster is made of; nothing fails here but what the test makes fail. The simulation is for the rest."""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any, Self, TypeVar

import httpx2

from acklog.wire.batch import encode_batch
from acklog.wire.record import Record
from app.auth.tokens import TokenTable
from app.configuration.node_process_settings import NodeProcessSettings
from app.configuration.server_settings import Settings
from app.http.application import create_app
from app.processes.cluster_gateway import ClusterGateway, start_cluster_gateway
from app.processes.cluster_node import ClusterNode, start_cluster_node
from cluster.catalog.group_admin import GroupAdmin
from cluster.catalog.topic_admin import TopicAdmin
from cluster.errors import ServerError
from cluster.model.values import Group, GroupMode, GroupSettings, PartitionState, Topic, TopicConfig
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationStore
from cluster.ports.tracing import Tracer
from cluster.stores.memory_store import MemoryStore
from storage.encryption.master_key import NO_MASTER_KEYS, MasterKeys
from storage.node.partition.node_settings import NodeSettings
from storage.node.replicas.replica_host import ReplicaHost
from storage.node.storage_node import StorageNode
from storage.replication.replication_settings import ReplicationSettings
from storage.rpc import messages
from storage.rpc.transport import Listener, StreamHandler
from tests.sim.environment import FIRST_WALL_MS, MachineClock, SimClock, SimEntropy, SimExecutor
from tests.sim.loop import SimLoop, simulate
from tests.sim.sim_disk import SimDisk
from tests.support.flaky_store import FlakyStore
from tests.support.memory_transport import MemoryTransport
from tests.support.simulated_node import SMALL

_Result = TypeVar("_Result")
PATIENCE_MS = 60_000


class OwnConnection(FlakyStore):
    """One process's connection to the store that all share: closing it closes nothing of the others'."""

    is_closed = False

    async def close(self) -> None:
        self.is_closed = True


class ListeningTransport(MemoryTransport):
    refuse_listening = False

    async def listen(self, address: str, accept: Callable[[], StreamHandler]) -> Listener:
        if self.refuse_listening:
            raise OSError(f"{address} is in use")
        return await super().listen(address, accept)


class Cluster:
    """Nodes are started and stopped by their numbers; disks, store and clock stay. `nodes` are those that run."""

    def __init__(self, loop: SimLoop, settings: NodeSettings, replication: ReplicationSettings) -> None:
        self.clock: Clock = SimClock(MachineClock(loop))
        self.store = MemoryStore(self.clock)
        self.transport = ListeningTransport()
        self.disks: dict[int, SimDisk] = {}
        self.nodes: dict[int, ClusterNode] = {}
        self.gateways: list[ClusterGateway] = []
        self.tracer: Tracer | None = None
        """Of all processes, from their next start on."""
        self.ahead_ms: dict[int, int] = {}
        """How much the wall clocks of nodes are ahead of the others', from their next start on."""
        self.master_keys: MasterKeys = NO_MASTER_KEYS
        """Of all nodes, from their next start on."""
        self.settings = settings
        self._replication = replication
        self._loop = loop
        self._starts = 0

    # --- processes ---------------------------------------------------------------------------------------------------

    async def node(
        self,
        node_id: int,
        *,
        disk: SimDisk | None = None,
        connections: list[OwnConnection] | None = None,
        connection: CoordinationStore | None = None,
        **settings: Any,
    ) -> ClusterNode:
        """Started on the disk of its earlier life, unless another one is given. Its connection to the store is added to
        `connections`."""
        self._starts += 1
        own = OwnConnection(self.store)
        if connections is not None:
            connections.append(own)
        self.disks[node_id] = disk or self.disks.get(node_id) or SimDisk(seed=node_id)
        wall_ms = FIRST_WALL_MS + self.ahead_ms.get(node_id, 0)
        fixed = {"listen": f"node-{node_id}:7000", "replication": self._replication}
        node = await start_cluster_node(
            store=connection or own,
            transport=self.transport,
            disk=self.disks[node_id],
            io=SimExecutor(self._starts),
            clock=SimClock(MachineClock(self._loop, first_wall_ms=wall_ms)),
            entropy=SimEntropy(self._starts),
            settings=NodeProcessSettings(node_id=node_id, **{**fixed, **settings}),
            node_settings=self.settings,
            master_keys=self.master_keys,
            tracer=self.tracer,
        )
        self.nodes[node_id] = node
        return node

    async def start(self, *node_ids: int) -> None:
        for node_id in node_ids:
            await self.node(node_id)

    async def stop(self, *node_ids: int) -> None:
        for node_id in node_ids:
            await self.nodes.pop(node_id).close()
            self.disks[node_id].kill()

    async def wipe(self, node_id: int) -> None:
        """Another disk, for a node that is down."""
        self.disks[node_id] = SimDisk(seed=100 + node_id)

    async def gateway(
        self, *, connection: CoordinationStore | None = None, tokens: TokenTable | None = None, **settings: Any
    ) -> ClusterGateway:
        self._starts += 1
        gateway = await start_cluster_gateway(
            store=connection or OwnConnection(self.store),
            transport=self.transport,
            clock=self.clock,
            entropy=SimEntropy(self._starts),
            settings=Settings(**settings),
            tokens=tokens,
            tracer=self.tracer,
        )
        self.gateways.append(gateway)
        return gateway

    async def end(self, gateway: ClusterGateway) -> None:
        self.gateways.remove(gateway)
        await gateway.close()

    async def close(self) -> None:
        """Whatever runs still."""
        for gateway in list(self.gateways):
            await self.end(gateway)
        await self.stop(*list(self.nodes))

    # --- connections -------------------------------------------------------------------------------------------------

    def cut(self) -> None:
        """Nobody reaches anybody, until `mend`."""
        self.transport.is_cut = True
        self.break_connections()

    def mend(self) -> None:
        self.transport.is_cut = False

    def break_connections(self) -> None:
        """All that there are now; new ones can be made."""
        streams, self.transport.streams = self.transport.streams, []
        for stream in streams:
            stream.abort()

    # --- seeing ------------------------------------------------------------------------------------------------------

    async def until(self, condition: Callable[[], object], *, patience_ms: int = PATIENCE_MS) -> None:
        """AssertionError when it does not come about."""
        end_ms = self.clock.monotonic_ms() + patience_ms
        while not condition():
            assert self.clock.monotonic_ms() < end_ms, "waited in vain"
            await self.clock.sleep(5)

    def state(self, topic: Topic, partition: int = 0) -> PartitionState:
        """As the freshest view has it."""
        newest = max(self.nodes.values(), key=lambda node: node.metadata.revision)
        state = newest.metadata.partition(topic.id, partition)
        assert state is not None
        return state

    def leader(self, topic: Topic, partition: int = 0) -> StorageNode:
        return self.nodes[self.state(topic, partition).leader].node

    def replica(self, node_id: int, topic: Topic, partition: int = 0) -> ReplicaHost:
        replicas = self.nodes[node_id].node.replicas()
        [found] = [each for each in replicas if (each.topic.id, each.number) == (topic.id, partition)]
        return found

    async def in_sync(self, topic: Topic) -> None:
        """Until every replica of every partition is."""
        await self.until(
            lambda: all(
                set(self.state(topic, number).isr) == set(self.state(topic, number).replicas)
                for number in range(topic.partitions)
            )
        )

    async def records(self, node_id: int, topic: Topic, partition: int = 0) -> list[bytes]:
        """What the replica on this node holds of the messages, committed or not."""
        log = self.replica(node_id, topic, partition).logs[0]
        found = await log.read(log.log_start, max_bytes=1 << 24)
        return [stored.data for stored in found]

    # --- doing -------------------------------------------------------------------------------------------------------

    async def topic(self, name: str = "orders", *, replicas: int = 3, partitions: int = 1, **config: Any) -> Topic:
        """All that runs has heard of it."""
        node = next(iter(self.nodes.values()))
        topics = TopicAdmin(self.store, node.metadata, clock=self.clock, entropy=SimEntropy(f"topic {name}"))
        topic = await topics.create(
            name, partitions=partitions, config=TopicConfig(**config), replication_factor=replicas
        )
        views = [each.metadata for each in (*self.nodes.values(), *self.gateways)]
        await self.until(lambda: all(len(view.partitions(topic.id)) == partitions for view in views))
        return topic

    async def group(self, name: str = "workers", **settings: Any) -> Group:
        node = next(iter(self.nodes.values()))
        groups = GroupAdmin(self.store, node.metadata, clock=self.clock, entropy=SimEntropy(f"group {name}"))
        group = await groups.create(name, mode=GroupMode.SHARED, settings=GroupSettings(**settings))
        views = [each.metadata for each in (*self.nodes.values(), *self.gateways)]
        await self.until(lambda: all(view.group_by_id(group.id) for view in views))
        return group

    async def send(
        self,
        topic: Topic,
        *bodies: bytes,
        partition: int = 0,
        acks: int = -1,
        timeout_ms: int = 5_000,
        source: tuple[int, int] | None = None,
        is_retry: bool = False,
    ) -> messages.ProduceResponse:
        """To whoever leads now, and follow the leadership while nothing was done."""
        producer = {} if source is None else {"producer_id": source[0], "producer_epoch": 0, "base_sequence": source[1]}
        batch = encode_batch([Record(body) for body in bodies], **producer)  # type: ignore[arg-type]

        async def produce() -> messages.ProduceResponse:
            return await self.leader(topic, partition).produce(
                messages.ProduceRequest(topic.id, partition, bytearray(batch), acks, timeout_ms, is_retry)
            )

        return await self.following(produce)

    async def following(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """What the call returns, made again while nobody leads."""
        deadline_ms = self.clock.monotonic_ms() + PATIENCE_MS // 2
        while True:
            try:
                return await call()
            except (KeyError, ServerError) as error:
                is_elsewhere = isinstance(error, KeyError) or error.code.name == "UNAVAILABLE"
                if not is_elsewhere or self.clock.monotonic_ms() >= deadline_ms:
                    raise
                await self.clock.sleep(20)

    async def receive(self, topic: Topic, group: Group, count: int = 1000) -> list[messages.DeliveredMessage]:
        """From the leader of partition 0."""
        request = messages.ReceiveRequest([topic.id], group.id, "", count, 1 << 20, visibility_ms=600_000)
        answer = await self.following(lambda: self.leader(topic).receive(request))
        return list(answer.messages)

    async def ack(self, topic: Topic, group: Group, delivered: list[messages.DeliveredMessage]) -> list[str]:
        items = [messages.SettleItem(each.offset, 0, each.leader_epoch, each.attempt) for each in delivered]
        request = messages.SettleRequest(topic.id, 0, group.id, "ack", items)
        return list((await self.following(lambda: self.leader(topic).settle(request))).results)


class ClusterBuilder:
    """`ClusterBuilder().nodes(3).gateway().run(main)` calls `main(cluster)` with that much of it started; whatever runs
    at the end of `main` is closed."""

    def __init__(self) -> None:
        self._nodes: dict[int, dict[str, Any]] = {}
        self._gateways: list[dict[str, Any]] = []
        self._settings = SMALL
        self._replication = ReplicationSettings()
        self._tracer: Tracer | None = None
        self._master_keys = NO_MASTER_KEYS

    def nodes(self, count: int, **settings: Any) -> Self:
        """Node 1 and so on; `settings` are all nodes' `NodeProcessSettings`."""
        for node_id in range(1, count + 1):
            self._nodes[node_id] = settings
        return self

    def racks(self, *racks: str) -> Self:
        """Of node 1, node 2 and so on."""
        for node_id, rack in enumerate(racks, start=1):
            self._nodes[node_id] = {**self._nodes.get(node_id, {}), "rack": rack}
        return self

    def gateway(self, **settings: Any) -> Self:
        """One more. `settings` are `Settings`, and `tokens` is who may use it."""
        self._gateways.append(settings)
        return self

    def traced(self, tracer: Tracer) -> Self:
        self._tracer = tracer
        return self

    def encrypting(self, master_keys: MasterKeys) -> Self:
        self._master_keys = master_keys
        return self

    def storing(self, settings: NodeSettings) -> Self:
        self._settings = settings
        return self

    def replicating(self, **settings: Any) -> Self:
        """Fields of `ReplicationSettings`."""
        self._replication = replace(self._replication, **settings)
        return self

    def run(self, main: Callable[[Cluster], Coroutine[Any, Any, _Result]]) -> _Result:
        """On a simulated loop."""

        async def whole(loop: SimLoop) -> _Result:
            cluster = Cluster(loop, self._settings, self._replication)
            cluster.tracer = self._tracer
            cluster.master_keys = self._master_keys
            for node_id, settings in self._nodes.items():
                await cluster.node(node_id, **settings)
            for settings in self._gateways:
                await cluster.gateway(**settings)
            result = await main(cluster)
            await cluster.close()
            return result

        result, _ = simulate(1, whole)
        return result


def client_of(gateway: ClusterGateway, *, token: str = "") -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(app=create_app(gateway.gateway), raise_app_exceptions=False)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx2.AsyncClient(transport=transport, base_url="http://gateway", timeout=None, headers=headers)
