"""The cluster, without `await`. What each method does stands with its twin in `async_cluster`."""

from collections.abc import Callable, Sequence

from acklog.client.async_cluster import AsyncCluster
from acklog.client.background import Background
from acklog.cluster import (
    ClusterNode,
    ClusterStatus,
    MoveOrder,
    MovePlan,
    UncleanElected,
    UncleanOrder,
    UncleanPlan,
)


class Cluster:
    """`client.cluster`. Every method raises AcklogError. Looking needs a token with the scope `read`, steering one with
    `admin`."""

    def __init__(self, background: Background, twin: Callable[[], AsyncCluster]) -> None:
        self._run = background.run
        self._twin = twin

    def status(self, *, limit: int | None = None) -> ClusterStatus:
        """How the cluster is, with so many moves and partitions in trouble at most (100 by default)."""
        return self._run(lambda: self._twin().status(limit=limit))

    def plan(
        self,
        *,
        drain: Sequence[int] = (),
        lost: Sequence[int] = (),
        moves: Sequence[MoveOrder] = (),
        limit: int | None = None,
    ) -> MovePlan:
        """A dry run: what would be moved if these nodes were drained, or away for too long, and these moves asked for.

        `limit` bounds the moves that are found (1,000 by default). Raises InvalidField, TopicNotFound.
        """
        return self._run(lambda: self._twin().plan(drain=drain, lost=lost, moves=moves, limit=limit))

    def drain(self, node: int) -> ClusterNode:
        """Move everything off the node, and nothing onto it; returns at once, see `status` for how far it is.

        Raises InvalidField: there is no such node, or it is the only one.
        """
        return self._run(lambda: self._twin().drain(node))

    def stop_draining(self, node: int) -> None:
        """The node may get replicas again, or is gone for good."""
        self._run(lambda: self._twin().stop_draining(node))

    def reassign(self, topic: str, partition: int, replicas: Sequence[int]) -> MoveOrder:
        """Move the partition's replicas to these nodes, the preferred leader first; returns at once.

        Raises TopicNotFound, InvalidField.
        """
        return self._run(lambda: self._twin().reassign(topic, partition, replicas))

    def cancel(self, topic: str, partition: int) -> None:
        """Take back the move of the partition that is under way, or asked for. Raises TopicNotFound, InvalidField."""
        self._run(lambda: self._twin().cancel(topic, partition))

    def plan_unclean(self, topic: str, partition: int, *, node: int | None = None) -> UncleanPlan:
        """A dry run of an unclean election: how far the replicas of a partition without a leader go, which one would be
        elected (the longest, or `node`), and what would be lost. Nothing is changed.

        Raises CleanElectionPossible, ReplicaNotElectable, TopicNotFound, PartitionNotFound.
        """
        return self._run(lambda: self._twin().plan_unclean(topic, partition, node=node))

    def elect_unclean(self, topic: str, partition: int, order: UncleanOrder) -> UncleanElected:
        """Elect the replica of a plan's `order`, which was not in sync: what it does not have is lost for good.

        Raises Conflict (something has changed since the plan), CleanElectionPossible, ReplicaNotElectable.
        """
        return self._run(lambda: self._twin().elect_unclean(topic, partition, order))

    def pause_moves(self) -> None:
        """Let replicas and preferred leaders rest. Elections, drains and moves that are asked for go on."""
        self._run(lambda: self._twin().pause_moves())

    def resume_moves(self) -> None:
        """Let the controller move replicas by itself again."""
        self._run(lambda: self._twin().resume_moves())
