"""One look at everything that is not urgent: moves of replicas, and leaderships that would be better elsewhere. Pure.

Moves are throttled by what is under way already; leaderships by their number in one round. Improvements wait until
nothing necessary is left to do and all is calm: no node away, and none that has just come.
"""

from collections import ChainMap, Counter
from collections.abc import Container, Generator, Iterator

from msgspec.structs import replace

from cluster.controller.catalog_image import Entry
from cluster.controller.image import ClusterImage
from cluster.controller.leadership import best_leader, is_led, led_by
from cluster.controller.moves import Movable, Move, MoveFinder, MoveKind
from cluster.controller.node_times import NodeTimes
from cluster.controller.planner_settings import PlannerSettings
from cluster.controller.preference import PreferenceBalance
from cluster.controller.replica_change import originals, retargeted
from cluster.controller.replica_placement import PartitionId, ReplicaPlacement
from cluster.controller.steps import Decision, DecisionKind, Step
from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.steering import OrderKind, PartitionOrder
from cluster.model.values import PartitionLife, PartitionState
from cluster.ports.coordination import Delete, Put, unchanged


class Round:
    """`taken` are keys that are written already. `left_something` tells that limits were reached: come again."""

    def __init__(
        self, image: ClusterImage, times: NodeTimes, now_ms: int, settings: PlannerSettings, *, taken: Container[str]
    ) -> None:
        self.left_something = False
        self._image = image
        self._membership = image.membership
        self._times = times
        self._now_ms = now_ms
        self._settings = settings
        self._taken = taken
        self._is_automatic = image.steering.automatic_moves
        self._entries: dict[PartitionId, Entry] = {}
        self._states: dict[PartitionId, PartitionState] = {}
        self._placement = ReplicaPlacement(image.membership)
        self._filling: Counter[int] = Counter()
        self._moving = 0
        self._changed: dict[PartitionId, None] = {}
        self._waiting: dict[PartitionId, None] = {}  # whose orders wait for a node, which may never come
        for entry in image.catalog.entries():
            if entry.topic is not None:
                self._read(entry)

    def _read(self, entry: Entry) -> None:
        for number, state in entry.partitions.items():
            if state.life is PartitionLife.GONE:
                continue
            partition = (entry.id, number)
            self._entries[partition] = entry
            self._states[partition] = state
            self._placement.place(partition, state.target)
            if state.is_moving and is_led(state, self._membership):  # others do not copy, and must not block
                self._moving += 1
                self._filling.update(state.adding)
            if keys.partition(*partition) in self._taken:
                self._changed[partition] = None

    def steps(self) -> Iterator[Step]:
        """At most one for each key."""
        yield from self._ordered()
        is_calm = yield from self._moves()
        if is_calm:
            yield from self._preferences()
        yield from self._gentle_leaderships()

    # --- orders ------------------------------------------------------------------------------------------------------

    def _ordered(self) -> Iterator[Step]:
        waiting = [
            (order.asked_at_ms, entry.id, number, order)
            for entry in self._image.catalog.entries()
            for number, order in entry.orders.items()
        ]
        for _, topic_id, number, order in sorted(waiting, key=lambda each: each[:3]):
            entry = self._image.catalog.get(topic_id)
            state = self._states.get((topic_id, number))
            if entry is not None and entry.topic is not None:
                yield from self._carry_out(entry, number, order, state)

    def _carry_out(
        self, entry: Entry, number: int, order: PartitionOrder, state: PartitionState | None
    ) -> Iterator[Step]:
        partition = (entry.id, number)
        if partition in self._changed or (number in entry.partition_items and number not in entry.partitions):
            return  # about to change, or not understood
        is_at_rest = state is None or not state.is_moving
        if is_at_rest and (state is None or order.kind is OrderKind.CANCEL or state.replicas == order.replicas):
            guards = [unchanged(entry.order_items[number])]
            if number in entry.partition_items:
                guards.append(unchanged(entry.partition_items[number]))
            decision = Decision(DecisionKind.ORDER_DONE, *partition, f"the {order.kind.value} that was asked for")
            yield Step(tuple(guards), Delete(entry.order_items[number].key), (decision,))
            return
        assert state is not None
        kept = originals(state)
        target = kept if order.kind is OrderKind.CANCEL else order.replicas
        if not all(node in kept or self._membership.get(node).is_usable for node in target):
            self._waiting[partition] = None
            return
        if state.target == target:
            return  # under way
        move = Move(*partition, MoveKind.ORDERED, state.target, target, "an operator asked for it")
        step = self._start(move, is_cancelling=order.kind is OrderKind.CANCEL)
        if step is not None:
            yield step

    # --- moves -------------------------------------------------------------------------------------------------------

    def _moves(self) -> Generator[Step, None, bool]:
        """Returns whether all is calm, so that what is merely better may be done."""
        lost = self._times.lost(self._now_ms, delay_ms=self._settings.repair_delay_ms)
        draining = [member.node_id for member in self._membership.members() if member.is_draining]
        finder = MoveFinder(self._placement, self._movable(), lost=lost, draining=draining)
        is_calm = self._has_settled(lost)
        for move in finder.necessary():
            if not self._is_automatic and move.kind is not MoveKind.DRAIN:
                continue
            is_calm = False
            step = self._start(move)
            if step is not None:
                yield step
        if not (is_calm and self._is_automatic):
            return False
        for move in finder.improving(but=ChainMap(self._changed, self._waiting)):
            step = self._start(move)
            if step is None:
                break
            yield step
        return True

    def _movable(self) -> dict[PartitionId, Movable]:
        movable = {}
        for partition, state in self._states.items():
            topic = self._entries[partition].topic
            is_ordered = state.partition in self._entries[partition].orders and partition not in self._waiting
            is_free = partition not in self._changed and not is_ordered
            if topic is not None and is_free and is_led(state, self._membership):
                movable[partition] = Movable(topic.replication_factor, state.isr, state.leader, state.is_moving)
        return movable

    def _has_settled(self, lost: list[int]) -> bool:
        is_nobody_away = all(node in lost for node in self._times.away())
        return is_nobody_away and all(
            self._times.has_lived_ms(node, self._now_ms) >= self._settings.balance_delay_ms
            for node in self._placement.usable
        )

    def _start(self, move: Move, *, is_cancelling: bool = False) -> Step | None:
        """None where a limit, or the partition's condition, does not allow it now."""
        partition = move.partition_id
        state = self._states[partition]
        filled = [node for node in move.after if node not in state.replicas]
        if not is_cancelling and not self._has_room(state, filled):
            self.left_something = True
            return None
        changed = retargeted(state, move.after, self._membership, isr_floor=self._isr_floor(partition))
        if changed is None:
            return None
        self._moving += changed.is_moving - state.is_moving
        self._filling.subtract(state.adding)
        self._filling.update(changed.adding)
        kind = DecisionKind.MOVE_STARTED if changed.is_moving else DecisionKind.MOVE_CANCELLED
        if not changed.is_moving and not state.is_moving:
            kind = DecisionKind.PREFERENCE_CHANGED
        reason = f"{move.kind.value}: {_list(move.before)} becomes {_list(move.after)}: {move.reason}"
        return self._write(partition, changed, kind, reason)

    def _has_room(self, state: PartitionState, filled: list[int]) -> bool:
        if not state.is_moving and self._moving >= self._settings.moves_max:
            return False
        return all(self._filling[node] < self._settings.moves_per_node_max for node in filled)

    # --- leaderships -------------------------------------------------------------------------------------------------

    def _preferences(self) -> Iterator[Step]:
        """Reorder replicas so that each node is preferred about as often."""
        free = {
            partition: state.replicas
            for partition, state in self._states.items()
            if self._is_at_rest(partition, state) and state.partition not in self._entries[partition].orders
        }
        wanted: dict[PartitionId, tuple[int, ...]] = {}
        for count, chain in enumerate(PreferenceBalance(free, self._placement.usable).chains()):
            if count == self._settings.leader_moves_max:
                self.left_something = True
                break
            wanted.update(chain)
        for partition, replicas in wanted.items():
            state = self._states[partition]
            if replicas != state.replicas:
                changed = retargeted(state, replicas, self._membership, isr_floor=self._isr_floor(partition))
                if changed is not None:
                    reason = f"node {replicas[0]} is preferred as leader less often than node {state.replicas[0]}"
                    yield self._write(partition, changed, DecisionKind.PREFERENCE_CHANGED, reason)

    def _gentle_leaderships(self) -> Iterator[Step]:
        """Away from nodes that are drained, and back to the preferred ones once they have proven themselves."""
        moved = 0
        for partition, state in self._states.items():
            if partition in self._changed or not is_led(state, self._membership):
                continue
            successor = self._better_leader(partition, state)
            if successor is None:
                continue
            if moved == self._settings.leader_moves_max:
                self.left_something = True
                return
            moved += 1
            changed = replace(led_by(state, successor, self._membership), partition_epoch=state.partition_epoch + 1)
            reason = f"from node {state.leader} to node {successor}, which is in sync and to be preferred"
            yield self._write(partition, changed, DecisionKind.LEADERSHIP_MOVED, reason)

    def _better_leader(self, partition: PartitionId, state: PartitionState) -> int | None:
        if self._membership.get(state.leader).is_draining:
            usable = [node for node in state.isr if self._is_fit(node, state)]
            return best_leader(state, self._membership, among=usable)
        preferred = state.replicas[0]
        if not self._is_automatic or not self._is_at_rest(partition, state):
            return None
        if preferred == state.leader or preferred not in state.isr or not self._is_fit(preferred, state):
            return None
        is_proven = self._times.has_lived_ms(preferred, self._now_ms) >= self._settings.preferred_delay_ms
        return preferred if is_proven else None

    def _is_fit(self, node: int, state: PartitionState) -> bool:
        """To be given a leadership that nobody has to give up. Who could not commit, and has not been in sync again for
        long, and whose copy is damaged, would only hand it on: those lead where nobody else can (rule R36)."""
        if node in state.given_up_by or node in state.damaged:
            return False
        member = self._membership.get(node)
        return member.is_usable and not member.has_impaired_storage

    # --- writing -----------------------------------------------------------------------------------------------------

    def _is_at_rest(self, partition: PartitionId, state: PartitionState) -> bool:
        return partition not in self._changed and not state.is_moving

    def _isr_floor(self, partition: PartitionId) -> int:
        topic = self._entries[partition].topic
        assert topic is not None
        return max(1, topic.config.min_insync_replicas)

    def _write(self, partition: PartitionId, state: PartitionState, kind: DecisionKind, reason: str) -> Step:
        before = self._states[partition]
        item = self._entries[partition].partition_items[partition[1]]
        self._states[partition] = state
        self._placement.place(partition, state.target)
        self._changed[partition] = None
        added = [node for node in state.replicas if node not in before.replicas]
        guards = (
            unchanged(item),
            *self._membership.guards(before.replicas),
            *self._membership.placement_guards(added),
        )
        return Step(guards, Put(item.key, encode(state)), (Decision(kind, *partition, reason),))


def _list(nodes: tuple[int, ...]) -> str:
    return "[" + ", ".join(map(str, nodes)) + "]"
