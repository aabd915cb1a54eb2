"""Administration of topics."""

import msgspec

from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal, Scope
from app.dependencies import Gateway
from app.parsing.names import check_name
from app.parsing.topics import TopicConfigFields, TopicFields
from app.problem_item import ProblemItem, problem_item
from app.routing import PartitionLeaders
from app.services.catalog import Catalog, default_replication_factor
from app.services.fan_out import ask_each
from cluster.errors import AcklogError
from cluster.model import Topic, TopicConfig
from storage.rpc.messages import PositionsRequest, PositionsResponse


class PartitionView(msgspec.Struct, rename="camel"):
    """`leader` is null while there is none; the offsets are null, with a `problem`, while it cannot be asked."""

    partition: int
    leader: int | None
    leader_epoch: int | None
    replicas: list[int]
    in_sync_replicas: list[int]
    log_start: int | None = None
    high_watermark: int | None = None
    size_bytes: int | None = None
    problem: ProblemItem | None = None


class TopicView(msgspec.Struct, rename="camel"):
    name: str
    id: str
    partitions: int
    replication_factor: int
    created_at: int
    config: TopicConfig


class TopicDescription(TopicView):
    partition_states: list[PartitionView]


class TopicListing(msgspec.Struct, omit_defaults=True):
    """`next` is there when there is more: ask again with `after` set to it."""

    topics: list[TopicView]
    next: str | None = None


class TopicService:
    def __init__(self, gateway: Gateway, catalog: Catalog, leaders: PartitionLeaders) -> None:
        self._gateway = gateway
        self._catalog = catalog
        self._leaders = leaders

    async def put(self, name: str, fields: TopicFields, principal: Principal) -> tuple[TopicView, bool]:
        """Create the topic, or change what `fields` names of it; True when it was created. Raises AcklogError."""
        principal.require(Scope.ADMIN)
        principal.require_topic(name)
        check_name(name, field="topic")
        existing = self._gateway.metadata.topic(name)
        changes = fields.config or TopicConfigFields()
        if existing is not None:
            return topic_view(await self._update(existing, fields, changes)), False
        nodes = len(self._gateway.metadata.nodes())
        factor = fields.replication_factor or default_replication_factor(self._gateway.metadata.nodes())
        if factor > max(1, nodes):
            detail = f"is {factor}, there are {nodes} node(s)"
            raise AcklogError(ProblemCode.INVALID_FIELD, detail, field="replicationFactor")
        config = changes.applied_to(TopicConfig())
        _check_min_insync(config, factor)
        topic = await self._gateway.topics.create(
            name,
            partitions=fields.partitions or self._gateway.settings.partitions_default,
            config=config,
            replication_factor=factor,
        )
        return topic_view(topic), True

    async def _update(self, topic: Topic, fields: TopicFields, changes: TopicConfigFields) -> Topic:
        if fields.replication_factor not in {None, topic.replication_factor}:
            detail = "cannot be changed by this version"
            raise AcklogError(ProblemCode.UNSUPPORTED, detail, field="replicationFactor")
        if fields.partitions is not None and fields.partitions < topic.partitions:
            detail = f"the topic has {topic.partitions} partitions; they cannot be taken away"
            raise AcklogError(ProblemCode.INVALID_FIELD, detail, field="partitions")
        config = changes.applied_to(topic.config)
        _check_min_insync(config, topic.replication_factor)
        partitions = None if fields.partitions in {None, topic.partitions} else fields.partitions
        if partitions is None and config == topic.config:
            return topic
        return await self._gateway.topics.update(
            topic.name, partitions=partitions, config=None if config == topic.config else config
        )

    def list_page(self, principal: Principal, *, limit: int, after: str) -> TopicListing:
        principal.require(Scope.READ)
        found: list[TopicView] = []
        for topic in self._gateway.metadata.topics():
            if topic.name > after and principal.may_see(topic.name):
                if len(found) == limit:
                    return TopicListing(found, found[-1].name)
                found.append(topic_view(topic))
        return TopicListing(found)

    async def describe(self, name: str, principal: Principal) -> TopicDescription:
        """With what each partition's leader says. Raises AcklogError TOPIC_NOT_FOUND."""
        principal.require(Scope.READ)
        topic = self._catalog.topic(name, principal, field="topic")
        view = topic_view(topic)
        deadline_ms = self._leaders.deadline_in(self._gateway.settings.request_timeout_ms)

        async def positions(partition: int) -> PositionsResponse:
            request = PositionsRequest(topic.id, partition)
            return await self._leaders.call(
                topic.id, partition, lambda node, _remaining_ms: node.positions(request), deadline_ms=deadline_ms
            )

        answers = await ask_each(range(topic.partitions), positions)
        states = [self._partition_view(topic, partition, answer) for partition, answer in enumerate(answers)]
        fields = {name: getattr(view, name) for name in TopicView.__struct_fields__}
        return TopicDescription(**fields, partition_states=states)

    def _partition_view(self, topic: Topic, partition: int, answer: PositionsResponse | AcklogError) -> PartitionView:
        state = self._gateway.metadata.partition(topic.id, partition)
        view = PartitionView(partition, None, None, [], [])
        if state is not None:
            view.leader = state.leader if state.leader >= 0 else None
            view.leader_epoch = state.leader_epoch
            view.replicas = list(state.replicas)
            view.in_sync_replicas = list(state.isr)
        if isinstance(answer, AcklogError):
            view.problem = problem_item(answer)
        else:
            view.log_start = answer.log_start
            view.high_watermark = answer.high_watermark
            view.size_bytes = answer.size_bytes
        return view

    async def delete(self, name: str, principal: Principal) -> None:
        """Raises AcklogError TOPIC_NOT_FOUND."""
        principal.require(Scope.ADMIN)
        self._catalog.topic(name, principal, field="topic")
        await self._gateway.topics.delete(name)


def topic_view(topic: Topic) -> TopicView:
    return TopicView(
        topic.name, topic.id, topic.partitions, topic.replication_factor, topic.created_at_ms, topic.config
    )


def _check_min_insync(config: TopicConfig, replication_factor: int) -> None:
    if config.min_insync_replicas > replication_factor:
        detail = f"is {config.min_insync_replicas}, the topic has {replication_factor} replica(s)"
        raise AcklogError(ProblemCode.INVALID_FIELD, detail, field="config.minInsyncReplicas")
