"""Who holds a partition, as its replicas see it: a revision of the partition's key in the coordination store."""

import msgspec

from cluster.model.values import NO_LEADER, PartitionState

NO_EPOCH = -1


class ReplicaIdentity(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A node in one of its lives, with the data directory that it lives in. An empty directory gets a new id: what was
    said of the old one is not true of it. An old copy of a directory keeps its id, so it must never be put back; one
    of before its last start is refused."""

    node_id: int
    incarnation: int
    directory_id: str


class IsrMember(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A place in the ISR belongs to a data directory: the same node with another one is not in it."""

    node_id: int
    directory_id: str


class Assignment(msgspec.Struct, frozen=True):
    """`revision` is the one at which the key was last written. `given_up_by` are nodes that have handed the leadership
    over of late, as they could not commit, the last one last. `unclean_epoch` is that of the last unclean election:
    what was committed before it binds nobody who follows since.

    Within one leader epoch only its leader adds to the ISR; the controller may remove from it, and takes the next epoch
    for everything else. So a leader's committed and proposed members together are never fewer than the true ones.
    """

    leader: int
    leader_incarnation: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[IsrMember, ...]
    revision: int
    given_up_by: tuple[int, ...] = ()
    unclean_epoch: int = NO_EPOCH

    @property
    def has_leader(self) -> bool:
        return self.leader != NO_LEADER

    def is_led_by(self, replica: ReplicaIdentity) -> bool:
        """Leadership is bound to a life of the node: one that began anew waits for a new epoch (rules R1, R10)."""
        return self.leader == replica.node_id and self.leader_incarnation == replica.incarnation


def assignment_of(state: PartitionState, *, revision: int) -> Assignment:
    """The replication's view of what the coordination store holds."""
    return Assignment(
        leader=state.leader,
        leader_incarnation=state.leader_incarnation,
        leader_epoch=state.leader_epoch,
        replicas=state.replicas,
        isr=tuple(IsrMember(node_id, state.directory_of(node_id)) for node_id in state.isr),
        revision=revision,
        given_up_by=state.given_up_by,
        unclean_epoch=NO_EPOCH if state.unclean_election is None else state.unclean_election.leader_epoch,
    )
