"""Everything that a node holds of one partition that it leads, opened and closed together."""

from dataclasses import dataclass

from storage.node.delivery_host import DeliveryHost
from storage.node.delivery_steps import DeliverySteps
from storage.node.partition_groups import PartitionGroups
from storage.node.partition_host import PartitionHost
from storage.node.record_reader import RecordReader


@dataclass(slots=True)
class Partition:
    """`groups`, `steps` and `delivery` share the partition's delivery state; `host` owns its messages."""

    host: PartitionHost
    reader: RecordReader
    delivery: DeliveryHost
    groups: PartitionGroups
    steps: DeliverySteps

    @property
    def topic_id(self) -> str:
        return self.host.topic.id

    @property
    def number(self) -> int:
        return self.host.partition

    async def close(self) -> None:
        """Nothing new may come; waits for what is under way and leaves a snapshot."""
        self.host.stop_waiting()
        await self.steps.close()
        await self.delivery.close()
