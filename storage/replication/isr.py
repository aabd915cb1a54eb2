"""The in-sync replicas as their leader knows them: what is committed, and at most one change on its way (rule R8).

A change is a compare-and-set on the partition's key. Until the leader has seen what became of it, the true ISR may be
the one before or the one after, so what needs every in-sync replica asks for all in either (the maximal ISR), and what
needs a number of them counts the smaller (the minimal one).

A change whose outcome is unknown may still happen later. Reading the key settles it only when the key was written
since; otherwise the leader writes the committed ISR again, guarded by the same revision: whichever of the two comes
first makes the other impossible (rule R18).

Sources: KIP-497 (the maximal ISR), KIP-841 and KIP-903 (no member that began anew since).
"""

from dataclasses import dataclass
from enum import Enum

from storage.replication.assignment import Assignment, IsrMember, ReplicaIdentity


class ChangeOutcome(Enum):
    """What the coordination store said of a change."""

    DONE = "done"
    REFUSED = "refused"  # a compare did not hold: this change did not happen and never will
    NOT_DONE = "notDone"  # the store was not reached: the same
    UNKNOWN = "unknown"  # it may have happened, or may still happen


@dataclass(frozen=True, slots=True)
class IsrChange:
    """Write `isr` if the partition's key is still at `expected_revision`, and each of `registered` is registered
    exactly so, incarnation and directory included: whoever joins, as it may have begun anew with an empty disk, and
    the leader itself, so that a late change of one that is gone cannot make a lost disk the last in-sync replica.
    `serial` tells the changes of one leader apart."""

    serial: int
    expected_revision: int
    isr: tuple[IsrMember, ...]
    registered: tuple[ReplicaIdentity, ...]


class InSyncReplicas:
    """`needs_reading` is set while the leader has to look at the partition's key before it may change it again."""

    __slots__ = (
        "_last_serial",
        "_may_still_happen",
        "_me",
        "_on_its_way",
        "_proposed",
        "committed",
        "needs_reading",
        "revision",
    )

    def __init__(self, me: ReplicaIdentity, assignment: Assignment) -> None:
        self._me = me
        self.committed = assignment.isr
        self.revision = assignment.revision
        self.needs_reading = False
        self._proposed: tuple[IsrMember, ...] | None = None
        self._on_its_way: IsrChange | None = None
        self._may_still_happen = False
        self._last_serial = 0

    @property
    def is_settled(self) -> bool:
        """Nothing is on its way and nothing unknown: a change may be proposed."""
        return self._proposed is None and not self.needs_reading

    @property
    def maximal(self) -> tuple[IsrMember, ...]:
        """Whoever may be in the ISR."""
        if self._proposed is None:
            return self.committed
        return (*self.committed, *(member for member in self._proposed if member not in self.committed))

    @property
    def minimal_size(self) -> int:
        """How many are in it for certain."""
        if self._proposed is None:
            return len(self.committed)
        return min(len(self.committed), len(self._proposed))

    def has(self, node_id: int) -> bool:
        return any(member.node_id == node_id for member in self.maximal)

    def propose(self, isr: tuple[IsrMember, ...], joining: tuple[ReplicaIdentity, ...] = ()) -> IsrChange:
        if not self.is_settled:
            raise ValueError("a change of the ISR is on its way")
        self._proposed = isr
        return self._send(isr, joining)

    def ended(self, serial: int, outcome: ChangeOutcome, revision: int) -> bool:
        """The change's outcome; `revision` counts for DONE. False for one that is not awaited (any more)."""
        change = self._on_its_way
        if change is None or change.serial != serial:
            return False
        self._on_its_way = None
        if outcome is ChangeOutcome.DONE:
            self._commit(change.isr, revision)
        elif outcome is ChangeOutcome.NOT_DONE and not self._may_still_happen:
            self._proposed = None
        else:
            self._may_still_happen |= outcome is ChangeOutcome.UNKNOWN
            self.needs_reading = True
        return True

    def seen(self, assignment: Assignment) -> IsrChange | None:
        """The partition's key in this leader's epoch, as read or watched; perhaps what is to be written now."""
        if assignment.revision < self.revision:
            return None
        if assignment.revision > self.revision:
            # Whatever was guarded by the former revision has happened, or never will.
            self._on_its_way = None
            self._commit(assignment.isr, assignment.revision)
            return None
        if not self.needs_reading:
            return None
        self.needs_reading = False
        if not self._may_still_happen:
            self._proposed = None
            return None
        return self._send(self.committed, ())

    def _send(self, isr: tuple[IsrMember, ...], joining: tuple[ReplicaIdentity, ...]) -> IsrChange:
        self._last_serial += 1
        self._on_its_way = IsrChange(self._last_serial, self.revision, isr, (self._me, *joining))
        return self._on_its_way

    def _commit(self, isr: tuple[IsrMember, ...], revision: int) -> None:
        self.committed = isr
        self.revision = revision
        self._proposed = None
        self._may_still_happen = False
        self.needs_reading = False

    def check_invariants(self) -> None:
        """Raises AssertionError."""
        assert self.committed, "the ISR is empty"
        assert self.minimal_size <= len(self.maximal)
        assert self._on_its_way is None or self._proposed is not None, "a change is on its way that nobody counts with"
        assert self._on_its_way is None or self._on_its_way.expected_revision == self.revision
        assert not (self.needs_reading and self._on_its_way), "two things are waited for"
