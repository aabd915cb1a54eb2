"""A cluster without processes around the real planner: keys, nodes that live and die, and logs that are only counted.

Everything that may go wrong with a partition's state is checked at every single write. The replication is the simplest
that keeps the rules: a message is committed when every member of the ISR holds it and the ISR is large enough; a
follower takes over the leader's log, cut where they differ; the leader adds it to the ISR once it has everything.
"""

from dataclasses import dataclass, field

from cluster.controller.image import ClusterImage
from cluster.controller.leadership import is_led
from cluster.controller.planner import Planner
from cluster.controller.planner_settings import PlannerSettings
from cluster.controller.steps import Decision, Step, pack
from cluster.model import keys
from cluster.model.codec import decode, encode
from cluster.model.partition_change import found_empty
from cluster.model.steering import ClusterSteering, NodeSteering, OrderKind, PartitionOrder
from cluster.model.values import NO_LEADER, NodeRegistration, PartitionLife, PartitionState, Topic, TopicConfig
from cluster.ports.coordination import Changed, Delete, Event, KeyValue, Operation, Put, key_of, unchanged
from cluster.stores.key_space import KeySpace, Mutation, Transaction
from tests.support.data_leader import IsrChange, isr_with, isr_without

PartitionId = tuple[str, int]

SETTINGS = PlannerSettings(
    repair_delay_ms=10_000,
    preferred_delay_ms=3_000,
    balance_delay_ms=5_000,
    round_interval_ms=100,
    moves_max=3,
    moves_per_node_max=2,
    leader_moves_max=2,
)
ROUNDS_MAX = 2_000


@dataclass
class Machine:
    node_id: int
    rack: str = ""
    incarnation: int = 0
    disk: int = 1
    is_up: bool = False

    @property
    def directory_id(self) -> str:
        return f"disk-{self.node_id}-{self.disk}"


@dataclass
class Partition:
    """`held` counts the messages of each machine's copy; `cut` is where copies that nobody led on are cut."""

    committed: int = 0
    held: dict[int, int] = field(default_factory=dict)
    epoch_of_copy: dict[int, int] = field(default_factory=dict)
    start_of_epoch: dict[int, int] = field(default_factory=dict)


