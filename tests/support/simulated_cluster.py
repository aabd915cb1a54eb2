"""Several storage nodes on virtual time with everything around them in memory, for directed tests of replication."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from acklog.wire.batch import encode_batch
from acklog.wire.record import Record
from app.configuration.node_process_settings import NodeProcessSettings
from app.processes.cluster_node import ClusterNode, start_cluster_node
from cluster.catalog.group_admin import GroupAdmin
from cluster.catalog.topic_admin import TopicAdmin
from cluster.errors import ServerError
from cluster.model.values import Group, GroupMode, GroupSettings, PartitionState, Topic, TopicConfig
from cluster.ports.clock import Clock
from cluster.stores.memory_store import MemoryStore
from storage.node.partition.node_settings import NodeSettings
from storage.node.replicas.replica_host import ReplicaHost
from storage.node.storage_node import StorageNode
from storage.replication.replication_settings import ReplicationSettings
from storage.rpc import messages
from tests.sim.environment import FIRST_WALL_MS, MachineClock, SimClock, SimEntropy, SimExecutor
from tests.sim.loop import SimLoop, simulate
from tests.sim.sim_disk import SimDisk
from tests.support.memory_transport import MemoryTransport
from tests.support.simulated_node import SMALL

WAIT_MS = 30_000


class _Shared(MemoryStore):
    """One store for all nodes: none of them closes it."""

    async def close(self) -> None:
        return


class SimulatedCluster:
    """`start` and `stop` nodes by number; disks, store and clock stay. Nodes that are down keep their data."""

    def __init__(self, loop: SimLoop, *, nodes: int, settings: NodeSettings, replication: ReplicationSettings) -> None:
        self._loop = loop
        self.machine_clock = MachineClock(loop)
        self.clock: Clock = SimClock(self.machine_clock)
        self.store = _Shared(self.clock)
        self.transport = MemoryTransport()
        self.disks = {number: SimDisk(seed=number) for number in range(1, nodes + 1)}
        self.nodes: dict[int, ClusterNode] = {}
        self.ahead_ms: dict[int, int] = {}
        """How much the wall clocks of nodes are ahead of the others', from their next start on."""
        self.settings = settings
        self._replication = replication
        self._starts = 0

    async def start(self, *numbers: int) -> None:
        for number in numbers:
            self._starts += 1
            wall_ms = FIRST_WALL_MS + self.ahead_ms.get(number, 0)
            clock = SimClock(MachineClock(self._loop, first_wall_ms=wall_ms))
            entropy = SimEntropy(self._starts)
            self.nodes[number] = await start_cluster_node(
                store=self.store,
                transport=self.transport,
                disk=self.disks[number],
                io=SimExecutor(self._starts),
                clock=clock,
                entropy=entropy,
                settings=NodeProcessSettings(node_id=number, listen=f"node-{number}:1", replication=self._replication),
                node_settings=self.settings,
            )

    async def stop(self, *numbers: int) -> None:
        for number in numbers:
            await self.nodes.pop(number).close()
            self.disks[number].kill()

    def cut(self) -> None:
        """Nobody reaches anybody, until `mend`."""
        self.transport.is_cut = True
        for stream in list(self.transport.streams):
            stream.abort()

    def mend(self) -> None:
        self.transport.is_cut = False

    async def wipe(self, number: int) -> None:
        """Another disk, for a node that is down."""
        self.disks[number] = SimDisk(seed=100 + number)

    # --- short ways to do things -------------------------------------------------------------------------------------

    async def topic(self, name: str = "orders", *, replicas: int = 3, partitions: int = 1, **config: Any) -> Topic:
        node = next(iter(self.nodes.values()))
        topics = TopicAdmin(self.store, node.metadata, clock=self.clock, entropy=SimEntropy(99))
        topic = await topics.create(
            name, partitions=partitions, config=TopicConfig(**config), replication_factor=replicas
        )
        await self.until(
            lambda: all(len(each.metadata.partitions(topic.id)) == partitions for each in self.nodes.values())
        )
        return topic

    async def group(self, name: str = "workers", **settings: Any) -> Group:
        node = next(iter(self.nodes.values()))
        groups = GroupAdmin(self.store, node.metadata, clock=self.clock, entropy=SimEntropy(98))
        group = await groups.create(name, mode=GroupMode.SHARED, settings=GroupSettings(**settings))
        await self.until(lambda: all(each.metadata.group_by_id(group.id) for each in self.nodes.values()))
        return group

    async def until(self, condition: Callable[[], object]) -> None:
        """AssertionError when it does not come about."""
        deadline_ms = self.clock.monotonic_ms() + WAIT_MS
        while not condition():
            assert self.clock.monotonic_ms() < deadline_ms, "waited in vain"
            await self.clock.sleep(5)

    def state(self, topic: Topic, partition: int = 0) -> PartitionState:
        """As the freshest view has it."""
        newest = max(self.nodes.values(), key=lambda node: node.metadata.revision)
        state = newest.metadata.partition(topic.id, partition)
        assert state is not None
        return state

    def leader(self, topic: Topic, partition: int = 0) -> StorageNode:
        return self.nodes[self.state(topic, partition).leader].node

    def replica(self, number: int, topic: Topic, partition: int = 0) -> ReplicaHost:
        [found] = [
            each for each in self.nodes[number].node.replicas() if (each.topic.id, each.number) == (topic.id, partition)
        ]
        return found

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
        deadline_ms = self.clock.monotonic_ms() + WAIT_MS
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

    async def records(self, number: int, topic: Topic, partition: int = 0) -> list[bytes]:
        """What the replica on this node holds of the messages, committed or not."""
        log = self.replica(number, topic, partition).logs[0]
        found = await log.read(log.log_start, max_bytes=1 << 24)
        return [stored.data for stored in found]


def with_cluster(
    main: Callable[[SimulatedCluster], Awaitable[None]],
    *,
    nodes: int = 3,
    settings: NodeSettings = SMALL,
    replication: ReplicationSettings | None = None,
    **replication_settings: int,
) -> None:
    """Run `main(cluster)` on a simulated loop, with all nodes started."""
    chosen = replace(replication or ReplicationSettings(), **replication_settings)

    async def run(loop: SimLoop) -> None:
        cluster = SimulatedCluster(loop, nodes=nodes, settings=settings, replication=chosen)
        await cluster.start(*cluster.disks)
        await main(cluster)
        await cluster.stop(*list(cluster.nodes))

    simulate(1, run)
