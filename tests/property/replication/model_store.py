"""The coordination store as the model needs it: one partition's key, the registrations of nodes, compare-and-set."""

import msgspec

from cluster.model.hand_over import handed_over
from cluster.model.values import NodeRegistration, PartitionState
from storage.replication.assignment import Assignment, IsrMember, ReplicaIdentity
from storage.replication.isr import ChangeOutcome, IsrChange
from storage.replication.leader_events import HandOver


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
        self.assignment = msgspec.structs.replace(new, revision=expected_revision + 1)
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

    def hand_over(self, replica: ReplicaIdentity, now: Assignment, effect: HandOver) -> bool:
        """What a leader asks for that cannot commit, decided on `now` by the very same planner."""
        if self.registrations.get(replica.node_id) != replica or not now.is_led_by(replica):
            return False
        living = {
            node_id: NodeRegistration(node_id, each.incarnation, each.directory_id, "")
            for node_id, each in self.registrations.items()
        }
        places = {member.node_id: member.directory_id for member in now.isr}
        state = PartitionState(
            topic_id="t",
            partition=0,
            replicas=now.replicas,
            isr=tuple(places),
            leader=now.leader,
            leader_incarnation=now.leader_incarnation,
            leader_epoch=now.leader_epoch,
            directories=tuple(places.get(node, "") for node in now.replicas),
            given_up_by=now.given_up_by,
        )
        changed = handed_over(state, replica.node_id, living=living, heard=effect.heard, isr_floor=effect.isr_floor)
        if changed is None:
            return False
        new = Assignment(
            changed.leader,
            changed.leader_incarnation,
            self.next_epoch(now),
            now.replicas,
            tuple(member for member in now.isr if member.node_id in changed.isr),
            -1,
            changed.given_up_by,
        )
        return self.write(new, expected_revision=now.revision)

    def forget_hand_overs(self, replica: ReplicaIdentity, now: Assignment) -> bool:
        if self.registrations.get(replica.node_id) != replica or not now.is_led_by(replica):
            return False
        return self.write(msgspec.structs.replace(now, given_up_by=()), expected_revision=now.revision)

    def next_epoch(self, now: Assignment) -> int:
        return now.leader_epoch + 1

    def _write_isr(self, isr: tuple[IsrMember, ...], expected_revision: int) -> tuple[ChangeOutcome, int]:
        now = self.assignment
        new = msgspec.structs.replace(now, isr=isr)
        if not self.write(new, expected_revision=expected_revision):
            return ChangeOutcome.REFUSED, -1
        return ChangeOutcome.DONE, self.assignment.revision
