"""The named producers as of one revision. Fed by events."""

from collections.abc import Iterable

import msgspec

from cluster.metadata.longest_unused import LongestUnused
from cluster.metadata.topic_counts import TopicCounts
from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.values import NamedProducer
from cluster.ports.coordination import Changed, Event, KeyValue, key_of


class ProducerState:
    """`undecodable` has the keys whose values are not understood (a newer version's): these producers are unknown."""

    def __init__(self, items: Iterable[KeyValue] = ()) -> None:
        self.undecodable: dict[str, str] = {}
        self._by_key: dict[str, NamedProducer] = {}
        self._by_id: dict[str, NamedProducer] = {}
        self._counts = TopicCounts()
        self._unused: dict[str, LongestUnused] = {}
        for item in items:
            self.apply(Changed(item))

    def find(self, producer_id: str) -> NamedProducer | None:
        return self._by_id.get(producer_id)

    def count_of_topic(self, topic_id: str) -> int:
        return self._counts.of(topic_id)

    def all(self) -> list[NamedProducer]:
        """In no order."""
        return list(self._by_key.values())

    def topic_ids(self) -> list[str]:
        """Of topics that have some, gone ones among them."""
        return list(self._unused)

    def longest_unused(self, topic_id: str) -> NamedProducer | None:
        """Of the topic's, without a look at all of them."""
        unused = self._unused.get(topic_id)
        key = unused.first() if unused is not None else None
        return None if key is None else self._by_key[key]

    def __len__(self) -> int:
        return len(self._by_key)

    def apply(self, event: Event) -> None:
        key = key_of(event)
        if not key.startswith(keys.PRODUCERS):
            return
        self.undecodable.pop(key, None)
        before = self._by_key.pop(key, None)
        if before is not None:
            del self._by_id[before.id]
            self._counts.remove(before.topic_id)
            unused = self._unused[before.topic_id]
            unused.remove(key)
            if not unused:
                del self._unused[before.topic_id]
        if not isinstance(event, Changed):
            return
        try:
            producer = decode(NamedProducer, event.item.value)
        except (msgspec.DecodeError, ValueError) as error:
            self.undecodable[key] = str(error)
            return
        self._by_key[key] = self._by_id[producer.id] = producer
        self._counts.add(producer.topic_id)
        self._unused.setdefault(producer.topic_id, LongestUnused()).put(key, producer.used_at_ms)
