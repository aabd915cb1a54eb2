"""Creating, changing and deleting topics."""

import asyncio
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from acklog.wire.identifiers import id_from_bits
from acklog.wire.limits import PARTITIONS_MAX
from acklog.wire.names import namespace_of
from acklog.wire.problems import ProblemCode
from cluster.catalog.catalog_change import (
    CatalogChanger,
    CatalogSettings,
    NothingToWrite,
    Step,
    Write,
    check_name,
    not_found,
)
from cluster.catalog.known_by_all import KnownByAll
from cluster.catalog.namespace_room import NamespaceRoom
from cluster.catalog.topic_defaults import check_min_insync_replicas
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model import keys
from cluster.model.codec import decode, encode, encode_instead
from cluster.model.data_keys import rotated, with_encryption
from cluster.model.internal_topics import INTERNAL_TOPICS
from cluster.model.mapping_starts import next_ordered_mappings
from cluster.model.needed_protocol import PROTOCOL_OF_MAPPING_STARTS, needed_by_topic
from cluster.model.restored_topic import check_restored_by, check_whole
from cluster.model.topic_mapping import remapped
from cluster.model.values import Tombstone, Topic, TopicConfig
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationStore, Delete, KeyValue, Operation, Put, absent, unchanged
from cluster.ports.entropy import Entropy

_WITH_SUCH_SETTINGS = "topics with such settings"


