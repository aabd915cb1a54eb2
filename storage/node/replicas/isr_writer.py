"""Does what partition leaders want changed in the coordination store: compare-and-set, and never from memory alone.

Reads come from the metadata's copy. That is safe, as every transaction compares the revisions of what was read; where
the copy is behind, the change is refused and proposed anew.
"""

import asyncio
from collections.abc import Collection, Container, Iterable

import msgspec

from cluster.metadata.metadata_view import MetadataView
from cluster.model import keys
from cluster.model.codec import decode, encode
from cluster.model.hand_over import hand_overs_forgotten, handed_over
from cluster.model.mapping_starts import latest_mapping, started
from cluster.model.partition_change import without_damaged
from cluster.model.values import PartitionState
from cluster.ports.coordination import (
    Compare,
    CompareTarget,
    CoordinationError,
    CoordinationStore,
    OutcomeUnknownError,
    Put,
)
from storage.node.replicas.isr_figures import IsrFigures
from storage.node.replicas.joint_transactions import JointTransactions
from storage.replication.assignment import IsrMember, ReplicaIdentity, assignment_of
from storage.replication.isr import ChangeOutcome, IsrChange
from storage.replication.leader_events import AssignmentSeen, AssignmentUnreadable, IsrChangeEnded
from storage.replication.messages import PartitionId


