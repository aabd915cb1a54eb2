"""Where operators' wishes are checked and written: the controller reads them there and carries them out."""

import asyncio
from collections.abc import Sequence

import msgspec
import structlog

from acklog.wire.problems import ProblemCode
from cluster.catalog.catalog_change import CatalogChanger, CatalogSettings, NothingToWrite, Step, Write, not_found
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model import keys
from cluster.model.codec import decode, encode
from cluster.model.projected_offsets import ProjectedOffsets
from cluster.model.steering import ClusterSteering, NodeSteering, OrderKind, PartitionOrder
from cluster.model.unclean_election import Loss, ReplicaReport, elected_unclean, refuse_while_clean, why_not
from cluster.model.values import Group, PartitionLife, PartitionState, Topic
from cluster.ports.clock import Clock
from cluster.ports.coordination import (
    Compare,
    CompareTarget,
    CoordinationError,
    CoordinationStore,
    Delete,
    KeyValue,
    Put,
    absent,
    unchanged,
)

READ_AT_ONCE = 64
"""Keys of groups' progress."""

logger = structlog.get_logger(__name__)


class ClusterAdmin:
    """Every call returns once its wish is stored and shows in the metadata view; progress is to be looked at
    (`cluster.controller.progress`). Raises ServerError: UNAVAILABLE, CONFLICT, OUTCOME_UNKNOWN, TIMED_OUT beside what
    each names."""

    def __init__(
        self,
        store: CoordinationStore,
        metadata: MetadataView,
        *,
        clock: Clock,
        settings: CatalogSettings | None = None,
    ) -> None:
        self._store = store
        self._metadata = metadata
        self._clock = clock
        self._changer = CatalogChanger(store, metadata, clock, settings or CatalogSettings())

    async def store_answers(self, *, within_ms: int) -> bool:
        """Whether the coordination store can be reached now: one look at a key, so long at most."""
        try:
            async with asyncio.timeout(within_ms / 1000):
                await self._store.get(keys.CONTROLLER)
        except (CoordinationError, TimeoutError):
            return False
        return True

    # --- nodes -------------------------------------------------------------------------------------------------------

    def check_drain(self, node_id: int) -> None:
        """Raises ServerError INVALID_FIELD: the node holds nothing, or no node would be left to take what it holds."""
        membership = self._metadata.steering.membership
        holds_replicas = any(
            node_id in state.replicas
            for topic in self._metadata.topics()
            for state in self._metadata.partitions(topic.id)
        )
        if not membership.get(node_id).is_live and not holds_replicas:
            known = ", ".join(str(node.node_id) for node in self._metadata.nodes())
            detail = f"node {node_id} is not registered and holds no replicas; registered are: {known or 'none'}"
            raise _invalid("node", detail)
        if membership.get(node_id).is_draining:
            return
        if not any(member.node_id != node_id for member in membership.usable()):
            detail = f"no node but node {node_id} could take replicas now: start another one first, then drain it"
            raise _invalid("node", detail)

    async def drain(self, node_id: int) -> None:
        """Move everything off the node, and nothing onto it. Raises ServerError as `check_drain` does."""
        self.check_drain(node_id)
        value = NodeSteering(node_id, self._clock.now_ms())

        def decide(item: KeyValue | None) -> Step:
            if item is not None:
                return NothingToWrite()
            return Write([absent(keys.node_steering(node_id))], [Put(keys.node_steering(node_id), encode(value))])

        await self._changer.change(keys.node_steering(node_id), decide)

    async def stop_draining(self, node_id: int) -> None:
        """The node may get replicas and leaderships again, or is gone for good."""
        await self._remove(keys.node_steering(node_id))

    # --- partitions --------------------------------------------------------------------------------------------------

    def order(self, topic_name: str, partition: int, replicas: Sequence[int]) -> PartitionOrder:
        """The order that `reassign` would give: the partition's replicas are to be these, the preferred leader first.

        Raises ServerError TOPIC_NOT_FOUND, INVALID_FIELD (no such partition; nodes that do not exist or are named
        twice; another number of replicas than the topic asks for).
        """
        topic = self._topic(topic_name, partition)
        registered = [node.node_id for node in self._metadata.nodes()]
        unknown = [node for node in replicas if node not in registered]
        if unknown:
            raise _invalid("replicas", f"node {unknown[0]} is not registered; registered are: {registered}")
        if len(set(replicas)) != len(replicas):
            raise _invalid("replicas", "names a node twice")
        if len(replicas) != topic.replication_factor:
            detail = f"must name {topic.replication_factor} nodes, as many as {topic_name!r} has replicas"
            raise _invalid("replicas", detail)
        return PartitionOrder(topic.id, partition, self._clock.now_ms(), OrderKind.MOVE, tuple(replicas))

    async def reassign(self, topic_name: str, partition: int, replicas: Sequence[int]) -> PartitionOrder:
        """Have the partition's replicas moved to these nodes. Raises ServerError as `order` does."""
        order = self.order(topic_name, partition, replicas)
        await self._give(order)
        return order

    async def cancel(self, topic_name: str, partition: int) -> None:
        """Take back the move of the partition's replicas that is under way, or ordered.

        Raises ServerError TOPIC_NOT_FOUND, INVALID_FIELD (no such partition). Unless automatic moves are paused, the
        controller may find the same move again.
        """
        topic = self._topic(topic_name, partition)
        await self._give(PartitionOrder(topic.id, partition, self._clock.now_ms(), OrderKind.CANCEL))

    async def elect_unclean(
        self, topic_name: str, partition: int, chosen: ReplicaReport, loss: Loss, *, revision: int
    ) -> PartitionState:
        """Have a replica lead that was not in sync, as of `revision` of the partition's key (rule R9): what the
        partition is then. It is done in one transaction, or not at all.

        Raises ServerError TOPIC_NOT_FOUND, INVALID_FIELD, CLEAN_ELECTION_POSSIBLE, REPLICA_NOT_ELECTABLE, CONFLICT
        (the partition is not as of that revision any more).
        """
        topic = self._topic(topic_name, partition)
        key = keys.partition(topic.id, partition)
        now_ms = self._clock.now_ms()

        def decide(item: KeyValue | None) -> Step:
            state = None if item is None else decode(PartitionState, item.value)
            if item is None or state is None:
                raise ServerError(ProblemCode.CONFLICT, "The partition is gone.")
            mark = state.unclean_election
            if mark is not None and (mark.node, mark.at_ms) == (chosen.node, now_ms) and item.mod_revision != revision:
                return NothingToWrite()
            if item.mod_revision != revision:
                detail = f"The partition has changed since it was looked at: it is at revision {item.mod_revision}."
                raise ServerError(ProblemCode.CONFLICT, detail)
            living = {node.node_id: node for node in self._metadata.nodes()}
            refuse_while_clean(state, living)
            reason = why_not(chosen, state, living)
            if reason is not None:
                raise ServerError(ProblemCode.REPLICA_NOT_ELECTABLE, f"Node {chosen.node}: {reason}.")
            guards = [unchanged(item), *(self._as_seen(node) for node in sorted({chosen.node, *state.isr}))]
            return Write(guards, [Put(key, encode(elected_unclean(state, chosen, loss, now_ms=now_ms)))])

        await self._changer.change(key, decide)
        state = self._metadata.partition(topic.id, partition)
        if state is None:
            raise ServerError(ProblemCode.CONFLICT, "The partition is gone.")
        return state

    async def progress_of(self, topic_id: str, partition: int) -> dict[str, int]:
        """How far groups were in the partition, by name, as its leaders last said: all below was committed. What cannot
        be read of one group is told in the log and hides no other (rule R40).

        Raises ServerError UNAVAILABLE.
        """
        groups = self._metadata.groups()
        found: dict[str, int] = {}
        try:
            for start in range(0, len(groups), READ_AT_ONCE):
                part = groups[start : start + READ_AT_ONCE]
                items = await asyncio.gather(*[self._store.get(keys.offsets(each.id, topic_id)) for each in part])
                for group, item in zip(part, items, strict=True):
                    projected = _projected(group, item)
                    if projected is not None and str(partition) in projected.partitions:
                        found[group.name] = projected.partitions[str(partition)].offset
        except CoordinationError as error:
            detail = f"The coordination store cannot say how far groups were: {error}."
            raise ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=1000) from error
        return found

    def _as_seen(self, node_id: int) -> Compare:
        """Holds while the node's registration is the one that the metadata shows, or there is none."""
        key = keys.node(node_id)
        revision = self._metadata.revision_of(key)
        return Compare(key, CompareTarget.MOD_REVISION, max(revision, 0))

    # --- the cluster -------------------------------------------------------------------------------------------------

    async def pause_moves(self) -> None:
        """Repair, balance and preferred leaders rest; elections, drains and orders go on."""
        value = encode(ClusterSteering(automatic_moves=False))

        def decide(item: KeyValue | None) -> Step:
            if item is not None and item.value == value:
                return NothingToWrite()
            guard = absent(keys.STEERING_CLUSTER) if item is None else unchanged(item)
            return Write([guard], [Put(keys.STEERING_CLUSTER, value)])

        await self._changer.change(keys.STEERING_CLUSTER, decide)

    async def resume_moves(self) -> None:
        await self._remove(keys.STEERING_CLUSTER)

    # --- writing -----------------------------------------------------------------------------------------------------

    async def _give(self, order: PartitionOrder) -> None:
        key = keys.partition_order(order.topic_id, order.partition)

        def decide(item: KeyValue | None) -> Step:
            """After an unknown outcome an order may be carried out and deleted already: given again, it is done at
            once, for it names where the replicas are to be, not a way there."""
            if item is not None and decode(PartitionOrder, item.value) == order:
                return NothingToWrite()
            return Write([absent(key) if item is None else unchanged(item)], [Put(key, encode(order))])

        await self._changer.change(key, decide)

    async def _remove(self, key: str) -> None:
        def decide(item: KeyValue | None) -> Step:
            return NothingToWrite() if item is None else Write([unchanged(item)], [Delete(key)])

        await self._changer.change(key, decide)

    def _topic(self, name: str, partition: int) -> Topic:
        topic = self._metadata.topic(name)
        if topic is None:
            names = [each.name for each in self._metadata.topics()]
            raise not_found(ProblemCode.TOPIC_NOT_FOUND, "topic", name, names)
        if not 0 <= partition < topic.partitions:
            raise _invalid("partition", f"{name!r} has the partitions 0 to {topic.partitions - 1}")
        state = self._metadata.partition(topic.id, partition)
        if state is not None and state.life is PartitionLife.GONE:
            raise _invalid("partition", f"{partition} of {name!r} was decommissioned, and is gone")
        return topic


def _projected(group: Group, item: KeyValue | None) -> ProjectedOffsets | None:
    try:
        return None if item is None else decode(ProjectedOffsets, item.value)
    except msgspec.DecodeError as error:
        logger.warning("group_progress_unreadable", group=group.name, reason=str(error))
        return None


def _invalid(field: str, detail: str) -> ServerError:
    return ServerError(ProblemCode.INVALID_FIELD, detail, field=field)
