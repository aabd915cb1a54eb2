"""The coordination store as the model needs it: one partition's key, the registrations of nodes, compare-and-set."""

from storage.replication.assignment import Assignment, IsrMember, ReplicaIdentity
from storage.replication.isr import ChangeOutcome, IsrChange


class ModelStore:
    """`history` keeps every assignment, by revision."""

    def __init__(self, first: Assignment) -> None:
        self.assignment = first
        self.history = [first]
        self.registrations: dict[int, ReplicaIdentity] = {}

    def write(self, new: Assignment, *, expected_revision: int) -> bool:
        """`new` gets the next revision."""
        if self.assignment.revision != expected_revision:
            return False
        self.assignment = Assignment(
            new.leader, new.leader_incarnation, new.leader_epoch, new.replicas, new.isr, expected_revision + 1
        )
        self.history.append(self.assignment)
        return True

    def change_isr(self, change: IsrChange) -> tuple[ChangeOutcome, int]:
        """What a leader asks for: guarded by the key's revision and by who the joining ones are."""
        if any(self.registrations.get(each.node_id) != each for each in change.registered):
            return ChangeOutcome.REFUSED, -1
        return self._write_isr(change.isr, change.expected_revision)

    def give_up(self, replica: ReplicaIdentity, now: Assignment, *, isr_floor: int) -> bool:
        """What a damaged replica asks for, decided on `now`: its leadership to another, its place in the ISR to nobody,
        for an epoch."""
        if self.registrations.get(replica.node_id) != replica:
            return False
        living = [
            identity
            for member in now.isr
            if (identity := self.registrations.get(member.node_id)) is not None
            and (identity.directory_id, identity.node_id)
            == (member.directory_id, member.node_id)
            != (replica.directory_id, replica.node_id)
        ]
        isr = tuple(member for member in now.isr if member.node_id != replica.node_id or len(living) < isr_floor)
        leads = now.leader == replica.node_id
        if not living or (not leads and any(member.node_id == replica.node_id for member in isr)):
            return False
        leader = (living[0].node_id, living[0].incarnation) if leads else (now.leader, now.leader_incarnation)
        return self.write(
            Assignment(*leader, self.next_epoch(now), now.replicas, isr, -1), expected_revision=now.revision
        )

    def next_epoch(self, now: Assignment) -> int:
        return now.leader_epoch + 1

    def _write_isr(self, isr: tuple[IsrMember, ...], expected_revision: int) -> tuple[ChangeOutcome, int]:
        now = self.assignment
        new = Assignment(now.leader, now.leader_incarnation, now.leader_epoch, now.replicas, isr, -1)
        if not self.write(new, expected_revision=expected_revision):
            return ChangeOutcome.REFUSED, -1
        return ChangeOutcome.DONE, self.assignment.revision