class PlannedCluster:
    def __init__(self, settings: PlannerSettings = SETTINGS) -> None:
        self.settings = settings
        self.key_space = KeySpace()
        self.now_ms = 0
        self.machines: dict[int, Machine] = {}
        self.logs: dict[PartitionId, Partition] = {}
        self.decisions: list[Decision] = []
        self.next_deadline_ms: int | None = None
        self._states: dict[str, PartitionState] = {}
        self._topics: dict[str, Topic] = {}
        self._unseen: list[tuple[int, tuple[Event, ...]]] = []
        self.planner = Planner(settings)
        self.image = ClusterImage()

    # --- the store ---------------------------------------------------------------------------------------------------

    def write(self, *operations: Operation) -> bool:
        return self.transact(Transaction((), operations))

    def transact(self, transaction: Transaction) -> bool:
        decision = self.key_space.decide(transaction)
        self._check_changes(decision.mutation)
        self.key_space.apply(decision.mutation)
        for event in decision.mutation.events:
            self._remember(event)
        if decision.mutation.events:
            self._unseen.append((decision.mutation.revision, decision.mutation.events))
        return decision.succeeded

    def _remember(self, event: Event) -> None:
        key = key_of(event)
        item = event.item if isinstance(event, Changed) else None
        if key.startswith(keys.PARTITIONS):
            self._states.pop(key, None)
            if item is not None:
                self._states[key] = decode(PartitionState, item.value)
        elif key.startswith(keys.TOPICS):
            self._topics.pop(key, None)
            if item is not None:
                self._topics[key] = decode(Topic, item.value)

    def state(self, partition: PartitionId) -> PartitionState:
        return self._states[keys.partition(*partition)]

    def states(self) -> dict[PartitionId, PartitionState]:
        return {(state.topic_id, state.partition): state for state in self._states.values()}

    def topics(self) -> dict[str, Topic]:
        return {topic.id: topic for topic in self._topics.values()}

    # --- nodes -------------------------------------------------------------------------------------------------------

    def start(self, node_id: int, *, rack: str = "") -> None:
        machine = self.machines.setdefault(node_id, Machine(node_id, rack))
        machine.incarnation += 1
        machine.is_up = True
        self.write(Put(keys.incarnation(node_id), b"%d" % machine.incarnation), self._registration(machine))

    def stop(self, node_id: int) -> None:
        if self.machines[node_id].is_up:
            self.machines[node_id].is_up = False
            self.write(Delete(keys.node(node_id)))

    def leave(self, node_id: int) -> None:
        if self.machines[node_id].is_up:
            self.write(self._registration(self.machines[node_id], is_leaving=True))

    def wipe(self, node_id: int) -> None:
        """The disk is replaced while the node is down; it comes back empty, and at once."""
        self.stop(node_id)
        self.machines[node_id].disk += 1
        for log in self.logs.values():
            log.held.pop(node_id, None)
            log.epoch_of_copy.pop(node_id, None)
        self.start(node_id)

    def _registration(self, machine: Machine, *, is_leaving: bool = False) -> Put:
        registration = NodeRegistration(
            machine.node_id, machine.incarnation, machine.directory_id, "", machine.rack, is_leaving
        )
        return Put(keys.node(machine.node_id), encode(registration))

    def drain(self, node_id: int) -> None:
        self.write(Put(keys.node_steering(node_id), encode(NodeSteering(node_id, self.now_ms))))

    def undrain(self, node_id: int) -> None:
        self.write(Delete(keys.node_steering(node_id)))

    # --- topics ------------------------------------------------------------------------------------------------------

    def create(self, name: str, *, partitions: int, replicas: int, min_isr: int = 1) -> Topic:
        topic = Topic(f"id-{name}", name, partitions, replicas, 0, TopicConfig(min_insync_replicas=min_isr))
        self.change(topic)
        return topic

    def change(self, topic: Topic) -> None:
        self.write(Put(keys.topic(topic.name), encode(topic)))

    def order(self, partition: PartitionId, replicas: tuple[int, ...]) -> None:
        self._order(PartitionOrder(*partition, self.now_ms, OrderKind.MOVE, replicas))

    def cancel(self, partition: PartitionId) -> None:
        self._order(PartitionOrder(*partition, self.now_ms, OrderKind.CANCEL))

    def _order(self, order: PartitionOrder) -> None:
        self.write(Put(keys.partition_order(order.topic_id, order.partition), encode(order)))

    def pause(self) -> None:
        self.write(Put(keys.STEERING_CLUSTER, encode(ClusterSteering(automatic_moves=False))))

    def resume(self) -> None:
        self.write(Delete(keys.STEERING_CLUSTER))

    # --- the controller ----------------------------------------------------------------------------------------------

    def new_controller(self) -> None:
        """It has no memory of its own."""
        listing = self.key_space.list(keys.ROOT)
        self.planner = Planner(self.settings)
        self.image = ClusterImage(listing.items, revision=listing.revision)
        self._unseen = []

    def see(self, batches: int | None = None) -> None:
        """Let the image take in so many revisions, or all."""
        for revision, events in self._unseen[:batches]:
            for event in events:
                self.image.apply(event)
            self.image.revision = revision
        self._unseen = [] if batches is None else self._unseen[batches:]

    def control(self, *, batches: int | None = None) -> int:
        """Plan from what is seen, and do it; returns how many transactions took effect."""
        self.see(batches)
        plan = self.planner.plan(self.image, self.now_ms)
        self.next_deadline_ms = plan.next_deadline_ms
        self._check_throttle(plan.steps)
        waiting = pack(plan.steps)[::-1]
        done = 0
        while waiting:
            planned = waiting.pop()
            if self.transact(Transaction(planned.compares, planned.operations)):
                done += 1
                self.decisions += [decision for step in planned.steps for decision in step.decisions]
            else:
                waiting += planned.halves()[::-1]
        return done

    def settle(self) -> None:
        """Let everything happen until nothing does, for longer than the controller waits for anything."""
        quiet_since_ms = self.now_ms
        patience_ms = max(self.settings.repair_delay_ms, self.settings.balance_delay_ms) + 1_000
        for _ in range(ROUNDS_MAX):
            moved = self.control() + self.replicate()
            if moved:
                quiet_since_ms = self.now_ms
                self.now_ms += self.settings.round_interval_ms
            elif self.next_deadline_ms is None or self.now_ms - quiet_since_ms > patience_ms:
                return
            else:
                self.now_ms = max(self.now_ms + 1, self.next_deadline_ms)
        raise AssertionError(f"no end of it: {self.decisions[-5:]}")

    # --- data --------------------------------------------------------------------------------------------------------

    def is_served(self, state: PartitionState) -> bool:
        machine = self.machines.get(state.leader)
        return machine is not None and machine.is_up and machine.incarnation == state.leader_incarnation

    def append(self, partition: PartitionId) -> None:
        state = self.state(partition)
        if self.is_served(state) and state.life is PartitionLife.ACTIVE:
            log = self.logs[partition]
            log.held[state.leader] += 1
            self._fetch_in_sync(partition, state)

    def _fetch_in_sync(self, partition: PartitionId, state: PartitionState) -> None:
        for node in state.isr:
            if self.machines[node].is_up and not self._was_wiped(state, node):
                self._fetch(partition, node)
        self._commit(partition)

    def _was_wiped(self, state: PartitionState, node_id: int) -> bool:
        return self.machines[node_id].directory_id != state.directory_of(node_id)

    def _fetch(self, partition: PartitionId, node_id: int) -> None:
        """The follower cuts its copy by epoch (rule R1) and takes the rest."""
        state, log = self.state(partition), self.logs[partition]
        log.held[node_id] = log.held[state.leader]
        log.epoch_of_copy[node_id] = state.leader_epoch

    def _commit(self, partition: PartitionId) -> None:
        state, log = self.state(partition), self.logs[partition]
        if len(state.isr) < self.topics()[partition[0]].config.min_insync_replicas:
            return
        held = [log.held.get(node, 0) if log.epoch_of_copy.get(node) == state.leader_epoch else 0 for node in state.isr]
        log.committed = max(log.committed, min(held))

    def replicate(self) -> int:
        """Every follower of a leader that lives catches up, and is added to the ISR; returns how many were added."""
        added = 0
        for partition, state in self.states().items():
            if not self.is_served(state) or partition[0] not in self.topics():
                continue
            for node in state.replicas:
                machine = self.machines[node]
                if machine.is_up and not self._was_wiped(state, node):
                    self._fetch(partition, node)
                    added += self.try_to_add(partition, node)
            self._commit(partition)
        return added

    def try_to_add(self, partition: PartitionId, node_id: int) -> bool:
        registration = self.key_space.get(keys.node(node_id))
        if registration is None:
            return False
        return self._change_isr(
            isr_with(self._item(partition), registration, incarnation=self.machines[node_id].incarnation)
        )

    def shrink(self, partition: PartitionId, node_id: int) -> None:
        """The leader finds the follower too far behind."""
        state = self.state(partition)
        if self.is_served(state) and state.topic_id in self.topics():
            floor = self.topics()[state.topic_id].config.min_insync_replicas
            self._change_isr(isr_without(self._item(partition), (node_id,), min_insync_replicas=floor))

    def find_empty(self, partition: PartitionId) -> None:
        if self.is_served(self.state(partition)):
            item = self._item(partition)
            changed = found_empty(decode(PartitionState, item.value))
            if changed is not None:
                self.transact(Transaction((unchanged(item),), (Put(item.key, encode(changed)),)))

    def _item(self, partition: PartitionId) -> KeyValue:
        item = self.key_space.get(keys.partition(*partition))
        assert item is not None
        return item

    def _change_isr(self, change: IsrChange | None) -> bool:
        return change is not None and self.transact(Transaction(change.compares, (change.put,)))

    # --- what must always hold ---------------------------------------------------------------------------------------

    def _check_changes(self, mutation: Mutation) -> None:
        for event in mutation.events:
            if not key_of(event).startswith(keys.PARTITIONS) or not isinstance(event, Changed):
                continue
            new = decode(PartitionState, event.item.value)
            partition = (new.topic_id, new.partition)
            item = self.key_space.get(event.item.key)
            self._check_shape(new)
            if item is None:
                self.logs[partition] = Partition(
                    held=dict.fromkeys(new.replicas, 0), epoch_of_copy=dict.fromkeys(new.replicas, new.leader_epoch)
                )
                self._check_election(new)
            else:
                self._check_change(decode(PartitionState, item.value), new)

    def _check_throttle(self, steps: tuple[Step, ...]) -> None:
        """Moves that can go on now, as the controller sees it, and those that it starts are not too many."""
        membership = self.image.membership
        seen = {
            (entry.id, number): state
            for entry in self.image.catalog.entries()
            if entry.topic is not None
            for number, state in entry.partitions.items()
        }
        after = dict(seen)
        for step in steps:
            if isinstance(step.operation, Put) and step.operation.key.startswith(keys.PARTITIONS):
                state = decode(PartitionState, step.operation.value)
                after[state.topic_id, state.partition] = state
        going_on = [
            partition for partition, state in seen.items() if after[partition].is_moving and is_led(state, membership)
        ]
        started = [partition for partition in going_on if not seen[partition].is_moving]
        assert not started or len(going_on) <= self.settings.moves_max

    def _check_shape(self, state: PartitionState) -> None:
        assert len(set(state.replicas)) == len(state.replicas)
        assert set(state.isr) <= set(state.replicas)
        assert set(state.adding) | set(state.removing) <= set(state.replicas)
        assert not set(state.adding) & set(state.removing)
        assert state.leader in state.isr or state.leader == NO_LEADER
        assert len(state.directories) == len(state.replicas)
        assert (state.life is PartitionLife.GONE) == (not state.replicas)

    def _check_change(self, old: PartitionState, new: PartitionState) -> None:
        assert new.partition_epoch == old.partition_epoch + 1
        assert old.life is not PartitionLife.GONE
        assert old.leader_epoch <= new.leader_epoch <= old.leader_epoch + 1
        if (old.leader, old.leader_incarnation) != (new.leader, new.leader_incarnation) and new.leader != NO_LEADER:
            assert new.leader_epoch == old.leader_epoch + 1, "every leadership has an epoch of its own"
        if new.life is PartitionLife.GONE:
            assert old.life is PartitionLife.EMPTY, "nothing is removed that may hold data"
            return
        if new.leader_epoch > old.leader_epoch:
            assert new.leader in old.isr, "elected from the ISR"
            self._check_election(new)
        log = self.logs[new.topic_id, new.partition]
        if any(log.held.get(node, 0) >= log.committed for node in old.replicas):
            assert any(log.held.get(node, 0) >= log.committed for node in new.replicas), "the last copy was given up"
        for node in new.adding:
            log.held.setdefault(node, 0)

    def _check_election(self, state: PartitionState) -> None:
        machine, log = self.machines[state.leader], self.logs[state.topic_id, state.partition]
        assert machine.is_up
        assert machine.incarnation == state.leader_incarnation
        assert log.held.get(state.leader, 0) >= log.committed, "the new leader lacks what was acknowledged"
        log.epoch_of_copy[state.leader] = state.leader_epoch
