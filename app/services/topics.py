"""Administration of topics."""

from collections.abc import Sequence
from urllib.parse import quote

import msgspec

from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.calls.groups import ProgressView
from app.calls.names import check_name
from app.calls.problem_item import problem_item
from app.calls.topics import (
    PartitionDescription,
    PartitionGroupView,
    PartitionView,
    TopicConfigFields,
    TopicDescription,
    TopicFields,
    TopicListing,
    TopicView,
)
from app.gateway.dependencies import Gateway
from app.gateway.routing import PartitionLeaders
from app.services.catalog import Catalog
from app.services.differences import differences, refuse_data_loss, refuse_differences
from app.services.fan_out import ask_each
from app.services.group_views import progress_view
from app.services.log_ends import LogEnds
from app.services.unclean_election import unclean_view
from cluster.catalog.topic_defaults import (
    check_cleanup,
    check_min_insync_replicas,
    check_replication_factor,
    default_replication_factor,
)
from cluster.errors import ServerError
from cluster.model.action import Action
from cluster.model.internal_topics import AUDIT_TOPIC
from cluster.model.values import GroupMode, Topic, TopicConfig
from storage.rpc.messages import PositionsResponse

DESCRIPTION_TIMEOUT_MS = 2_000
"""How long a description waits for leaders: with one that is away it is to tell so, and not to wait."""