class TopicAdmin:
    """The controller gives a topic its partitions; here is only what users decide.

    Every call returns once the metadata view shows its effect, and raises ServerError: UNAVAILABLE, CONFLICT,
    OUTCOME_UNKNOWN, TIMED_OUT beside what it names.
    """

    def __init__(
        self,
        store: CoordinationStore,
        metadata: MetadataView,
        *,
        clock: Clock,
        entropy: Entropy,
        settings: CatalogSettings | None = None,
    ) -> None:
        self._metadata = metadata
        self._clock = clock
        self._entropy = entropy
        self._settings = settings or CatalogSettings()
        self._changer = CatalogChanger(store, metadata, clock, self._settings)
        self._known_by_all = KnownByAll(metadata, timeout_ms=self._settings.view_timeout_ms)
        self._one_growth = asyncio.Lock()  # so that the totals of the view are exact when they are checked

    async def create(self, name: str, *, partitions: int, config: TopicConfig, replication_factor: int) -> Topic:
        """The topic; the existing one, if it has the same settings.

        Raises ServerError INVALID_NAME, INVALID_FIELD, TOPIC_EXISTS (with other settings), TOO_MANY_TOPICS,
        NAMESPACE_NOT_FOUND, NAMESPACE_FULL.
        """
        topic = await self.get_or_create(
            name, partitions=partitions, config=config, replication_factor=replication_factor
        )
        if (topic.partitions, topic.config, topic.replication_factor) != (partitions, config, replication_factor):
            raise ServerError(ProblemCode.TOPIC_EXISTS, f"The topic {name!r} exists with other settings.")
        return topic

    async def get_or_create(
        self, name: str, *, partitions: int, config: TopicConfig, replication_factor: int, restore_id: str = ""
    ) -> Topic:
        """The existing topic, whatever its settings, or a new one, which the restore fills if one is named. Raises as
        `create` does, but for TOPIC_EXISTS, and NODES_TOO_OLD, NO_MASTER_KEY."""
        known = self._metadata.topic(name)
        if known is not None:
            return known
        if name not in INTERNAL_TOPICS:
            check_name(name, "topic")
        _check_partitions(partitions)
        if replication_factor < 1:
            raise ServerError(ProblemCode.INVALID_FIELD, "must be at least 1", field="replicationFactor")
        await self._known_by_all.require(needed_by_topic(config), _WITH_SUCH_SETTINGS)
        self._known_by_all.check_master_key(config)
        wanted = with_encryption(
            Topic(
                id=id_from_bits(self._entropy.bits64()),
                name=name,
                partitions=partitions,
                replication_factor=replication_factor,
                created_at_ms=self._clock.now_ms(),
                config=config,
                restore_id=restore_id,
                is_restoring=bool(restore_id),
            )
        )
        found = wanted

        def decide(item: KeyValue | None, entry: KeyValue | None) -> Step:
            nonlocal found
            if item is not None:
                found = decode(Topic, item.value)
                return NothingToWrite()
            found = wanted
            room = NamespaceRoom(name, entry, self._metadata)
            room.require_topics(topics=1, partitions=partitions)
            # Without the tombstone's compare, a second try could revive the id of a topic that was created by the
            # first one and deleted since.
            return room.counted([absent(keys.topic(name)), absent(keys.tombstone(wanted.id))], [_put(wanted)])

        async with self._one_growth:
            known = self._metadata.topic(name)
            if known is not None:
                return known
            if len(self._metadata.topics()) >= self._settings.topics_max:
                detail = f"There are {self._settings.topics_max} topics already, the limit."
                raise ServerError(ProblemCode.TOO_MANY_TOPICS, detail)
            self._check_total(partitions, name)
            await self._changer.change_within(namespace_of(name), keys.topic(name), decide)
        return found

    async def update(
        self,
        name: str,
        *,
        topic_id: str | None = None,
        partitions: int | None = None,
        config: TopicConfig | Callable[[TopicConfig], TopicConfig] | None = None,
        replication_factor: int | None = None,
    ) -> Topic:
        """The topic with what is given of it changed. The controller adds and removes replicas. A function gets the
        configuration as it is stored when it is changed, so that two who change it at once undo nothing of each other;
        what it raises is raised. With `topic_id` only that one, and not another one that has its name now.

        Raises ServerError TOPIC_NOT_FOUND (with near names), INVALID_FIELD (partitions can only grow; fewer replicas
        than have to be in sync), NODES_TOO_OLD, NAMESPACE_FULL, NO_MASTER_KEY.
        """
        if partitions is not None:
            _check_partitions(partitions)
        updated: Topic | None = None

        def decide(item: KeyValue | None, entry: KeyValue | None) -> Step:
            nonlocal updated
            topic = None if item is None else decode(Topic, item.value)
            if item is None or topic is None or topic_id not in (None, topic.id):
                raise self._not_found(name)
            check_whole(topic)
            updated = with_encryption(
                replace(
                    topic if partitions is None else self._remapped(topic, partitions, topic.decommissioned),
                    config=_revised(topic.config, config),
                    replication_factor=topic.replication_factor if replication_factor is None else replication_factor,
                )
            )
            if updated == topic:
                return NothingToWrite()
            self._known_by_all.check(needed_by_topic(updated.config), _WITH_SUCH_SETTINGS)
            if updated.config.encryption is not topic.config.encryption:
                self._known_by_all.check_master_key(updated.config)
            check_min_insync_replicas(updated.config.min_insync_replicas, updated.replication_factor)
            if updated.partitions < topic.partitions:
                detail = f"can only grow, and {name!r} has {topic.partitions}"
                raise ServerError(ProblemCode.INVALID_FIELD, detail, field="partitions")
            more = updated.partitions - topic.partitions
            self._check_total(more, name)
            if not more:
                return _rewrite(item, updated)
            room = NamespaceRoom(name, entry, self._metadata)
            room.require_topics(topics=0, partitions=more)
            return room.counted([unchanged(item)], [Put(item.key, encode_instead(updated, item.value))])

        async with self._one_growth:
            await self._changer.change_within(namespace_of(name), keys.topic(name), decide)
        assert updated is not None
        return updated

    async def rotate_data_key(self, name: str) -> Topic:
        """What is stored from now on is to be encrypted by another data key, which a node makes soon. Raises
        ServerError TOPIC_NOT_FOUND (with near names), NOT_ENCRYPTED, TOO_MANY_DATA_KEYS."""
        return await self._revise(name, rotated)

    async def decommission(self, name: str, partitions: Sequence[int]) -> Topic:
        """Take no new messages for these partitions any more. What they hold is read until retention frees it; then
        they are removed, and their numbers are not given again. It cannot be undone: add partitions instead.

        Raises ServerError TOPIC_NOT_FOUND (with near names), INVALID_FIELD (no such partition, or none would be left).
        """

        def without(topic: Topic) -> Topic:
            check_whole(topic)
            return self._without(topic, partitions)

        return await self._revise(name, without)

    async def finish_restore(self, name: str, restore_id: str, *, decommissioned: Sequence[int]) -> Topic:
        """The topic is whole, and served from now on; the `decommissioned` partitions take no new messages. To be
        repeated with care: it says TOPIC_NOT_RESTORING where it was done.

        Raises ServerError TOPIC_NOT_FOUND (with near names), TOPIC_NOT_RESTORING, INVALID_FIELD as `decommission` does.
        """

        def whole(topic: Topic) -> Topic:
            check_restored_by(topic, restore_id)
            left = self._without(topic, decommissioned) if decommissioned else topic
            return replace(left, is_restoring=False)

        return await self._revise(name, whole)

    async def _revise(self, name: str, revised: Callable[[Topic], Topic]) -> Topic:
        """The topic as it is made by `revised`, which gets it as it is stored."""
        updated: Topic | None = None

        def decide(item: KeyValue | None) -> Step:
            nonlocal updated
            if item is None:
                raise self._not_found(name)
            topic = decode(Topic, item.value)
            updated = revised(topic)
            return NothingToWrite() if updated == topic else _rewrite(item, updated)

        await self._changer.change(keys.topic(name), decide)
        assert updated is not None
        return updated

    def _without(self, topic: Topic, partitions: Sequence[int]) -> Topic:
        _check_decommission(topic, partitions)
        return self._remapped(topic, topic.partitions, sorted({*topic.decommissioned, *partitions}))

    async def delete(self, name: str, *, topic_id: str | None = None) -> None:
        """Delete the topic and leave its tombstone, without which nobody removes its data (rule R13). With `topic_id`
        only that one, and nothing where it is gone, also where another one has its name now.

        Raises ServerError TOPIC_NOT_FOUND (with near names).
        """
        target_id = topic_id

        def decide(item: KeyValue | None, entry: KeyValue | None) -> Step:
            nonlocal target_id
            found_id = None if item is None else decode(Topic, item.value).id
            target_id = target_id or found_id
            if target_id is None:
                raise self._not_found(name)
            if item is None or found_id != target_id:
                return NothingToWrite()
            tombstone = Tombstone(target_id, name, self._clock.now_ms())
            operations: list[Operation] = [Delete(item.key), Put(keys.tombstone(target_id), encode(tombstone))]
            return NamespaceRoom(name, entry, self._metadata).counted([unchanged(item)], operations)

        await self._changer.change_within(namespace_of(name), keys.topic(name), decide)

    def keeps_order_when_changed(self, topic: Topic) -> bool:
        """Whether groups with an order could go on in theirs if its partitions were changed now."""
        return self._ordered_mappings(topic) == topic.mapping + 1

    def _ordered_mappings(self, topic: Topic) -> int:
        """With one more mapping. A node that knows of no starts says none, and its partitions never would begin it."""
        earlier = self._metadata.steering.membership.earlier_than(PROTOCOL_OF_MAPPING_STARTS)
        return topic.ordered_mappings if earlier else next_ordered_mappings(topic)

    def _remapped(self, topic: Topic, partitions: int, decommissioned: Sequence[int]) -> Topic:
        return remapped(
            topic,
            partitions=partitions,
            decommissioned=decommissioned,
            ordered_mappings=self._ordered_mappings(topic),
            now_ms=self._clock.now_ms(),
        )

    def _check_total(self, more: int, name: str) -> None:
        """How many others have is not for who is in a namespace."""
        total = sum(topic.partitions for topic in self._metadata.topics())
        if more > 0 and total + more > self._settings.partitions_max:
            detail = f"all topics together may have {self._settings.partitions_max} partitions"
            exist = "there is no room for so many more" if namespace_of(name) else f"{total} exist"
            raise ServerError(ProblemCode.INVALID_FIELD, f"{detail}, and {exist}", field="partitions")

    def _not_found(self, name: str) -> ServerError:
        names = [topic.name for topic in self._metadata.topics()]
        return not_found(ProblemCode.TOPIC_NOT_FOUND, "topic", name, names)


