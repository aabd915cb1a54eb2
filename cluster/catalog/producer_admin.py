"""Opening named producers in the coordination store: each opening takes an epoch that no other one has.

An opening that is tried again by the same instance finds its own epoch, so that nobody fences itself (rule R18). Names
are bounded, and those that nobody has used for long give way. What was forgotten so is refused as unknown, never taken:
when its name is opened again it gets another id.
"""

import asyncio

from acklog.wire.identifiers import id_from_bits
from acklog.wire.names import namespace_of
from acklog.wire.problems import ProblemCode
from cluster.catalog.catalog_change import (
    CatalogChanger,
    CatalogSettings,
    NothingToWrite,
    Step,
    Write,
    check_plain_name,
)
from cluster.catalog.known_by_all import KnownByAll
from cluster.catalog.namespace_room import NamespaceRoom, use_in
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model import keys
from cluster.model.codec import decode, encode, encode_instead
from cluster.model.needed_protocol import PROTOCOL_OF_PRODUCERS
from cluster.model.values import NamedProducer, Topic
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationStore, Delete, KeyValue, Operation, Put, absent, unchanged
from cluster.ports.entropy import Entropy


class ProducerAdmin:
    """Every call returns once the metadata view shows its effect, and raises ServerError: UNAVAILABLE, CONFLICT,
    OUTCOME_UNKNOWN, TIMED_OUT beside what it names."""

    def __init__(
        self,
        store: CoordinationStore,
        metadata: MetadataView,
        *,
        clock: Clock,
        entropy: Entropy,
        settings: CatalogSettings | None = None,
    ) -> None:
        self._store = store
        self._metadata = metadata
        self._clock = clock
        self._entropy = entropy
        self._settings = settings or CatalogSettings()
        self._changer = CatalogChanger(store, metadata, clock, self._settings)
        self._known_by_all = KnownByAll(metadata, timeout_ms=self._settings.view_timeout_ms)
        self._one_opening = asyncio.Lock()  # so that the view's count is exact when it is checked

    async def open(self, topic: Topic, name: str, instance: str) -> NamedProducer:
        """The producer in an epoch of this `instance`: a new one, unless the instance was the last who opened it.

        Raises ServerError INVALID_NAME, TOO_MANY_PRODUCERS, NAMESPACE_FULL, NODES_TOO_OLD (some node would take what is
        fenced).
        """
        check_plain_name(name, "producer")
        await self._known_by_all.require(PROTOCOL_OF_PRODUCERS, "named producers")
        key = keys.producer(topic.id, name)
        opened: NamedProducer | None = None
        async with self._one_opening:
            unused = await self._unused(topic)

            def decide(item: KeyValue | None, entry: KeyValue | None) -> Step:
                nonlocal opened
                now_ms = self._clock.now_ms()
                if item is None:
                    producer_id = id_from_bits(self._entropy.bits64())
                    opened = NamedProducer(producer_id, topic.id, name, 1, instance, now_ms, now_ms)
                    room = NamespaceRoom(topic.name, entry, self._metadata)
                    return self._creation(opened, unused, room)
                before = decode(NamedProducer, item.value)
                if before.instance == instance:
                    opened = before
                    return NothingToWrite()
                opened = NamedProducer(before.id, topic.id, name, before.epoch + 1, instance, now_ms, now_ms)
                return Write([unchanged(item)], [Put(key, encode_instead(opened, item.value))])

            await self._changer.change_within(namespace_of(topic.name), key, decide)
        assert opened is not None
        return opened

    async def note_use(self, producer: NamedProducer) -> None:
        """It was used just now, and is not to give way."""

        def decide(item: KeyValue | None) -> Step:
            found = None if item is None else decode(NamedProducer, item.value)
            if item is None or found is None or found.id != producer.id or not self.is_use_due(found):
                return NothingToWrite()
            used = NamedProducer(
                found.id,
                found.topic_id,
                found.name,
                found.epoch,
                found.instance,
                found.opened_at_ms,
                self._clock.now_ms(),
            )
            return Write([unchanged(item)], [Put(item.key, encode_instead(used, item.value))])

        await self._changer.change(keys.producer(producer.topic_id, producer.name), decide)

    async def forget(self, topic_id: str, name: str) -> None:
        """Nobody opens it any more. What is still on its way from one who had it is refused as unknown."""

        def decide(item: KeyValue | None) -> Step:
            return NothingToWrite() if item is None else Write([unchanged(item)], [Delete(item.key)])

        await self._changer.change(keys.producer(topic_id, name), decide)

    def is_use_due(self, producer: NamedProducer) -> bool:
        """Whether it is worth a write that it is used."""
        return self._clock.now_ms() - producer.used_at_ms >= self._settings.producer_use_ms

    def _creation(self, producer: NamedProducer, unused: KeyValue | None, room: NamespaceRoom) -> Write:
        key = keys.producer(producer.topic_id, producer.name)
        operations: list[Operation] = [Put(key, encode(producer))]
        is_exchange = unused is not None and self._is_beside(decode(NamedProducer, unused.value), producer)
        if not is_exchange:
            room.require_producer()
        if not is_exchange and len(self._metadata.producers) < self._settings.producers_max:
            return room.counted([absent(key)], operations)
        if unused is None:
            detail = "The cluster has no room for another named producer: all that there are are in use."
            raise ServerError(ProblemCode.TOO_MANY_PRODUCERS, detail, field="producer")
        return room.counted([absent(key), unchanged(unused)], [*operations, Delete(unused.key)])

    def _is_beside(self, one: NamedProducer, other: NamedProducer) -> bool:
        """Whether both are of the same namespace: there are no more in it when they change places."""
        name = self._namespace_of(one)
        return bool(name) and name == self._namespace_of(other)

    async def _unused(self, topic: Topic) -> KeyValue | None:
        """Who would give way now to one of the topic, where somebody has to: as it is stored, for a compare. One of its
        namespace where that is full, which makes room in the cluster as well."""
        producers = self._metadata.producers
        topic_ids = self._topics_of_full_namespace(namespace_of(topic.name))
        if topic_ids is None:
            if len(producers) < self._settings.producers_max:
                return None
            topic_ids = producers.topic_ids()
        candidates = [each for each in map(producers.longest_unused, topic_ids) if each is not None]
        # Those of topics that are gone go first, as nobody can use them; the view shows a topic before its producers.
        longest = min(candidates, key=lambda each: (self._has_topic(each), each.used_at_ms), default=None)
        if longest is None:
            return None
        unused_ms = self._clock.now_ms() - longest.used_at_ms
        if self._has_topic(longest) and unused_ms < self._settings.producer_expiry_ms:
            return None
        item = await self._changer.read(keys.producer(longest.topic_id, longest.name))
        is_same = item is not None and decode(NamedProducer, item.value).used_at_ms == longest.used_at_ms
        return item if is_same else None

    def _topics_of_full_namespace(self, name: str) -> list[str] | None:
        """None where it has room for another one."""
        namespace = self._metadata.namespaces.find(name) if name else None
        most = None if namespace is None else namespace.settings.producers_max
        if most is None or use_in(name, self._metadata).producers < most:
            return None
        return [topic.id for topic in self._metadata.topics() if namespace_of(topic.name) == name]

    def _namespace_of(self, producer: NamedProducer) -> str:
        topic = self._metadata.topic_by_id(producer.topic_id)
        return "" if topic is None else namespace_of(topic.name)

    def _has_topic(self, producer: NamedProducer) -> bool:
        return self._metadata.topic_by_id(producer.topic_id) is not None
