"""A storage node on virtual time with everything around it in memory, for directed tests."""

import random
from hashlib import blake2b
from typing import Any

from acklog.wire.batch import DedupKey, decode_records, encode_batch, verify
from acklog.wire.record import Record
from cluster.catalog.group_admin import GroupAdmin
from cluster.catalog.topic_admin import TopicAdmin
from cluster.controller.embedded import EmbeddedController
from cluster.metadata.metadata_view import MetadataView
from cluster.model.values import Group, GroupMode, GroupSettings, Topic, TopicConfig
from cluster.ports.clock import Clock
from cluster.stores.memory_store import MemoryStore
from storage.encryption.master_key import NO_MASTER_KEYS, MasterKeys
from storage.log.log_settings import LogStoreSettings
from storage.node.groups.dead_letter_topics import DeadLetterTopics
from storage.node.node_ports import NodePorts
from storage.node.partition.node_settings import NodeSettings
from storage.node.replicas.no_peers import NoPeers
from storage.node.storage_node import StorageNode
from storage.rpc import messages
from storage.schedule.memory_index import IN_MEMORY
from storage.schedule.schedule_index import ScheduleIndexes
from storage.table.memory_table_index import MemoryTableIndexes
from storage.table.table_index import TableIndexes
from tests.sim.environment import MachineClock, SimClock, SimEntropy, SimExecutor
from tests.sim.loop import SimLoop, simulate
from tests.sim.sim_disk import SimDisk

SMALL = NodeSettings(
    log_store=LogStoreSettings(journal_file_bytes=256 * 1024, reserve_bytes=0, ballast_bytes=0),
    retention_interval_ms=1000,
)


class SimulatedNode:
    """`start` and `stop` (or `kill`) as often as a test wants; disk, store and clock stay."""

    def __init__(self, loop: SimLoop, settings: NodeSettings = SMALL) -> None:
        self.loop = loop
        self.machine_clock = MachineClock(loop)
        self.clock: Clock = SimClock(self.machine_clock)
        self.entropy = SimEntropy(1)
        self.disk = SimDisk(seed=1)
        self.store = MemoryStore(self.clock)
        self.settings = settings
        self.schedule_indexes: ScheduleIndexes = IN_MEMORY
        self.table_indexes: TableIndexes = MemoryTableIndexes()
        self.master_keys: MasterKeys = NO_MASTER_KEYS

    async def start(self) -> None:
        self.clock = SimClock(self.machine_clock)
        self.metadata = MetadataView(self.store, self.clock)
        await self.metadata.start()
        self.controller = EmbeddedController(self.store, node_id=1, clock=self.clock)
        incarnation = await self.controller.start()
        await self.metadata.wait_for((await self.store.list("/")).revision)
        self.topics = TopicAdmin(self.store, self.metadata, clock=self.clock, entropy=self.entropy)
        self.groups = GroupAdmin(self.store, self.metadata, clock=self.clock, entropy=self.entropy)
        self.executor = SimExecutor(incarnation)
        self.node = await StorageNode.open(
            NodePorts(
                store=self.store,
                metadata=self.metadata,
                dead_letters=DeadLetterTopics(self.topics, self.metadata, lambda _: self.node, clock=self.clock),
                peers=NoPeers(),
                disk=self.disk,
                io=self.executor,
                clock=self.clock,
                entropy=self.entropy,
                schedule_indexes=self.schedule_indexes,
                table_indexes=self.table_indexes,
                master_keys=self.master_keys,
                client_of=lambda _: self.node,
            ),
            node_id=1,
            incarnation=incarnation,
            settings=self.settings,
        )

    async def stop(self) -> None:
        await self.node.close()
        await self._leave()

    async def lose_power(self) -> None:
        """Whatever was not synced is kept, dropped or torn."""
        self.executor.kill()  # nothing of what the process still does reaches the disk
        self.disk.power_loss(random.Random(7))
        await self._leave()

    async def _leave(self) -> None:
        await self.controller.close()
        await self.metadata.close()
        self.disk.kill()

    # --- short ways to do things -----------------------------------------------------------------------------------

    async def topic(self, name: str = "orders", *, partitions: int = 1, **config: Any) -> Topic:
        topic = await self.topics.create(
            name, partitions=partitions, config=TopicConfig(**config), replication_factor=1
        )
        while len(self.metadata.partitions(topic.id)) < partitions:
            await self.clock.sleep(1)
        return topic

    async def group(self, name: str = "workers", **settings: Any) -> Group:
        return await self.groups.create(name, mode=GroupMode.SHARED, settings=GroupSettings(**settings))

    async def send(
        self,
        topic: Topic,
        *bodies: bytes,
        partition: int = 0,
        keys: list[str] | None = None,
        run_key: str | None = None,
        mapping: int = messages.ANY_MAPPING,
    ) -> messages.ProduceResponse:
        """`keys` are the first messages' own, `run_key` covers all of them."""
        dedup = [DedupKey(index, key, bodies[index][:8].ljust(8)) for index, key in enumerate(keys or [])]
        if run_key is not None:
            dedup.append(DedupKey(0, run_key, blake2b(b"\n".join(bodies), digest_size=8).digest(), len(bodies)))
        batch = encode_batch([Record(body) for body in bodies], keys=dedup)
        return await self.node.produce(messages.ProduceRequest(topic.id, partition, batch, mapping=mapping))

    async def receive(self, topic: Topic, group: Group, **options: Any) -> messages.ReceiveResponse:
        options = {"max_messages": 10, "max_bytes": 1 << 20} | options
        return await self.node.receive(messages.ReceiveRequest([topic.id], group.id, "tester", **options))

    async def settle(
        self, action: str, topic: Topic, group: Group, delivered: list[messages.DeliveredMessage], **options: Any
    ) -> list[str]:
        """All of `delivered` must be of one partition."""
        items = [item_of(message) for message in delivered]
        request = messages.SettleRequest(topic.id, delivered[0].partition, group.id, action, items, **options)
        return (await self.node.settle(request)).results

    async def bodies_in_log(self, topic: Topic, partition: int = 0) -> list[bytes]:
        return [record.body for record in await self.records_in_log(topic, partition)]

    async def records_in_log(self, topic: Topic, partition: int = 0) -> list[Record]:
        found: list[Record] = []
        offset = (await self.positions(topic, partition)).log_start
        while True:
            answer = await self.node.records(messages.RecordsRequest(topic.id, partition, offset))
            if answer.next_offset == offset:
                return found
            at = 0
            while at < len(answer.batches):
                header = verify(answer.batches, at)
                found += decode_records(answer.batches, header, at)
                at += header.length
            offset = answer.next_offset

    async def positions(self, topic: Topic, partition: int = 0) -> messages.PositionsResponse:
        return await self.node.positions(messages.PositionsRequest(topic.id, partition))


def item_of(message: messages.DeliveredMessage) -> messages.SettleItem:
    _, _, _, offset, _, generation, epoch, attempt = message.receipt.split("-")
    return messages.SettleItem(int(offset), int(generation), int(epoch), int(attempt))


def with_node(main: Any, settings: NodeSettings = SMALL) -> Any:
    """Run `main(simulated_node)` on a simulated loop, with the node started."""

    async def run(loop: SimLoop) -> Any:
        simulated = SimulatedNode(loop, settings)
        await simulated.start()
        return await main(simulated)

    result, _ = simulate(1, run)
    return result
