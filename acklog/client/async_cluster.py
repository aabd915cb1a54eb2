"""The cluster, for `await`."""

from collections.abc import Sequence

from acklog.client import cluster_calls
from acklog.client.caller import Caller
from acklog.cluster import (
    ClusterNode,
    ClusterStatus,
    MoveOrder,
    MovePlan,
    UncleanElected,
    UncleanOrder,
    UncleanPlan,
)


class AsyncCluster:
    """`client.cluster`. Every method raises AcklogError. Looking needs a token with the scope `read`, steering one with
    `admin`."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def status(self, *, limit: int | None = None) -> ClusterStatus:
        """How the cluster is, with so many moves and partitions in trouble at most (100 by default)."""
        return await self._caller.perform(cluster_calls.status(limit))

    async def plan(
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
        return await self._caller.perform(cluster_calls.plan(drain=drain, lost=lost, moves=moves, limit=limit))

    async def drain(self, node: int) -> ClusterNode:
        """Move everything off the node, and nothing onto it; returns at once, see `status` for how far it is.

        Raises InvalidField: there is no such node, or it is the only one.
        """
        return await self._caller.perform(cluster_calls.drain(node))

    async def stop_draining(self, node: int) -> None:
        """The node may get replicas again, or is gone for good."""
        await self._caller.perform(cluster_calls.stop_draining(node))

    async def reassign(self, topic: str, partition: int, replicas: Sequence[int]) -> MoveOrder:
        """Move the partition's replicas to these nodes, the preferred leader first; returns at once.

        Raises TopicNotFound, InvalidField.
        """
        return await self._caller.perform(cluster_calls.reassign(topic, partition, replicas))

    async def cancel(self, topic: str, partition: int) -> None:
        """Take back the move of the partition that is under way, or asked for. Raises TopicNotFound, InvalidField."""
        await self._caller.perform(cluster_calls.cancel(topic, partition))

    async def plan_unclean(self, topic: str, partition: int, *, node: int | None = None) -> UncleanPlan:
        """A dry run of an unclean election: how far the replicas of a partition without a leader go, which one would be
        elected (the longest, or `node`), and what would be lost. Nothing is changed.

        Raises CleanElectionPossible, ReplicaNotElectable, TopicNotFound, PartitionNotFound.
        """
        return await self._caller.perform(cluster_calls.plan_unclean(topic, partition, node))

    async def elect_unclean(self, topic: str, partition: int, order: UncleanOrder) -> UncleanElected:
        """Elect the replica of a plan's `order`, which was not in sync: what it does not have is lost for good.

        Raises Conflict (something has changed since the plan), CleanElectionPossible, ReplicaNotElectable.
        """
        return await self._caller.perform(cluster_calls.elect_unclean(topic, partition, order))

    async def pause_moves(self) -> None:
        """Let replicas and preferred leaders rest. Elections, drains and moves that are asked for go on."""
        await self._caller.perform(cluster_calls.pause_moves())

    async def resume_moves(self) -> None:
        """Let the controller move replicas by itself again."""
        await self._caller.perform(cluster_calls.resume_moves())
