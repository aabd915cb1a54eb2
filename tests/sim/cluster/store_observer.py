"""Watches the coordination store itself, without lag, and judges what is written there."""

import asyncio
from collections import Counter
from collections.abc import Callable

import msgspec

from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.projected_offsets import ProjectedOffsets, ProjectedPartition
from cluster.model.values import NO_LEADER, NodeRegistration, PartitionState, Topic
from cluster.ports.coordination import Changed, Event
from cluster.stores.memory_store import MemoryStore
from tests.sim.history import Elected, History, MappingBegan
from tests.sim.queue_label import queue_label


class StoreObserver:
    """3, 12. One leader for each epoch, epochs never fall, nobody is elected who is not in sync with the directory that
    its place was earned with, the ISR keeps its minimum; every change is counted in the `partition_epoch`. What groups
    have done, as it is shown there, is never replaced by what an earlier leader knew.

    `directory_on` tells the data directory that a node's machine has now: "" for an empty disk, None where that is not
    known."""

    def __init__(
        self,
        store: MemoryStore,
        history: History,
        coverage: Counter[str],
        now_ms: Callable[[], float],
        *,
        directory_on: Callable[[int], str | None] = lambda _node: None,
    ) -> None:
        self.partitions: dict[tuple[str, int], PartitionState] = {}
        self.nodes: dict[int, NodeRegistration] = {}
        self.topics: dict[str, Topic] = {}
        self.topics_ever: list[tuple[Topic, float]] = []
        """As they were created, and when; deleted ones, too."""
        self.violations: list[str] = []
        self._projected: dict[tuple[str, str], ProjectedPartition] = {}
        self._store = store
        self._history = history
        self._coverage = coverage
        self._now_ms = now_ms
        self._directory_on = directory_on

    async def run(self) -> None:
        async for batch in self._store.watch(keys.ROOT, 2):
            for event in batch.events:
                self.see(event)

    def see(self, event: Event) -> None:
        key = event.item.key if isinstance(event, Changed) else event.key
        if key.startswith(keys.NODES):
            self._node_changed(key, event)
        elif key.startswith(keys.TOPICS):
            self._topic_changed(key, event)
        elif isinstance(event, Changed) and key.startswith(keys.PARTITIONS):
            self._partition_changed(decode(PartitionState, event.item.value))
        elif key.startswith(keys.OFFSETS):
            self._projection_changed(key, event)
        elif isinstance(event, Changed) and key == keys.CONTROLLER:
            self._coverage["controllers"] += 1

    def _node_changed(self, key: str, event: Event) -> None:
        if isinstance(event, Changed):
            registration = decode(NodeRegistration, event.item.value)
            self._coverage["registrations"] += registration.node_id not in self.nodes
            self.nodes[registration.node_id] = registration
        else:
            self._coverage["registrations ended"] += 1
            self.nodes.pop(int(key.removeprefix(keys.NODES)), None)

    def _topic_changed(self, key: str, event: Event) -> None:
        """What is written of the partitions of a topic that is gone counts no more."""
        if isinstance(event, Changed):
            topic = decode(Topic, event.item.value)
            if topic.id not in self.topics:
                self.topics_ever.append((topic, self._now_ms()))
            self.topics[topic.id] = topic
            return
        name = key.removeprefix(keys.TOPICS)
        gone = {topic.id for topic in self.topics.values() if topic.name == name}
        self.topics = {topic_id: topic for topic_id, topic in self.topics.items() if topic_id not in gone}
        self.partitions = {place: state for place, state in self.partitions.items() if place[0] not in gone}

    def _projection_changed(self, key: str, event: Event) -> None:
        if not isinstance(event, Changed):
            self._projected = {place: value for place, value in self._projected.items() if place[0] != key}
            return
        self._coverage["projections"] += 1
        for number, after in msgspec.json.decode(event.item.value, type=ProjectedOffsets).partitions.items():
            before = self._projected.get((key, number))
            self._projected[key, number] = after
            if before is not None and (after.leader_epoch, after.version) < (before.leader_epoch, before.version):
                self.violations.append(f"the projection {key} of partition {number} fell from {before} to {after}")

    def _is_gone(self, topic_id: str) -> bool:
        return topic_id not in self.topics and any(topic.id == topic_id for topic, _ in self.topics_ever)

    def _partition_changed(self, state: PartitionState) -> None:
        if self._is_gone(state.topic_id):
            return
        place = (state.topic_id, state.partition)
        before = self.partitions.get(place)
        self.partitions[place] = state
        if before is not None:
            found = [*self._judge(before, state), *self._judge_size(before, state)]
            self.violations += [f"{place}: {violation}" for violation in found]
            self._count(before, state)
        if before is None or state.leader_epoch != before.leader_epoch:
            self._elected(state)
        self._mappings_began(state, 0 if before is None else len(before.mapping_starts))

    def _mappings_began(self, state: PartitionState, known: int) -> None:
        now_ms = self._now_ms()
        for start in state.mapping_starts[known:]:
            self._coverage["mappings begun"] += 1
            self._history.add(
                MappingBegan(
                    began_ms=now_ms,
                    ended_ms=now_ms,
                    queue=self._queue_of(state),
                    partition=state.partition,
                    mapping=start.mapping,
                    offset=start.offset,
                )
            )

    def _queue_of(self, state: PartitionState) -> str:
        topic = self.topics.get(state.topic_id)
        return queue_label(topic.name, topic.id) if topic is not None else state.topic_id

    def _elected(self, state: PartitionState) -> None:
        now_ms = self._now_ms()
        self._history.add(
            Elected(
                began_ms=now_ms,
                ended_ms=now_ms,
                queue=self._queue_of(state),
                partition=state.partition,
                epoch=state.leader_epoch,
                leader=state.leader,
            )
        )

    @staticmethod
    def _judge(before: PartitionState, after: PartitionState) -> list[str]:
        found = []
        leaders = [(each.leader, each.leader_incarnation) for each in (before, after)]
        if after.leader_epoch < before.leader_epoch:
            found.append(f"the epoch fell from {before.leader_epoch} to {after.leader_epoch}")
        if after.leader_epoch == before.leader_epoch and leaders[0] != leaders[1] and after.leader != NO_LEADER:
            found.append(f"epoch {after.leader_epoch} was {leaders[0]}'s, then {leaders[1]}'s")
        if after.partition_epoch <= before.partition_epoch:
            found.append(f"partition epoch {before.partition_epoch} was followed by {after.partition_epoch}")
        if not after.isr or not set(after.isr) <= set(after.replicas):
            found.append(f"the ISR {after.isr} is empty, or no part of the replicas {after.replicas}")
        is_election = after.leader_epoch != before.leader_epoch and after.leader != NO_LEADER
        if is_election and after.leader not in before.isr:
            found.append(f"{after.leader} was elected, which was not in the ISR {before.isr}")
        if is_election and after.leader in before.replicas:
            earned, had = before.directory_of(after.leader), after.directory_of(after.leader)
            if earned and had and earned != had:
                found.append(f"{after.leader} was elected with the directory {had}, not {earned}")
        return found

    def _judge_size(self, before: PartitionState, after: PartitionState) -> list[str]:
        """R6. Nobody leaves an ISR that is at its minimum, but for one whose disk is another. Its leader may hear of
        that in a fetch, before the controller has written down the new directory."""
        topic = self.topics.get(after.topic_id)
        minimum = min(topic.config.min_insync_replicas if topic is not None else 1, len(after.replicas))
        left = [
            node
            for node in before.isr
            if node not in after.isr
            and before.directory_of(node) == after.directory_of(node)
            and self._directory_on(node) in {None, before.directory_of(node)}
        ]
        if len(after.isr) >= minimum or not left:
            return []
        return [f"{left} left the ISR {before.isr}, of which {minimum} have to stay"]

    def _count(self, before: PartitionState, after: PartitionState) -> None:
        coverage = self._coverage
        coverage["elections"] += after.leader_epoch != before.leader_epoch
        coverage["elections of another node"] += (
            after.leader_epoch != before.leader_epoch and after.leader != before.leader
        )
        coverage["ISR shrinks"] += bool(set(before.isr) - set(after.isr))
        coverage["ISR growths"] += bool(set(after.isr) - set(before.isr))
        coverage["ISR of one"] += len(after.isr) == 1 < len(after.replicas)
        coverage["moves of replicas"] += after.replicas != before.replicas
        coverage["times without a leader"] += after.leader == NO_LEADER != before.leader


async def watching(observer: StoreObserver) -> "asyncio.Task[None]":
    """Begin, and have it on its way."""
    task = asyncio.create_task(observer.run())
    await asyncio.sleep(0)
    return task
