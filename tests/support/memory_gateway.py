"""A gateway's surroundings in memory: metadata, administration, one node."""

import asyncio
import itertools
from collections.abc import Callable, Sequence
from typing import cast

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from acklog.wire.identifiers import id_from_bits
from acklog.wire.problems import ProblemCode
from app.auth.tokens import TokenTable
from app.configuration.server_settings import Settings
from app.gateway.dependencies import Gateway
from cluster.catalog.cluster_admin import ClusterAdmin
from cluster.catalog.namespace_admin import NamespaceAdmin
from cluster.catalog.queue_admin import QueueAdmin
from cluster.catalog.recurring_admin import RecurringAdmin
from cluster.catalog.redrive_admin import RedriveAdmin
from cluster.catalog.token_admin import TokenAdmin
from cluster.errors import ServerError
from cluster.metadata.listeners import Listeners
from cluster.metadata.metadata_view import MetadataView
from cluster.metadata.namespace_state import NamespaceState
from cluster.metadata.producer_state import ProducerState
from cluster.metadata.queue_state import QueueState
from cluster.metadata.recurring_state import RecurringState
from cluster.metadata.redrive_state import RedriveState
from cluster.metadata.steering_state import SteeringState
from cluster.metadata.token_state import TokenState
from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.data_keys import rotated
from cluster.model.mapping_starts import next_ordered_mappings
from cluster.model.restored_topic import check_restored_by
from cluster.model.topic_mapping import remapped
from cluster.model.values import (
    Group,
    GroupMode,
    GroupSettings,
    NamedProducer,
    NodeRegistration,
    PartitionLife,
    PartitionState,
    Pause,
    Topic,
    TopicConfig,
)
from cluster.ports.clock import Clock
from cluster.ports.coordination import Changed, CoordinationError, Event, KeyValue
from cluster.ports.tracing import Tracer
from cluster.stores.key_space import Mutation
from cluster.stores.memory_store import MemoryStore
from storage.rpc.handshake import NEWEST_VERSION
from storage.rpc.node_api import NodeApi
from tests.support.manual_clock import ManualClock
from tests.support.memory_node import LEADER_EPOCH, MemoryNode

NODE_ID = 1


