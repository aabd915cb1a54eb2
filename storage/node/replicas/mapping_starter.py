"""A leader says where in its partition the present mapping of its topic begins (`cluster.model.mapping_starts`)."""

from collections.abc import Callable

from cluster.backoff import Backoff
from cluster.model.mapping_starts import keeps_order
from cluster.model.values import Topic
from cluster.ports.clock import Clock
from storage.node.replicas.isr_writer import IsrWriter
from storage.node.replicas.led_partition import Partition
from storage.replication.messages import PartitionId

LOOK_AGAIN = Backoff(10, 500)


class MappingStarter:
    """Of one partition."""

    def __init__(self, partition: PartitionId, node_id: int, writer: IsrWriter, clock: Clock) -> None:
        self._id = partition
        self._node_id = node_id
        self._writer = writer
        self._clock = clock

    def is_due(self, topic: Topic) -> bool:
        """Whether the topic's mapping has not begun in the partition, as far as is known here."""
        return topic.mapping > 0 and keeps_order(topic) and not self._writer.has_started(self._id, topic.mapping)

    async def start(self, served: Callable[[], Partition | None]) -> None:
        """Return once it has begun, or the partition is not served here. What comes by an earlier mapping is refused
        meanwhile, so what was taken of it comes to its end."""
        tries = 0
        while (partition := served()) is not None and self.is_due(partition.host.topic):
            host = partition.host
            if not host.gate.under_way:
                await self._writer.start_mapping(
                    self._id,
                    self._node_id,
                    leader_epoch=host.leader_epoch,
                    mapping=host.topic.mapping,
                    offset=host.high_watermark,
                )
            tries += 1
            await self._clock.sleep(LOOK_AGAIN.delay_ms(tries))
