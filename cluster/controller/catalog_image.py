"""What the controller knows: a copy of the store, arranged by topic and group id."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.steering import PartitionOrder
from cluster.model.values import PartitionState, Tombstone, Topic
from cluster.ports.coordination import Changed, Event, KeyValue, key_of


@dataclass(slots=True)
class Entry:
    """Everything under one topic's or group's id. The items are there for compares: decide only on what was read."""

    id: str
    topic: Topic | None = None
    topic_item: KeyValue | None = None
    tombstone: Tombstone | None = None
    tombstone_item: KeyValue | None = None
    partitions: dict[int, PartitionState] = field(default_factory=dict)
    partition_items: dict[int, KeyValue] = field(default_factory=dict)
    dependent_keys: dict[str, None] = field(default_factory=dict)
    orders: dict[int, PartitionOrder] = field(default_factory=dict)
    order_items: dict[int, KeyValue] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        held = self.topic_item, self.tombstone_item, self.partition_items, self.dependent_keys, self.order_items
        return not any(held)


class CatalogImage:
    """Fed by events. `undecodable` has what a newer version wrote: nothing is decided about the ids it concerns."""

    def __init__(self, items: Iterable[KeyValue] = ()) -> None:
        self.undecodable: dict[str, str] = {}
        self._entries: dict[str, Entry] = {}
        self._id_of_name: dict[str, str] = {}
        self._changed: dict[str, None] = {}
        for item in items:
            self.apply(Changed(item))

    def put(self, entry: Entry) -> None:
        """Take in an entry that was made elsewhere, in the place of one with its id."""
        self._entries[entry.id] = entry

    def apply(self, event: Event) -> None:
        key = key_of(event)
        item = event.item if isinstance(event, Changed) else None
        self.undecodable.pop(key, None)
        try:
            self._set(key, item)
        except (msgspec.DecodeError, ValueError) as error:
            self.undecodable[key] = str(error)

    def take_changed(self) -> list[Entry]:
        """The entries that changed since the last call, in the order of their first change; gone ones left out."""
        changed, self._changed = self._changed, {}
        return [self._entries[each] for each in changed if each in self._entries]

    def mark_changed(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self._changed[entry.id] = None

    def mark_all_changed(self) -> None:
        self.mark_changed(self._entries.values())

    def get(self, entry_id: str) -> Entry | None:
        return self._entries.get(entry_id)

    def entries(self) -> list[Entry]:
        return list(self._entries.values())

    # --- feeding ---

    def _set(self, key: str, item: KeyValue | None) -> None:
        if key.startswith(keys.TOPICS):
            self._set_topic(key.removeprefix(keys.TOPICS), item)
        elif key.startswith(keys.PARTITIONS):
            topic_id, _, number = key.removeprefix(keys.PARTITIONS).partition("/")
            self._set_partition(topic_id, int(number), item)
        elif key.startswith(keys.TOMBSTONES):
            entry = self._entry(key.removeprefix(keys.TOMBSTONES))
            entry.tombstone, entry.tombstone_item = None, item
            self._drop_if_empty(entry)
            if item is not None:
                entry.tombstone = decode(Tombstone, item.value)
        elif key.startswith(keys.STEERING_PARTITIONS):
            topic_id, _, number = key.removeprefix(keys.STEERING_PARTITIONS).partition("/")
            self._set_order(topic_id, int(number), item)
        elif key.startswith(keys.OFFSETS):
            for each in key.removeprefix(keys.OFFSETS).split("/"):
                self._set_dependent(each, key, item)
        elif key.startswith(keys.RECURRING):
            self._set_dependent(key.removeprefix(keys.RECURRING).partition("/")[0], key, item)

    def _set_topic(self, name: str, item: KeyValue | None) -> None:
        before = self._id_of_name.pop(name, None)
        if before is not None:
            entry = self._entry(before)
            entry.topic = entry.topic_item = None
            self._drop_if_empty(entry)
        if item is not None:
            topic = decode(Topic, item.value)
            self._id_of_name[name] = topic.id
            entry = self._entry(topic.id)
            entry.topic, entry.topic_item = topic, item

    def _set_partition(self, topic_id: str, number: int, item: KeyValue | None) -> None:
        entry = self._entry(topic_id)
        entry.partitions.pop(number, None)
        entry.partition_items.pop(number, None)
        if item is not None:
            entry.partition_items[number] = item
            entry.partitions[number] = decode(PartitionState, item.value)
        self._drop_if_empty(entry)

    def _set_order(self, topic_id: str, number: int, item: KeyValue | None) -> None:
        entry = self._entry(topic_id)
        entry.orders.pop(number, None)
        entry.order_items.pop(number, None)
        self._drop_if_empty(entry)
        if item is not None:
            entry = self._entry(topic_id)
            entry.order_items[number] = item
            entry.orders[number] = decode(PartitionOrder, item.value)

    def _set_dependent(self, entry_id: str, key: str, item: KeyValue | None) -> None:
        """Progress is projected all the time: only under a deleted id is it a change that matters. So it is with
        recurring schedules, whose home may be another one soon."""
        entry = self._entries.setdefault(entry_id, Entry(entry_id))
        if item is None:
            entry.dependent_keys.pop(key, None)
        else:
            entry.dependent_keys[key] = None
        if entry.tombstone_item is not None:
            self._changed[entry_id] = None
        self._drop_if_empty(entry)

    def _entry(self, entry_id: str) -> Entry:
        """The entry, which is about to change."""
        self._changed[entry_id] = None
        return self._entries.setdefault(entry_id, Entry(entry_id))

    def _drop_if_empty(self, entry: Entry) -> None:
        if entry.is_empty:
            self._entries.pop(entry.id, None)
            self._changed.pop(entry.id, None)