class TopicService:
    """Every call raises ServerError; `catalog` says who may make it."""

    def __init__(self, gateway: Gateway, catalog: Catalog, leaders: PartitionLeaders, ends: LogEnds) -> None:
        self._ends = ends
        self._gateway = gateway
        self._catalog = catalog
        self._leaders = leaders

    async def create(
        self, name: str, fields: TopicFields, principal: Principal, *, restore_id: str = ""
    ) -> tuple[TopicView, bool]:
        """Create the topic; True when it was created, and not there with the settings that `fields` names. Where a
        restore is named, it is for that one to fill.

        Raises ServerError TOPIC_EXISTS (with others), INVALID_NAME, INVALID_FIELD.
        """
        principal.require_on_topic(Action.MANAGE, name)
        check_name(name, field="topic")
        existing = await self._catalog.latest_topic(name)
        if existing is not None:
            _refuse_other_settings(existing, fields)
            return topic_view(existing), False
        changes = fields.config or TopicConfigFields()
        nodes = await self._catalog.nodes()
        factor = fields.replication_factor or default_replication_factor(nodes)
        defaults = self._catalog.default_config(factor)
        config = changes.applied_to(defaults, defaults=defaults)
        check_replication_factor(factor, nodes)
        check_min_insync_replicas(config.min_insync_replicas, factor)
        check_cleanup(config)
        topic = await self._gateway.topics.get_or_create(
            name,
            partitions=fields.partitions or self._gateway.settings.partitions_default,
            config=config,
            replication_factor=factor,
            restore_id=restore_id,
        )
        _refuse_other_settings(topic, fields)  # somebody else may have made it meanwhile
        return topic_view(topic), True

    async def update(self, name: str, fields: TopicFields, principal: Principal, *, may_lose_data: bool) -> TopicView:
        """Change what `fields` names of the topic.

        Raises ServerError TOPIC_NOT_FOUND, DATA_LOSS_NOT_ALLOWED (unless it may), INVALID_FIELD.
        """
        principal.require_on_topic(Action.MANAGE, name)
        check_name(name, field="topic")
        topic = await self._catalog.latest_topic(name) or await self._catalog.topic(
            name, principal, Action.MANAGE, field="topic"
        )
        changes = fields.config or TopicConfigFields()
        factor = topic.replication_factor if fields.replication_factor is None else fields.replication_factor
        partitions = topic.partitions if fields.partitions is None else fields.partitions

        def revised(config: TopicConfig) -> TopicConfig:
            after = changes.applied_to(config, defaults=self._catalog.default_config(factor))
            if not may_lose_data:
                refuse_data_loss(config, after)
            return after

        config = revised(topic.config)
        if factor != topic.replication_factor:
            check_replication_factor(factor, await self._catalog.nodes())
        if partitions < topic.partitions:
            detail = (
                f"the topic has {topic.partitions} partitions; they cannot be taken away, "
                f"but decommissioned: PUT /topics/{quote(topic.name, safe='')}/decommissioned"
            )
            raise ServerError(ProblemCode.INVALID_FIELD, detail, field="partitions")
        check_min_insync_replicas(config.min_insync_replicas, factor)
        check_cleanup(config)
        if (partitions, config, factor) == (topic.partitions, topic.config, topic.replication_factor):
            return topic_view(topic)
        if partitions > topic.partitions:
            await self._refuse_where_keys_lose_order(topic, principal)
        updated = await self._gateway.topics.update(
            topic.name,
            partitions=None if partitions == topic.partitions else partitions,
            config=None if config == topic.config else revised,
            replication_factor=None if factor == topic.replication_factor else factor,
        )
        return topic_view(updated)

    async def decommission(self, name: str, partitions: Sequence[int], principal: Principal) -> TopicView:
        """Let these partitions take no new messages, for good. Raises ServerError TOPIC_NOT_FOUND, INVALID_FIELD."""
        topic = await self._catalog.topic(name, principal, Action.MANAGE, field="topic")
        await self._refuse_where_keys_lose_order(topic, principal)
        return topic_view(await self._gateway.topics.decommission(name, partitions))

    async def _refuse_where_keys_lose_order(self, topic: Topic, principal: Principal) -> None:
        """Keys would go elsewhere while a group has not done what is here, and nothing would say when it has. As far as
        it can be told now: who reads later is refused instead. Raises ServerError WRONG_GROUP_MODE."""
        if self._gateway.topics.keeps_order_when_changed(topic):
            return
        for answer in await self._positions(topic, range(topic.partitions)):
            positions = answer.groups if isinstance(answer, PositionsResponse) else []
            for group in [self._gateway.metadata.group_by_id(position.group_id) for position in positions]:
                if group is not None and group.mode is GroupMode.KEY_ORDERED:
                    name = (
                        f"the group {group.name!r}" if principal.may_on_group(Action.MANAGE, group.name) else "a group"
                    )
                    detail = f"{name} reads {topic.name!r} in the order of its keys"
                    raise ServerError(ProblemCode.WRONG_GROUP_MODE, detail, field="partitions")

    def list_page(self, principal: Principal, *, limit: int, after: str, with_internal: bool = False) -> TopicListing:
        """`with_internal`: Acklog's own as well, to a token for everything. Raises ServerError FORBIDDEN."""
        principal.require_somewhere(Action.LOOK)
        found: list[TopicView] = []
        for topic in self._catalog.operated_topics(principal) if with_internal else self._catalog.topics():
            if topic.name > after and principal.may_on_topic(Action.LOOK, topic.name):
                if len(found) == limit:
                    return TopicListing(found, found[-1].name)
                found.append(topic_view(topic))
        return TopicListing(found)

    async def describe(self, name: str, principal: Principal) -> TopicDescription:
        """With what each partition's leader says. Raises ServerError TOPIC_NOT_FOUND."""
        topic = await self._catalog.operated_topic(name, principal, Action.LOOK)
        view = topic_view(topic)
        numbers = range(topic.partitions)
        answers = await self._positions(topic, numbers)
        states = [self._partition_view(topic, number, answer) for number, answer in zip(numbers, answers, strict=True)]
        fields = {name: getattr(view, name) for name in TopicView.__struct_fields__}
        return TopicDescription(**fields, partition_states=states)

    async def describe_partition(self, name: str, partition: int, principal: Principal) -> PartitionDescription:
        """Raises ServerError TOPIC_NOT_FOUND, PARTITION_NOT_FOUND."""
        topic = await self._catalog.operated_partition(name, partition, principal, Action.LOOK)
        [answer] = await self._positions(topic, [partition])
        view = self._partition_view(topic, partition, answer)
        fields = {name: getattr(view, name) for name in PartitionView.__struct_fields__}
        return PartitionDescription(
            **fields, topic=topic.name, groups=self._groups(topic, partition, answer, principal)
        )

    def _groups(
        self, topic: Topic, partition: int, answer: PositionsResponse | ServerError | None, principal: Principal
    ) -> list[PartitionGroupView]:
        if not isinstance(answer, PositionsResponse):
            return []
        found = []
        for position in answer.groups:
            group = self._gateway.metadata.group_by_id(position.group_id)
            progress = None if group is None else progress_view(topic, partition, answer, group)
            if group is not None and progress is not None and principal.knows_group(group.name):
                fields = {name: getattr(progress, name) for name in ProgressView.__struct_fields__}
                found.append(PartitionGroupView(**fields, group=group.name))
        return sorted(found, key=lambda each: each.group)

    async def _positions(self, topic: Topic, partitions: Sequence[int]) -> list[PositionsResponse | ServerError | None]:
        """What the leader of each says, or why it says nothing; None for a partition that is gone."""
        timeout_ms = min(DESCRIPTION_TIMEOUT_MS, self._gateway.settings.request_timeout_ms)
        deadline_ms = self._leaders.deadline_in(timeout_ms)

        async def positions(partition: int) -> PositionsResponse | None:
            if self._leaders.is_gone(topic.id, partition):
                return None
            return await self._ends.positions(topic.id, partition, deadline_ms=deadline_ms)

        return await ask_each(partitions, positions)

    def _partition_view(
        self, topic: Topic, partition: int, answer: PositionsResponse | ServerError | None
    ) -> PartitionView:
        state = self._gateway.metadata.partition(topic.id, partition)
        view = PartitionView(partition, None, None, [], [])
        if state is not None:
            view.leader = state.leader if state.leader >= 0 else None
            view.leader_epoch = state.leader_epoch
            view.replicas = list(state.replicas)
            view.in_sync_replicas = list(state.isr)
            view.moving_to = list(state.target) if state.is_moving else None
            view.life = state.life
            view.unclean_election = unclean_view(state)
        if isinstance(answer, ServerError):
            view.problem = problem_item(answer)
        elif answer is not None:
            view.log_start = answer.log_start
            view.high_watermark = answer.high_watermark
            view.size_bytes = answer.size_bytes
        return view

    async def delete(self, name: str, principal: Principal) -> None:
        """One of Acklog's own, too: it is made anew when it is needed; but for the audit log. Raises ServerError
        TOPIC_NOT_FOUND, INVALID_NAME."""
        await self._catalog.operated_topic(name, principal, Action.MANAGE)
        if name == AUDIT_TOPIC:
            check_name(name, field="topic")
        await self._gateway.topics.delete(name)


def _refuse_other_settings(topic: Topic, fields: TopicFields) -> None:
    """Raises ServerError TOPIC_EXISTS."""
    plain = msgspec.structs.replace(fields, config=None)
    found = [*differences(topic, plain), *differences(topic.config, fields.config, path="config.")]
    refuse_differences(ProblemCode.TOPIC_EXISTS, f"/topics/{quote(topic.name, safe='')}", found)


def topic_view(topic: Topic) -> TopicView:
    """As the API shows it."""
    return TopicView(
        topic.name,
        topic.id,
        topic.partitions,
        topic.replication_factor,
        topic.created_at_ms,
        topic.config,
        list(topic.decommissioned),
        topic.is_restoring,
    )
