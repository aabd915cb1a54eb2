"""What has to be done about one partition at once: pure, from its state, its topic and the membership.

In this order, all in one write, so that nobody is elected on what an earlier rule would have denied:

1. A decommissioned partition is marked, and one that its leader found empty is let go.
2. A replica whose data directory is another than the one it was in sync with leaves the ISR (rules R7, R8).
3. A leader that is dead, was started again, is about to leave or has a disk that takes nothing is followed by a member
   of the ISR that lives, and is better off.
4. A move whose new replicas are all in sync is completed (rule R15).
5. Dead members leave the ISR, so that writes need not wait for them; but never below the topic's min ISR: there
   nothing could be acknowledged anyway, and whoever stays may be elected when it returns. Members with disks that take
   nothing leave it where those without make the minimum.

A leader that is dead while nobody can follow it stays the leader: when it comes back in the same life, nothing was lost
and nothing has to be done.
"""

from dataclasses import dataclass, field

from msgspec.structs import replace

from cluster.controller.leadership import best_leader, is_led, led_by, reluctance, without_leader
from cluster.controller.steps import Decision, DecisionKind
from cluster.metadata.membership import Membership
from cluster.model.values import NO_LEADER, PartitionLife, PartitionState, Topic


@dataclass(frozen=True, slots=True)
class Ruling:
    """The partition's new state, and why."""

    state: PartitionState
    decisions: tuple[Decision, ...]


def rule(state: PartitionState, topic: Topic, membership: Membership) -> Ruling | None:
    """None when all is as it should be."""
    if state.life is PartitionLife.GONE:
        return None
    draft = _Draft(state, topic, membership, leader_epoch=state.leader_epoch)
    draft.mind_decommissioning()
    if draft.state.life is not PartitionLife.GONE:
        draft.mind_disks()
        draft.mind_leader()
        draft.mind_move()
        draft.mind_isr()
    if draft.state == state:
        return None
    return Ruling(replace(draft.state, partition_epoch=state.partition_epoch + 1), tuple(draft.decisions))


