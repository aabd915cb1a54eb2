"""The real dead-letter sink: appends to the group's dead-letter topic through whichever node leads its partitions."""

from collections.abc import Callable

from crc32c import crc32c

from acklog.wire.batch import DedupKey, encode_batch
from acklog.wire.identifiers import MessageId
from acklog.wire.limits import HEADER_VALUE_BYTES_MAX, NAME_LENGTH_MAX
from acklog.wire.partitioner import partition_for_key
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.clock import Clock
from cluster.errors import AcklogError
from cluster.metadata_view import MetadataView
from cluster.model import Group, PartitionState, Topic, TopicConfig
from cluster.topics import Topics
from storage.node.dead_letter_sink import DeadLetter
from storage.rpc.messages import ProduceRequest
from storage.rpc.node_api import NodeApi

FINGERPRINT = bytes(8)  # the key names a death of the message itself, whose content never changes
LEADER_LOOKS_MAX = 100
LEADER_LOOK_INTERVAL_MS = 20
TOPICS_MAX = 5_000
"""Of the cluster, up to which dead-letter topics are made by themselves; beyond it letters wait in their source."""
HEADER_PREFIX = "acklog-dead-letter-"


def dead_letter_topic_name(topic: Topic, group: Group) -> str:
    """Names that are too long together are cut, and told apart by a checksum."""
    chosen = group.settings.dead_letter_topic
    if chosen and chosen != topic.name:  # dead letters in their own source would die again, for ever
        return chosen
    stem, suffix = f"{topic.name}.{group.name}", ".dlq"
    if len(stem) + len(suffix) > NAME_LENGTH_MAX:
        suffix = f".{crc32c(stem.encode()):08x}{suffix}"
    return stem[: NAME_LENGTH_MAX - len(suffix)] + suffix


class DeadLetterTopics:
    """Creates the topic on first use, with the source's partition count and retention."""

    def __init__(
        self,
        topics: Topics,
        metadata: MetadataView,
        client_of: Callable[[int], NodeApi],
        *,
        clock: Clock,
        topics_max: int = TOPICS_MAX,
    ) -> None:
        self._topics = topics
        self._topics_max = topics_max
        self._metadata = metadata
        self._client_of = client_of
        self._clock = clock

    async def append(self, source: Topic, group: Group, letters: list[DeadLetter]) -> None:
        """See DeadLetterSink. Keys decide the partition, so a key's letters stay in order."""
        target = await self._topic(source, group)
        by_partition: dict[int, list[DeadLetter]] = {}
        for letter in letters:
            key = letter.record.key
            number = letter.partition if key is None else partition_for_key(key.encode(), target.partitions)
            by_partition.setdefault(number % target.partitions, []).append(letter)
        for number, share in by_partition.items():
            await self._append_to(target, number, source, group, share)

    async def _topic(self, source: Topic, group: Group) -> Topic:
        name = dead_letter_topic_name(source, group)
        topic = self._metadata.topic(name)
        if topic is not None:
            return topic
        if len(self._metadata.topics()) >= self._topics_max:
            detail = f"with {self._topics_max} topics no dead-letter topic is made any more: make {name!r} by hand"
            raise AcklogError(ProblemCode.TOO_MANY_TOPICS, detail)
        return await self._topics.get_or_create(
            name,
            partitions=source.partitions,
            config=TopicConfig(
                retention_ms=source.config.retention_ms,
                segment_bytes=source.config.segment_bytes,
                min_insync_replicas=source.config.min_insync_replicas,
            ),
            replication_factor=source.replication_factor,
        )

    async def _append_to(
        self, target: Topic, number: int, source: Topic, group: Group, letters: list[DeadLetter]
    ) -> None:
        state = await self._state(target, number)
        left = letters
        for _ in range(2):
            keys = [DedupKey(index, _key(letter, source, group), FINGERPRINT) for index, letter in enumerate(left)]
            batch = encode_batch([_record(letter, source, group) for letter in left], keys=keys)
            response = await self._client_of(state.leader).produce(ProduceRequest(target.id, number, batch))
            known = {result.index for result in response.known}
            if not known:
                return
            left = [letter for index, letter in enumerate(left) if index not in known]
            if not left:
                return
        raise AcklogError(ProblemCode.CONFLICT, f"The topic {target.name} changed while dead letters were written.")

    async def _state(self, target: Topic, number: int) -> PartitionState:
        """A topic that was created just now has no leader for a moment. Raises AcklogError UNAVAILABLE."""
        for _ in range(LEADER_LOOKS_MAX):
            state = self._metadata.partition(target.id, number)
            if state is not None:
                return state
            await self._clock.sleep(LEADER_LOOK_INTERVAL_MS)
        raise AcklogError(ProblemCode.UNAVAILABLE, f"The topic {target.name} has no leader yet.")


def _key(letter: DeadLetter, source: Topic, group: Group) -> str:
    """Nodes of earlier versions know none but the first generation, so that one is named as they name it: what one of
    them has appended is known to who takes over."""
    key = f"{group.id}-{source.id}-{letter.partition}-{letter.offset}"
    return f"{key}-{letter.generation}" if letter.generation else key


def _record(letter: DeadLetter, source: Topic, group: Group) -> Record:
    """The message as it was, with where it came from in its headers."""
    origin = {
        "message-id": str(MessageId(source.id, letter.partition, letter.leader_epoch, letter.offset)),
        "topic": source.name,
        "partition": str(letter.partition),
        "offset": str(letter.offset),
        "group": group.name,
        "attempts": str(letter.attempts),
    }
    headers = dict(letter.record.headers or {})
    headers |= {HEADER_PREFIX + name: value[:HEADER_VALUE_BYTES_MAX] for name, value in origin.items()}
    return Record(
        letter.record.body,
        letter.record.key,
        headers,
        letter.record.tags,
        letter.record.timestamp_ms if letter.record.timestamp_ms is not None else letter.append_time_ms,
        letter.record.content_type,
    )