class IsrWriter:
    """Of one node. `changes_at_once` bounds the reads that are under way. Changes go together, one transaction at a
    time; a partition has at most one on its way."""

    def __init__(
        self, store: CoordinationStore, metadata: MetadataView, figures: IsrFigures, *, changes_at_once: int
    ) -> None:
        self._figures = figures
        self._store = store
        self._metadata = metadata
        self._permits = asyncio.Semaphore(changes_at_once)
        self._transactions = JointTransactions(store)

    async def change(self, partition: PartitionId, change: IsrChange) -> IsrChangeEnded:
        """What became of the change."""
        try:
            outcome, revision = await self._change(partition, change)
        except OutcomeUnknownError:
            outcome, revision = ChangeOutcome.UNKNOWN, -1
        except CoordinationError:
            outcome, revision = ChangeOutcome.NOT_DONE, -1
        self._figures.not_done += outcome is not ChangeOutcome.DONE
        return IsrChangeEnded(change.serial, outcome, revision)

    async def read(self, partition: PartitionId) -> AssignmentSeen | AssignmentUnreadable:
        """The partition's key, from the store itself."""
        async with self._permits:
            try:
                item = await self._store.get(keys.partition(partition.topic_id, partition.partition))
                if item is None:
                    return AssignmentUnreadable()
                state = decode(PartitionState, item.value)
            except (CoordinationError, msgspec.DecodeError):
                return AssignmentUnreadable()
        return AssignmentSeen(assignment_of(state, revision=item.mod_revision))

    async def give_up(
        self, partition: PartitionId, replica: ReplicaIdentity, *, isr_floor: int, followers: Container[int]
    ) -> bool:
        """Take the replica out of the ISR and its leadership from it, as its copy is damaged. False: it was not done,
        or nobody knows; the partition's key will tell.

        A leader makes room only for `followers` that it has heard lately: who has just died is registered for a while.
        """
        key = keys.partition(partition.topic_id, partition.partition)
        state = self._metadata.partition(partition.topic_id, partition.partition)
        if state is None:
            return False
        leads = state.leader == replica.node_id
        living = {each.node_id: each for each in self._metadata.nodes() if not leads or each.node_id in followers}
        changed = without_damaged(state, replica.node_id, living=living, isr_floor=isr_floor)
        if changed is None:
            return False
        registered = [replica]
        if changed.leader != state.leader:
            successor = living[changed.leader]
            registered.append(ReplicaIdentity(successor.node_id, successor.incarnation, successor.directory_id))
        return await self._write(key, changed, registered)

    async def hand_over(
        self, partition: PartitionId, replica: ReplicaIdentity, *, isr_floor: int, heard: Collection[int]
    ) -> int | None:
        """Give the leadership of the replica, which cannot commit, to another member of the ISR: which one. None: it
        was not done, or nobody knows; the partition's key will tell."""
        key = keys.partition(partition.topic_id, partition.partition)
        state = self._metadata.partition(partition.topic_id, partition.partition)
        if state is None:
            return None
        living = {each.node_id: each for each in self._metadata.nodes()}
        changed = handed_over(state, replica.node_id, living=living, heard=heard, isr_floor=isr_floor)
        if changed is None:
            return None
        successor = living[changed.leader]
        identity = ReplicaIdentity(successor.node_id, successor.incarnation, successor.directory_id)
        is_done = await self._write(key, changed, (replica, identity))
        return changed.leader if is_done else None

    def has_started(self, partition: PartitionId, mapping: int) -> bool:
        """Whether the metadata shows that the mapping has begun there."""
        state = self._metadata.partition(partition.topic_id, partition.partition)
        return state is not None and latest_mapping(state) >= mapping

    async def start_mapping(
        self, partition: PartitionId, node_id: int, *, leader_epoch: int, mapping: int, offset: int
    ) -> None:
        """The node, which leads in this epoch, has nothing at `offset` or above that an earlier mapping put there.
        Whether it was done the partition's key will tell."""
        key = keys.partition(partition.topic_id, partition.partition)
        state = self._metadata.partition(partition.topic_id, partition.partition)
        if state is None or (state.leader, state.leader_epoch) != (node_id, leader_epoch):
            return
        changed = started(state, mapping, offset)
        if changed is not None:
            await self._write(key, changed, ())  # while the key says that it leads it does, registered or not

    async def forget_hand_overs(self, partition: PartitionId, replica: ReplicaIdentity) -> None:
        """`replica` leads. Whether it was done the partition's key will tell."""
        key = keys.partition(partition.topic_id, partition.partition)
        state = self._metadata.partition(partition.topic_id, partition.partition)
        changed = None if state is None or state.leader != replica.node_id else hand_overs_forgotten(state)
        if changed is not None:
            await self._write(key, changed, (replica,))

    async def _write(self, key: str, state: PartitionState, registered: Iterable[ReplicaIdentity]) -> bool:
        """If the key is at the revision that the metadata shows, and these are registered exactly so."""
        compares = [
            Compare(key, CompareTarget.MOD_REVISION, self._metadata.revision_of(key)),
            *(self._registered(identity) for identity in registered),
        ]
        guards = [each for each in compares if each is not None]
        if len(guards) < len(compares):
            return False
        try:
            return (await self._transactions.transact(guards, Put(key, encode(state)))).succeeded
        except CoordinationError:
            return False

    async def _change(self, partition: PartitionId, change: IsrChange) -> tuple[ChangeOutcome, int]:
        key = keys.partition(partition.topic_id, partition.partition)
        guards = [self._registered(identity) for identity in change.registered]
        if None in guards:
            return ChangeOutcome.NOT_DONE, -1  # nothing was sent, so there is nothing to find out from the store
        state = await self._state(partition, key, change.expected_revision)
        if state is None:
            return ChangeOutcome.REFUSED, -1
        compares = [Compare(key, CompareTarget.MOD_REVISION, change.expected_revision)]
        compares += [guard for guard in guards if guard is not None]
        result = await self._transactions.transact(compares, Put(key, encode(_with_isr(state, change.isr))))
        if not result.succeeded:
            return ChangeOutcome.REFUSED, -1
        self._figures.changed(members_before=len(state.isr), members=len(change.isr))
        return ChangeOutcome.DONE, result.revision

    async def _state(self, partition: PartitionId, key: str, revision: int) -> PartitionState | None:
        """The partition as of exactly this revision; None when it is at another one. Raises CoordinationError."""
        if self._metadata.revision_of(key) == revision:
            return self._metadata.partition(partition.topic_id, partition.partition)
        async with self._permits:
            item = await self._store.get(key)
        if item is None or item.mod_revision != revision:
            return None
        return decode(PartitionState, item.value)

    def _registered(self, identity: ReplicaIdentity) -> Compare | None:
        """Holds while the node is registered in this very life with this very directory; None: it is not (rule R8)."""
        registration = self._metadata.node(identity.node_id)
        if registration is None or registration.incarnation != identity.incarnation:
            return None
        if registration.directory_id != identity.directory_id:
            return None
        key = keys.node(identity.node_id)
        return Compare(key, CompareTarget.MOD_REVISION, self._metadata.revision_of(key))


def _with_isr(state: PartitionState, isr: tuple[IsrMember, ...]) -> PartitionState:
    """The places of those in the new ISR belong to the directories that earned them. Who joins has got its log from
    the leader, and is not damaged any more."""
    earned = {member.node_id: member.directory_id for member in isr}
    directories = tuple(earned.get(node, state.directory_of(node)) for node in state.replicas)
    return msgspec.structs.replace(
        state,
        isr=tuple(member.node_id for member in isr),
        directories=directories,
        partition_epoch=state.partition_epoch + 1,
        damaged=tuple(node for node in state.damaged if node in earned and node in state.isr),
    )
