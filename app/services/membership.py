"""Being a member of an exclusive group, for whoever receives by one: heartbeats to the group's coordinator.

The coordinator is the leader of the group's partition of the topic `__groups`, which the first call makes.
"""

from collections.abc import Awaitable, Sequence

from acklog.wire.problems import ProblemCode
from app.calls.members import Subscription
from app.gateway.dependencies import Gateway
from app.gateway.routing import PartitionLeaders, Try
from app.services.catalog import Catalog
from app.services.node_lag import RETRY_AFTER_MS, answer_of_node
from cluster.catalog.topic_defaults import default_min_insync_replicas, default_replication_factor
from cluster.errors import ServerError
from cluster.model.internal_topics import GROUPS_PARTITIONS, GROUPS_TOPIC, coordinator_partition, groups_topic_config
from cluster.model.values import Group, Topic
from storage.rpc.membership_messages import (
    JOIN,
    LEAVE,
    HeartbeatRequest,
    HeartbeatResponse,
    MembersRequest,
    MembersResponse,
    Ownership,
)
from storage.rpc.node_api import NodeApi


class GroupMembership:
    """Calls raise ServerError: MEMBER_UNKNOWN, MEMBER_FENCED, MEMBER_EXISTS, WRONG_GROUP_MODE, OVERLOADED,
    TOPIC_NOT_FOUND where a topic that the member subscribes to by its name was deleted, and what routing raises while
    nobody coordinates."""

    def __init__(self, gateway: Gateway, catalog: Catalog, leaders: PartitionLeaders) -> None:
        self._gateway = gateway
        self._catalog = catalog
        self._leaders = leaders

    async def heartbeat(
        self,
        group: Group,
        member: str,
        subscription: Subscription,
        *,
        member_epoch: int = JOIN,
        known_epoch: int = 0,
        wait_ms: int = 0,
        overtaken: Sequence[Ownership] = (),
    ) -> HeartbeatResponse:
        """As `HeartbeatRequest`: the member's assignment, at once if its epoch is not `known_epoch`, else when it
        changes or after `wait_ms`. It is repeated while the coordinator changes; cancelling it ends the wait there."""
        place, metadata = await self._groups_topic(), self._gateway.metadata
        partition = coordinator_partition(group.id, place)
        until_ms = self._leaders.deadline_in(wait_ms)

        def beat(node: NodeApi, _attempt: Try) -> Awaitable[HeartbeatResponse]:
            request = HeartbeatRequest(
                partition,
                group.id,
                member,
                member_epoch,
                list(subscription.topic_ids),
                list(subscription.patterns),
                subscription.rack,
                subscription.session_timeout_ms,
                subscription.is_static,
                subscription.instance_id,
                known_epoch,
                max(0, self._leaders.remaining_ms(until_ms)),
                list(overtaken),
                topics_must_exist=True,
            )
            topic_ids = subscription.topic_ids or None
            return answer_of_node(node.heartbeat(request), metadata, group_id=group.id, topic_ids=topic_ids)

        deadline_ms = until_ms + self._gateway.settings.request_timeout_ms
        try:
            return await self._leaders.change(place.id, partition, beat, deadline_ms=deadline_ms)
        except ServerError as error:
            if error.code is not ProblemCode.TOPIC_NOT_FOUND or metadata.topic_by_id(place.id) is not None:
                raise
            detail = "the group's coordinator is made anew: its topic was deleted"
            raise ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=RETRY_AFTER_MS) from None

    async def leave(self, group: Group, member: str) -> None:
        """The member's partitions are others' at once."""
        await self.heartbeat(group, member, Subscription(()), member_epoch=LEAVE)

    async def members(self, group: Group) -> MembersResponse:
        """As the group's coordinator knows them."""
        place = self._gateway.metadata.topic(GROUPS_TOPIC)
        if place is None:
            return MembersResponse(0, [])
        request = MembersRequest(coordinator_partition(group.id, place), group.id)

        def ask(node: NodeApi, _remaining_ms: int) -> Awaitable[MembersResponse]:
            return answer_of_node(node.members(request), self._gateway.metadata, group_id=group.id)

        deadline_ms = self._leaders.deadline_in(self._gateway.settings.request_timeout_ms)
        return await self._leaders.call(place.id, request.partition, ask, deadline_ms=deadline_ms)

    async def prepare(self) -> None:
        """Have the topic `__groups`, with as many replicas as a topic gets that is made now: it may have been made when
        there was one node. What it demands to be in sync is raised once that many are."""
        topic = await self._groups_topic()
        factor = default_replication_factor(await self._catalog.nodes())
        min_insync = default_min_insync_replicas(factor)
        if topic.replication_factor < factor:
            await self._gateway.topics.update(GROUPS_TOPIC, replication_factor=factor)
        elif topic.config.min_insync_replicas < min_insync and self._has_in_sync(topic, min_insync):
            await self._gateway.topics.update(GROUPS_TOPIC, config=groups_topic_config(min_insync))

    def _has_in_sync(self, topic: Topic, replicas: int) -> bool:
        return all(len(state.isr) >= replicas for state in self._gateway.metadata.partitions(topic.id))

    async def _groups_topic(self) -> Topic:
        topic = self._gateway.metadata.topic(GROUPS_TOPIC)
        if topic is not None:
            return topic
        factor = default_replication_factor(await self._catalog.nodes())
        return await self._gateway.topics.get_or_create(
            GROUPS_TOPIC,
            partitions=GROUPS_PARTITIONS,
            config=groups_topic_config(default_min_insync_replicas(factor)),
            replication_factor=factor,
        )