class FixedEntropy:
    """Counts instead of drawing."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def bits64(self) -> int:
        return next(self._numbers) * 0x9E3779B97F4A7C15 & (1 << 64) - 1

    def fraction(self) -> float:
        return 0.5


class SeenStore(MemoryStore):
    """Shows each fact at once, as a metadata view would a moment later."""

    def __init__(self, clock: ManualClock, see: Callable[[Event], None]) -> None:
        super().__init__(clock)
        self._see = see

    def _publish(self, mutation: Mutation) -> None:
        super()._publish(mutation)
        for event in mutation.events:
            self._see(event)


class MemoryMetadata:
    """`steering` follows a store of its own; the rest is what a test puts here. `unheard_epochs` are leader epochs, by
    their partition's key, that the view shows once it has been confirmed only, as are `unheard_groups`. `confirmed` are
    the prefixes that were asked for, as long as it `may_confirm`."""

    def __init__(self) -> None:
        self.steering = SteeringState()
        self.producers = ProducerState()
        self.recurring = RecurringState()
        self.redrives = RedriveState()
        self.tokens = TokenState()
        self._token_listeners = Listeners()
        self.namespaces = NamespaceState()
        self.queues = QueueState()
        self.topics_by_name: dict[str, Topic] = {}
        self.groups_by_name: dict[str, Group] = {}
        self.leaderless: set[tuple[str, int]] = set()
        self.epochs: dict[str, int] = {}
        self.unheard_epochs: dict[str, int] = {}
        self.unheard_groups: list[Group] = []
        self.confirmed: list[str] = []
        self.may_confirm = asyncio.Event()
        self.may_confirm.set()
        self.confirmation_fault: CoordinationError | None = None
        self.gone: set[tuple[str, int]] = set()
        self.registrations: list[NodeRegistration] = []
        self.register(NodeRegistration(NODE_ID, 1, "dir", "local", newest_protocol=NEWEST_VERSION))

    def register(self, registration: NodeRegistration) -> None:
        self.registrations.append(registration)
        item = KeyValue(keys.node(registration.node_id), encode(registration), 1, 1, 1)
        self.steering.apply(Changed(item))

    @property
    def revision(self) -> int:
        return 1

    def revision_of(self, key: str) -> int:
        return 1

    def topic(self, name: str) -> Topic | None:
        return self.topics_by_name.get(name)

    def topic_by_id(self, topic_id: str) -> Topic | None:
        return next((topic for topic in self.topics_by_name.values() if topic.id == topic_id), None)

    def topics(self) -> list[Topic]:
        return [self.topics_by_name[name] for name in sorted(self.topics_by_name)]

    def partition(self, topic_id: str, partition: int) -> PartitionState | None:
        topic = self.topic_by_id(topic_id)
        if topic is None or partition >= topic.partitions:
            return None
        is_gone = (topic_id, partition) in self.gone
        leader = -1 if is_gone or (topic_id, partition) in self.leaderless else NODE_ID
        replicas = () if is_gone else (NODE_ID,)
        epoch = self.epochs.get(keys.partition(topic_id, partition), LEADER_EPOCH)
        life = PartitionLife.GONE if is_gone else PartitionLife.ACTIVE
        return PartitionState(topic_id, partition, replicas, replicas, leader, 1, epoch, life=life)

    def partitions(self, topic_id: str) -> list[PartitionState]:
        topic = self.topic_by_id(topic_id)
        states = [self.partition(topic_id, number) for number in range(topic.partitions if topic else 0)]
        return [state for state in states if state is not None]

    def group(self, name: str) -> Group | None:
        return self.groups_by_name.get(name)

    def group_by_id(self, group_id: str) -> Group | None:
        return next((group for group in self.groups_by_name.values() if group.id == group_id), None)

    def groups(self) -> list[Group]:
        return [self.groups_by_name[name] for name in sorted(self.groups_by_name)]

    def node(self, node_id: int) -> NodeRegistration | None:
        return next((each for each in self.registrations if each.node_id == node_id), None)

    def nodes(self) -> list[NodeRegistration]:
        return self.registrations

    async def wait_for(self, revision: int) -> None:
        return

    async def confirm(self, key: str) -> None:
        if key in self.unheard_epochs:
            self.epochs[key] = self.unheard_epochs.pop(key)

    async def confirm_all(self, prefix: str) -> None:
        self.confirmed.append(prefix)
        await self.may_confirm.wait()
        if self.confirmation_fault is not None:
            raise self.confirmation_fault
        if prefix == keys.GROUPS:
            self.groups_by_name.update({group.name: group for group in self.unheard_groups})

    def see(self, event: Event) -> None:
        self.steering.apply(event)
        self.recurring.apply(event)
        if self.tokens.apply(event):
            self._token_listeners.tell()
        self.namespaces.apply(event)
        self.queues.apply(event)

    def subscribe_to_tokens(self, listener: Callable[[], None]) -> Callable[[], None]:
        return self._token_listeners.add(listener)

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        return lambda: None


class MemoryTopics:
    def __init__(self, metadata: MemoryMetadata, entropy: FixedEntropy, clock: Clock) -> None:
        self._metadata = metadata
        self._clock = clock
        self._entropy = entropy

    async def create(self, name: str, *, partitions: int, config: TopicConfig, replication_factor: int) -> Topic:
        existing = self._metadata.topic(name)
        if existing is not None:
            if (existing.partitions, existing.config) != (partitions, config):
                raise ServerError(ProblemCode.TOPIC_EXISTS, f"{name!r} exists with other settings")
            return existing
        topic = Topic(id_from_bits(self._entropy.bits64()), name, partitions, replication_factor, 5, config)
        self._metadata.topics_by_name[name] = topic
        return topic

    async def get_or_create(
        self, name: str, *, partitions: int, config: TopicConfig, replication_factor: int, restore_id: str = ""
    ) -> Topic:
        known = self._metadata.topic(name)
        if known is None:
            known = await self.create(name, partitions=partitions, config=config, replication_factor=replication_factor)
            known = replace(known, restore_id=restore_id, is_restoring=bool(restore_id))
            self._metadata.topics_by_name[name] = known
        return known

    async def finish_restore(self, name: str, restore_id: str, *, decommissioned: Sequence[int]) -> Topic:
        found = self._metadata.topics_by_name[name]
        check_restored_by(found, restore_id)
        left = self._remapped(found, found.partitions, decommissioned) if decommissioned else found
        self._metadata.topics_by_name[name] = replace(left, is_restoring=False)
        return self._metadata.topics_by_name[name]

    async def update(
        self,
        name: str,
        *,
        topic_id: str | None = None,
        partitions: int | None = None,
        config: TopicConfig | Callable[[TopicConfig], TopicConfig] | None = None,
        replication_factor: int | None = None,
    ) -> Topic:
        old = self._metadata.topics_by_name[name]
        if topic_id not in (None, old.id):
            raise ServerError(ProblemCode.TOPIC_NOT_FOUND, "another one has its name")
        if partitions is not None and partitions < old.partitions:
            raise ServerError(ProblemCode.INVALID_FIELD, "partitions cannot be taken away", field="partitions")
        topic = replace(
            self._remapped(old, partitions or old.partitions, old.decommissioned),
            replication_factor=replication_factor or old.replication_factor,
            config=config(old.config) if callable(config) else config or old.config,
        )
        self._metadata.topics_by_name[name] = topic
        return topic

    async def rotate_data_key(self, name: str) -> Topic:
        topic = self._metadata.topics_by_name[name] = rotated(self._metadata.topics_by_name[name])
        return topic

    async def decommission(self, name: str, partitions: Sequence[int]) -> Topic:
        old = self._metadata.topics_by_name[name]
        topic = self._remapped(old, old.partitions, sorted({*old.decommissioned, *partitions}))
        self._metadata.topics_by_name[name] = topic
        return topic

    def keeps_order_when_changed(self, topic: Topic) -> bool:
        return next_ordered_mappings(topic) == topic.mapping + 1

    def _remapped(self, topic: Topic, partitions: int, decommissioned: Sequence[int]) -> Topic:
        return remapped(
            topic,
            partitions=partitions,
            decommissioned=decommissioned,
            ordered_mappings=next_ordered_mappings(topic),
            now_ms=self._clock.now_ms(),
        )

    async def delete(self, name: str, *, topic_id: str | None = None) -> None:
        found = self._metadata.topic(name)
        if topic_id is not None and (found is None or found.id != topic_id):
            return
        if self._metadata.topics_by_name.pop(name, None) is None:
            raise ServerError(ProblemCode.TOPIC_NOT_FOUND, f"there is no topic {name!r}")


class MemoryGroups:
    def __init__(self, metadata: MemoryMetadata, entropy: FixedEntropy) -> None:
        self._metadata = metadata
        self._entropy = entropy

    async def create(self, name: str, *, mode: GroupMode, settings: GroupSettings) -> Group:
        existing = self._metadata.group(name)
        if existing is not None:
            if (existing.mode, existing.settings) != (mode, settings):
                raise ServerError(ProblemCode.GROUP_EXISTS, f"{name!r} exists with other settings")
            return existing
        group = Group(id_from_bits(self._entropy.bits64()), name, 5, mode, settings)
        self._metadata.groups_by_name[name] = group
        return group

    async def get_or_create(
        self,
        name: str,
        *,
        mode: GroupMode,
        settings: GroupSettings,
        dead_letter_sources: tuple[str, ...] | None = None,
    ) -> Group:
        known = self._metadata.group(name)
        if known is not None:
            return known
        await self.create(name, mode=mode, settings=settings)
        return await self.update(name, settings=settings, dead_letter_sources=dead_letter_sources)

    async def update(
        self,
        name: str,
        *,
        group_id: str | None = None,
        settings: GroupSettings | Callable[[GroupSettings], GroupSettings],
        dead_letter_sources: tuple[str, ...] | UnsetType | None = UNSET,
    ) -> Group:
        old = self._metadata.groups_by_name[name]
        if group_id not in (None, old.id):
            raise ServerError(ProblemCode.GROUP_NOT_FOUND, "another one has its name")
        revised = settings(old.settings) if callable(settings) else settings
        group = replace(old, settings=revised)
        if not isinstance(dead_letter_sources, UnsetType):
            group = replace(group, dead_letter_sources=dead_letter_sources)
        self._metadata.groups_by_name[name] = group
        return group

    async def pause(self, name: str, change: Callable[[tuple[Pause, ...]], tuple[Pause, ...]]) -> Group:
        old = self._metadata.groups_by_name[name]
        group = self._metadata.groups_by_name[name] = replace(old, pauses=change(old.pauses))
        return group

    resume = pause

    async def delete(self, name: str, *, group_id: str | None = None) -> None:
        found = self._metadata.group(name)
        if group_id is not None and (found is None or found.id != group_id):
            return
        if self._metadata.groups_by_name.pop(name, None) is None:
            raise ServerError(ProblemCode.GROUP_NOT_FOUND, f"there is no group {name!r}")


class MemoryProducers:
    """Opens at once, for whoever asks."""

    def __init__(self, metadata: MemoryMetadata, entropy: FixedEntropy) -> None:
        self._metadata = metadata
        self._entropy = entropy
        self.used: list[str] = []

    async def open(self, topic: Topic, name: str, instance: str) -> NamedProducer:
        producer_id = id_from_bits(self._entropy.bits64())
        before = next((each for each in self._metadata.producers.all() if each.name == name), None)
        producer = NamedProducer(producer_id, topic.id, name, 1, instance, 0, 0)
        if before is not None:
            producer = replace(before, epoch=before.epoch + 1, instance=instance)
        item = KeyValue(keys.producer(topic.id, name), encode(producer), 1, 1, 1)
        self._metadata.producers.apply(Changed(item))
        return producer

    async def note_use(self, producer: NamedProducer) -> None:
        self.used.append(producer.name)

    def is_use_due(self, producer: NamedProducer) -> bool:
        return producer.name not in self.used


class OneNode:
    def __init__(self, node: NodeApi) -> None:
        self._node = node

    def client(self, node_id: int) -> NodeApi:
        assert node_id == NODE_ID
        return self._node


class MemoryWorld:
    """Everything around one gateway."""

    def __init__(
        self, settings: Settings | None = None, tokens: TokenTable | None = None, tracer: Tracer | None = None
    ) -> None:
        self.node = MemoryNode()
        self.metadata = MemoryMetadata()
        self.clock = ManualClock()
        self.store = SeenStore(self.clock, self.metadata.see)
        entropy = FixedEntropy()
        self.topics = MemoryTopics(self.metadata, entropy, self.clock)
        self.groups = MemoryGroups(self.metadata, entropy)
        self.producers = MemoryProducers(self.metadata, entropy)
        self.gateway = Gateway(
            metadata=cast(MetadataView, self.metadata),
            topics=self.topics,
            groups=self.groups,
            producers=self.producers,
            recurring=RecurringAdmin(self.store, cast(MetadataView, self.metadata), clock=self.clock, entropy=entropy),
            redrives=RedriveAdmin(self.store, cast(MetadataView, self.metadata), clock=self.clock, entropy=entropy),
            stored_tokens=TokenAdmin(self.store, cast(MetadataView, self.metadata), clock=self.clock, entropy=entropy),
            namespaces=NamespaceAdmin(self.store, cast(MetadataView, self.metadata), clock=self.clock, entropy=entropy),
            queues=QueueAdmin(self.store, cast(MetadataView, self.metadata), clock=self.clock, entropy=entropy),
            steering=ClusterAdmin(self.store, cast(MetadataView, self.metadata), clock=self.clock),
            nodes=OneNode(self.node),
            clock=self.clock,
            entropy=entropy,
            settings=settings or Settings(),
            tokens=tokens,
            tracer=tracer,
        )

    async def topic(self, name: str = "orders", *, partitions: int = 8) -> Topic:
        return await self.topics.create(name, partitions=partitions, config=TopicConfig(), replication_factor=1)