@dataclass(slots=True)
class _Draft:
    state: PartitionState
    topic: Topic
    membership: Membership
    leader_epoch: int
    decisions: list[Decision] = field(default_factory=list)

    def decide(self, kind: DecisionKind, reason: str, state: PartitionState) -> None:
        self.decisions.append(Decision(kind, state.topic_id, state.partition, reason))
        self.state = state

    def led_by(self, state: PartitionState, node_id: int) -> PartitionState:
        """One write takes one epoch, also where a second rule overrules the first."""
        return replace(led_by(state, node_id, self.membership), leader_epoch=self.leader_epoch + 1)

    def mind_decommissioning(self) -> None:
        state = self.state
        if state.partition not in self.topic.decommissioned:
            return
        if state.life is PartitionLife.ACTIVE:
            decommissioned = replace(state, life=PartitionLife.DECOMMISSIONED)
            self.decide(DecisionKind.PARTITION_DECOMMISSIONED, "it takes no new messages", decommissioned)
        elif state.life is PartitionLife.EMPTY:
            gone = replace(
                without_leader(state),
                life=PartitionLife.GONE,
                replicas=(),
                directories=(),
                isr=(),
                adding=(),
                removing=(),
                leader_epoch=state.leader_epoch + 1,
            )
            self.decide(DecisionKind.PARTITION_GONE, "decommissioned, and nothing is left in it", gone)

    def mind_disks(self) -> None:
        for node in self.state.replicas:
            registration = self.membership.get(node).registration
            if registration is None or not registration.directory_id:
                continue
            known = self.state.directory_of(node)
            if known == registration.directory_id:
                continue
            directories = tuple(
                registration.directory_id if each == node else self.state.directory_of(each)
                for each in self.state.replicas
            )
            state = replace(self.state, directories=directories)
            if not known:
                self.decide(DecisionKind.DIRECTORY_LEARNED, f"node {node} registered it", state)
                continue
            state = replace(state, isr=tuple(each for each in state.isr if each != node))
            if state.leader == node:
                state = without_leader(state)
            reason = f"node {node} came back with another data directory: its replica begins anew"
            self.decide(DecisionKind.DISK_REPLACED, reason, state)
            if not state.isr:
                reason = "no replica is left that was in sync; nobody is elected from those that were not"
                self.decide(DecisionKind.DATA_UNAVAILABLE, reason, state)

    def mind_leader(self) -> None:
        state, membership = self.state, self.membership
        is_well = is_led(state, membership)
        leader = membership.get(state.leader)
        if is_well and not (leader.is_leaving or leader.has_impaired_storage):
            return
        successor = best_leader(state, membership, among=state.replicas)
        if successor is None:
            return
        if is_well:
            if reluctance(membership.get(successor)) >= reluctance(leader):
                return
            fault = "has a disk that takes nothing" if leader.has_impaired_storage else "is about to stop"
            reason = f"node {successor} takes over from node {state.leader}, which {fault}"
            self.decide(DecisionKind.LEADERSHIP_MOVED, reason, self.led_by(state, successor))
            return
        if state.leader == NO_LEADER:
            fault = "there was no leader"
        elif leader.registration is None:
            fault = f"node {state.leader} is gone"
        else:
            fault = f"node {state.leader} was started again"
        reason = f"{fault}; node {successor} is in sync"
        self.decide(DecisionKind.LEADER_ELECTED, reason, self.led_by(state, successor))

    def mind_move(self) -> None:
        state, membership = self.state, self.membership
        if not state.is_moving or not all(node in state.isr and membership.get(node).is_live for node in state.adding):
            return
        target = state.target
        staying = tuple(node for node in state.isr if node in target)
        if len(staying) < min(self._isr_floor, len(target)):
            return
        if not (is_led(state, membership) and state.leader in target):
            successor = best_leader(state, membership, among=staying)
            if successor is None:
                return
            state = self.led_by(state, successor)
        state = replace(
            state,
            replicas=target,
            directories=tuple(state.directory_of(node) for node in target) if state.directories else (),
            isr=staying,
            adding=(),
            removing=(),
        )
        added, removed = _nodes(self.state.adding), _nodes(self.state.removing)
        self.decide(DecisionKind.MOVE_COMPLETED, f"added {added}, removed {removed}", state)

    def mind_isr(self) -> None:
        state = self.state
        if not is_led(state, self.membership):
            return
        dead = [node for node in reversed(state.isr) if not self.membership.get(node).is_live]
        removed = dead[: max(0, len(state.isr) - self._isr_floor)]
        if removed:
            isr = tuple(node for node in state.isr if node not in removed)
            self.decide(DecisionKind.ISR_SHRUNK, f"{_nodes(removed)} gone", replace(state, isr=isr))
        self._mind_impaired_disks()

    def _mind_impaired_disks(self) -> None:
        """All of them, or none where too few others are left to commit."""
        state = self.state
        members = {node: self.membership.get(node) for node in state.isr}
        well = tuple(node for node, member in members.items() if not member.has_impaired_storage)
        is_enough = sum(members[node].is_live for node in well) >= self._isr_floor
        if is_enough and state.leader in well and len(well) < len(state.isr):
            impaired = [node for node in state.isr if node not in well]
            reason = f"{_nodes(impaired)} with a disk that takes nothing"
            self.decide(DecisionKind.ISR_SHRUNK, reason, replace(state, isr=well))

    @property
    def _isr_floor(self) -> int:
        return max(1, self.topic.config.min_insync_replicas)


def _nodes(node_ids: tuple[int, ...] | list[int]) -> str:
    if not node_ids:
        return "none"
    return ("node " if len(node_ids) == 1 else "nodes ") + ", ".join(map(str, node_ids))
