"""Making the coordination file of an embedded server anew, from what is left: its copy, its sound rows, the logs.

Only what was surely deleted stays away (rule R13): a partition's data that no topic and no tombstone names gets a topic
again. Counters go on well above anything that can have been given out since the copy was made, so that neither a leader
epoch nor a lease comes twice.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from app.processes.embedded_node import NODE_ID
from cluster.model import keys
from cluster.model.codec import decode, encode
from cluster.model.namespace import Namespace
from cluster.model.values import Encryption, Group, PartitionState, Topic
from cluster.ports.coordination import NO_LEASE, KeyValue
from cluster.stores.key_space import KeySpace

_Model = TypeVar("_Model", bound=msgspec.Struct)

MARGIN = 1000
"""More starts than a server makes within the second that its copy may be behind."""
RECOVERED_PREFIX = "recovered-"


@dataclass(slots=True)
class Rebuilt:
    """What the new file is to hold. `recovered` are ids of topics whose names are lost, `without_keys` those of them
    whose data keys were lost with them."""

    items: KeySpace
    topics: list[Topic] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    recovered: list[str] = field(default_factory=list)
    without_keys: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)


def rebuild_catalogue(
    sources: Iterable[Sequence[KeyValue]],
    epochs: Mapping[tuple[str, int], int],
    *,
    data_key_of: Callable[[str], int],
    reached: int,
    now_ms: int,
) -> Rebuilt:
    """`sources` are sound rows of the lost file and of its copy: the later one of each key counts. `epochs` has the
    newest leader epoch of each partition that is on the disk; `data_key_of` says the highest number of a data key that
    the batches of a topic name, 0 for none; `reached` is the last revision that is known of."""
    newest: dict[str, KeyValue] = {}
    for items in sources:
        for item in items:
            if item.key not in newest or newest[item.key].mod_revision < item.mod_revision:
                newest[item.key] = item
    catalogue = _Catalogue(newest, now_ms)
    catalogue.forget_deleted()
    for topic_id, number in sorted(epochs):
        catalogue.give_topic(topic_id, number)
    catalogue.encrypt(data_key_of)
    catalogue.raise_epochs(epochs)
    catalogue.raise_incarnation()
    revision = max([reached, *(item.mod_revision for item in newest.values())], default=1) + 1
    return catalogue.rebuilt(revision)


class _Catalogue:
    """The values while they are put in order."""

    def __init__(self, items: Mapping[str, KeyValue], now_ms: int) -> None:
        self._values = {key: item.value for key, item in items.items() if not key.startswith(keys.NODES)}
        self._now_ms = now_ms
        self._unreadable: list[str] = []
        self._recovered: list[str] = []
        self._without_keys: list[str] = []
        self._topics = {each.id: each for each in self._decoded(keys.TOPICS, Topic)}
        self._groups = {each.id: each for each in self._decoded(keys.GROUPS, Group)}
        self._namespaces = self._decoded(keys.NAMESPACES, Namespace)
        self._states = {
            (each.topic_id, each.partition): each for each in self._decoded(keys.PARTITIONS, PartitionState)
        }

    def _decoded(self, prefix: str, model: type[_Model]) -> list[_Model]:
        """Values that cannot be read are left out, and said."""
        found = []
        for key in sorted(each for each in self._values if each.startswith(prefix)):
            try:
                found.append(decode(model, self._values[key]))
            except (msgspec.DecodeError, ValueError):
                self._unreadable.append(key)
                del self._values[key]
        return found

    def _is_deleted(self, any_id: str) -> bool:
        return keys.tombstone(any_id) in self._values

    def forget_deleted(self) -> None:
        """The copy may be of before a deletion of which the tombstone is left."""
        for topic_id in [each for each in self._topics if self._is_deleted(each)]:
            self._values.pop(keys.topic(self._topics.pop(topic_id).name), None)
        for group_id in [each for each in self._groups if self._is_deleted(each)]:
            self._values.pop(keys.group(self._groups.pop(group_id).name), None)
        for namespace in [each for each in self._namespaces if self._is_deleted(each.id)]:
            self._values.pop(keys.namespace(namespace.name), None)

    def give_topic(self, topic_id: str, number: int) -> None:
        """There is data of the partition: it gets a topic that has it, unless that was deleted."""
        if self._is_deleted(topic_id):
            return
        topic = self._topics.get(topic_id)
        if topic is None:
            topic = Topic(topic_id, f"{RECOVERED_PREFIX}{topic_id}", 0, 1, self._now_ms)
            self._recovered.append(topic_id)
        if topic.partitions <= number:
            topic = replace(topic, partitions=number + 1)
        self._topics[topic_id] = topic

    def encrypt(self, data_key_of: Callable[[str], int]) -> None:
        """What was encrypted stays so for what comes next, and gets as many new data keys as it had: what the lost ones
        have encrypted then says that it cannot be decrypted, and not that its key is still to come."""
        for topic_id in self._recovered:
            number = data_key_of(topic_id)
            if number:
                topic = self._topics[topic_id]
                config = replace(topic.config, encryption=Encryption.ON)
                self._topics[topic_id] = replace(topic, config=config, data_keys_wanted=number)
                self._without_keys.append(topic_id)

    def raise_epochs(self, epochs: Mapping[tuple[str, int], int]) -> None:
        for topic in self._topics.values():
            for number in range(topic.partitions):
                place = (topic.id, number)
                state = self._states.get(place) or PartitionState(*place, (NODE_ID,), (NODE_ID,), NODE_ID, 0, 0)
                epoch = max(state.leader_epoch, epochs.get(place, 0)) + MARGIN
                self._states[place] = replace(state, leader_epoch=epoch)

    def raise_incarnation(self) -> None:
        """It rises with each start, as every partition's leader epoch does."""
        key = keys.incarnation(NODE_ID)
        known = [state.leader_epoch for state in self._states.values()]
        if key in self._values:
            known.append(int(self._values[key]) + MARGIN)
        self._values[key] = b"%d" % max(known, default=MARGIN)

    def rebuilt(self, revision: int) -> Rebuilt:
        values = self._values
        values |= {keys.topic(each.name): encode(each) for each in self._topics.values()}
        values |= {keys.partition(*place): encode(state) for place, state in self._states.items()}
        items = [KeyValue(key, value, revision, revision, 1, NO_LEASE) for key, value in sorted(values.items())]
        return Rebuilt(
            KeySpace(revision=revision, items=items),
            sorted(self._topics.values(), key=lambda each: each.name),
            sorted(self._groups.values(), key=lambda each: each.name),
            sorted(self._recovered),
            sorted(self._without_keys),
            self._unreadable,
        )
