"""What is decided becomes guarded transactions: as few as the limits allow, and each step guarded on its own."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from cluster.ports.coordination import MAX_TRANSACTION_OPERATIONS, Compare, CompareTarget, Operation


class DecisionKind(Enum):
    PARTITION_CREATED = "partition_created"
    PARTITION_DECOMMISSIONED = "partition_decommissioned"
    PARTITION_GONE = "partition_gone"
    REMAINS_REMOVED = "remains_removed"
    DIRECTORY_LEARNED = "directory_learned"
    DISK_REPLACED = "disk_replaced"
    LEADER_ELECTED = "leader_elected"
    LEADERSHIP_MOVED = "leadership_moved"
    DATA_UNAVAILABLE = "data_unavailable"
    ISR_SHRUNK = "isr_shrunk"
    MOVE_STARTED = "move_started"
    MOVE_COMPLETED = "move_completed"
    MOVE_CANCELLED = "move_cancelled"
    PREFERENCE_CHANGED = "preference_changed"
    ORDER_DONE = "order_done"


@dataclass(frozen=True, slots=True)
class Decision:
    """`reason` is a sentence for an operator."""

    kind: DecisionKind
    topic_id: str
    partition: int
    reason: str


@dataclass(frozen=True, slots=True)
class Step:
    """One operation, what it was decided on, and what it is for."""

    guards: tuple[Compare, ...]
    operation: Operation
    decisions: tuple[Decision, ...] = ()

    @property
    def elects_leader(self) -> bool:
        return any(decision.kind is DecisionKind.LEADER_ELECTED for decision in self.decisions)


@dataclass(frozen=True, slots=True)
class PlannedTransaction:
    """Steps that take effect together or not at all."""

    steps: tuple[Step, ...]

    @property
    def compares(self) -> tuple[Compare, ...]:
        """Of all steps, each once."""
        found = {(guard.key, guard.target): guard for step in self.steps for guard in step.guards}
        return tuple(found.values())

    @property
    def operations(self) -> tuple[Operation, ...]:
        return tuple(step.operation for step in self.steps)

    def halves(self) -> "tuple[PlannedTransaction, ...]":
        """To find what fails among many: two smaller ones, or none where there is only one step."""
        if len(self.steps) < 2:
            return ()
        middle = len(self.steps) // 2
        return PlannedTransaction(self.steps[:middle]), PlannedTransaction(self.steps[middle:])


def pack(steps: Iterable[Step], *, reserved: Sequence[Compare] = ()) -> list[PlannedTransaction]:
    """As few transactions as the limit of operations and compares allows, in the order of the steps.

    `reserved` are compares that the sender adds to each.
    """
    compares_max = MAX_TRANSACTION_OPERATIONS - len(reserved)
    packed: list[PlannedTransaction] = []
    compares: dict[tuple[str, CompareTarget], Compare] = {}
    together: list[Step] = []
    for step in steps:
        more = {(guard.key, guard.target): guard for guard in step.guards}
        if together and (len(together) == MAX_TRANSACTION_OPERATIONS or len(compares | more) > compares_max):
            packed.append(PlannedTransaction(tuple(together)))
            compares, together = {}, []
        compares |= more
        together.append(step)
    if together:
        packed.append(PlannedTransaction(tuple(together)))
    return packed