def _check_partitions(partitions: int) -> None:
    if not 1 <= partitions <= PARTITIONS_MAX:
        raise ServerError(ProblemCode.INVALID_FIELD, f"must be from 1 to {PARTITIONS_MAX}", field="partitions")


def _check_decommission(topic: Topic, partitions: Sequence[int]) -> None:
    unknown = [number for number in partitions if not 0 <= number < topic.partitions]
    if unknown:
        detail = f"{topic.name!r} has the partitions 0 to {topic.partitions - 1}, not {unknown[0]}"
        raise ServerError(ProblemCode.INVALID_FIELD, detail, field="partitions")
    if len({*topic.decommissioned, *partitions}) == topic.partitions:
        detail = f"at least one partition of {topic.name!r} must go on taking messages; to remove all, delete the topic"
        raise ServerError(ProblemCode.INVALID_FIELD, detail, field="partitions")


def _rewrite(item: KeyValue, topic: Topic) -> Write:
    return Write([unchanged(item)], [Put(item.key, encode_instead(topic, item.value))])


def _put(topic: Topic) -> Put:
    return Put(keys.topic(topic.name), encode(topic))


def _revised(config: TopicConfig, change: TopicConfig | Callable[[TopicConfig], TopicConfig] | None) -> TopicConfig:
    if change is None:
        return config
    return change if isinstance(change, TopicConfig) else change(config)
