"""What the rest of a data directory says about its coordination file: that it held something, and how far it had got.

A coordination file that is an earlier state of itself is sound to look at. Served, it would be an empty server, or one
without the topics and groups of later; leader epochs would come twice, and offsets with them (rule R34). It is durable
before anything rests on it, so whatever does tells how far it had got: partitions, their leader epochs, its copy.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.values import PartitionState, Topic
from cluster.ports.coordination import KeyValue

SAID_MAX = 5
"""Losses that are told one by one."""

_Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class StoreEvidence:
    """`was_used`: a server has run on the file. `copied_revision` is the newest in its copy, 0 where there is none.
    `epochs` has the newest leader epoch in each partition (topic id, number) that there is, 0 where none is known."""

    was_used: bool = False
    copied_revision: int = 0
    epochs: Mapping[_Place, int] = field(default_factory=dict)


NO_EVIDENCE = StoreEvidence()


def losses_of(items: Iterable[KeyValue], revision: int, evidence: StoreEvidence) -> list[str]:
    """What a file with these rows lacks, in words; `revision` 0: it has never held anything."""
    if revision == 0:
        return ["it holds nothing, although a server has used the directory"] if evidence.was_used else []
    losses = []
    if revision < evidence.copied_revision:
        losses.append(f"it ends at revision {revision}, its copy has {evidence.copied_revision}")
    losses += _Catalogue(items).losses(evidence.epochs)
    surplus = len(losses) - SAID_MAX
    return [*losses[:SAID_MAX], f"and {surplus} more"] if surplus > 0 else losses


class _Catalogue:
    """What tells whose the partitions on a disk are. What cannot be decoded is not taken for absent."""

    def __init__(self, items: Iterable[KeyValue]) -> None:
        self._topics: set[str] = set()
        self._deleted: set[str] = set()
        self._epochs: dict[_Place, int] = {}
        self._unreadable: set[str] = set()
        for item in items:
            try:
                self._read(item)
            except (msgspec.DecodeError, ValueError):
                self._unreadable.add(item.key)

    def _read(self, item: KeyValue) -> None:
        if item.key.startswith(keys.TOPICS):
            self._topics.add(decode(Topic, item.value).id)
        elif item.key.startswith(keys.TOMBSTONES):
            self._deleted.add(item.key.removeprefix(keys.TOMBSTONES))
        elif item.key.startswith(keys.PARTITIONS):
            state = decode(PartitionState, item.value)
            self._epochs[state.topic_id, state.partition] = state.leader_epoch

    def losses(self, epochs: Mapping[_Place, int]) -> list[str]:
        knows_all_topics = not any(key.startswith(keys.TOPICS) for key in self._unreadable)
        losses = []
        for place, epoch in sorted(epochs.items()):
            topic_id, number = place
            if topic_id in self._deleted:
                continue
            if topic_id not in self._topics:
                if knows_all_topics:
                    losses.append(f"there is data of partition {number} of topic {topic_id}, which it does not have")
            elif keys.partition(*place) not in self._unreadable:
                known = self._epochs.get(place)
                if known is None:
                    losses.append(f"there is data of partition {number} of topic {topic_id}, which it does not place")
                elif known < epoch:
                    losses.append(
                        f"partition {number} of topic {topic_id} has data of leader epoch {epoch}, it knows {known}"
                    )
        return losses
