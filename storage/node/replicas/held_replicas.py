"""The replicas that a node holds now, by partition, and what is asked of whichever of them it is."""

from collections.abc import Iterator, Mapping
from functools import partial

from storage.node.replicas.follower_reads import FollowerReads
from storage.node.replicas.led_partition import Partition
from storage.node.replicas.replica_host import ReplicaHost
from storage.replication.assignment import NO_EPOCH
from storage.replication.fetch_answer import Read
from storage.replication.follower_events import Answered
from storage.replication.leader_events import FetchRefusal, FetchVerdict, FollowerFetched
from storage.replication.messages import PartitionId, SnapshotAnswer, SnapshotRequest
from storage.replication.replica_events import Role
from storage.replication.served_session import LogView


class HeldReplicas:
    """`hosts` are all of them, whatever their role; those that lead and are open stand beside them by topic.
    LeadReplicas for the fetch service."""

    def __init__(self) -> None:
        self.hosts: dict[PartitionId, ReplicaHost] = {}
        self._topics: dict[str, dict[int, Partition]] = {}
        self._moved: dict[tuple[str, int], None] = {}  # in the order in which they did

    def __iter__(self) -> Iterator[ReplicaHost]:
        """As they are now: what comes or goes meanwhile changes nothing."""
        return iter(list(self.hosts.values()))

    # --- what is served here -----------------------------------------------------------------------------------------

    def serve(self, partition: Partition) -> None:
        key = (partition.topic_id, partition.number)
        self._topics.setdefault(partition.topic_id, {})[partition.number] = partition
        partition.delivery.on_applied = partial(self._moved.setdefault, key, None)
        self._moved[key] = None

    def serve_no_more(self, partition: Partition) -> bool:
        """False where another one has taken its place, or nothing was served."""
        partitions = self._topics.get(partition.topic_id, {})
        if partitions.get(partition.number) is not partition:
            return False
        del partitions[partition.number]
        if not partitions:
            del self._topics[partition.topic_id]
        return True

    def of_topic(self, topic_id: str) -> Mapping[int, Partition]:
        """Those that are led and served here."""
        return self._topics.get(topic_id, {})

    def led(self) -> list[Partition]:
        """Those that are led and served here."""
        return [partition for partitions in self._topics.values() for partition in partitions.values()]

    def take_moved(self) -> list[Partition]:
        """Of these, those in which a group may have got on since the last time. What nobody uses costs nothing."""
        moved = [partition for key in self._moved if (partition := self.find(*key)) is not None]
        self._moved.clear()
        return moved

    def followed(self, topic_id: str, number: int) -> FollowerReads | None:
        """What readers may have of a partition that is followed here."""
        replica = self.hosts.get(PartitionId(topic_id, number))
        return None if replica is None else replica.reads

    def find(self, topic_id: str, number: int) -> Partition | None:
        """The partition, if it is open here."""
        topic = self._topics.get(topic_id)
        return None if topic is None else topic.get(number)

    # --- what followers and leaders say -----------------------------------------------------------------------------

    def judge(self, partition: PartitionId, event: FollowerFetched) -> FetchVerdict:
        replica = self.hosts.get(partition)
        if replica is None:
            return FetchVerdict(event.follower, NO_EPOCH, FetchRefusal.NOT_A_REPLICA)
        return replica.judge(event)

    def views(self, partition: PartitionId) -> tuple[LogView, ...]:
        replica = self.hosts.get(partition)
        return () if replica is None else replica.views()

    def heard_again(self, partition: PartitionId) -> None:
        replica = self.hosts.get(partition)
        if replica is not None and replica.role is Role.LEADER:
            replica.tell_who_is_heard()

    async def read(self, read: Read) -> bytes:
        replica = self.hosts.get(read.id)
        return b"" if replica is None else await replica.read(read)

    async def snapshot(self, request: SnapshotRequest) -> SnapshotAnswer:
        replica = self.hosts.get(request.id)
        if replica is None:
            return SnapshotAnswer(NO_EPOCH, -1, refusal=FetchRefusal.NOT_A_REPLICA.value)
        return await replica.snapshot(request)

    def answered(self, event: Answered) -> None:
        """A leader's answer."""
        replica = self.hosts.get(event.answer.id)
        if replica is not None:
            replica.step(event)
