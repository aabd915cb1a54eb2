"""The real dead-letter sink: appends to the group's dead-letter topic through whichever node leads its partitions."""

from collections.abc import Callable
from typing import NamedTuple

import msgspec
from crc32c import crc32c

from acklog.wire.batch import DedupKey, encode_batch
from acklog.wire.identifiers import MessageId
from acklog.wire.letter_headers import ATTEMPTS_BEFORE, FIRST_ID, attempts_of, first_id_of
from acklog.wire.letter_headers import PREFIX as HEADER_PREFIX
from acklog.wire.limits import HEADER_VALUE_BYTES_MAX, NAME_LENGTH_MAX
from acklog.wire.name_patterns import is_pattern_for
from acklog.wire.names import local_name
from acklog.wire.partition_mapping import partition_of_hash
from acklog.wire.partitioner import hash_of_key
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.catalog.topic_admin import TopicAdmin
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model.topic_mapping import earlier_topics
from cluster.model.values import Group, PartitionLife, PartitionState, Topic, TopicConfig
from cluster.ports.clock import Clock
from storage.delivery.failures import FailureHistory
from storage.node.groups.dead_letter_sink import DeadLetter
from storage.rpc.messages import KeyedResult, KnownKeysRequest, ProduceRequest
from storage.rpc.node_api import NodeApi

FINGERPRINT = bytes(8)  # the key names a death of the message itself, whose content never changes
LEADER_LOOKS_MAX = 100
LEADER_LOOK_INTERVAL_MS = 20
TOPICS_MAX = 5_000
"""Of the cluster, up to which dead-letter topics are made by themselves; beyond it letters wait in their source."""
ROUNDS_MAX = 3
"""Of asking one partition: some letters may be there already, and the names of some may be taken."""
_TOLD = ("cause", "first-time", "last-time", "last-consumer", "reasons")
_FAILURE_HEADERS = frozenset(HEADER_PREFIX + name for name in _TOLD)
"""A letter that dies again says how it died now."""
_MARK = "\n"  # no dedupId may hold a control character, so nobody can take a name that ends in it


def dead_letter_topic_name(topic: Topic, group: Group) -> str:
    """In the namespace of both. Names that are too long together are cut, and told apart by a checksum."""
    chosen = group.settings.dead_letter_topic
    # Dead letters in their own source would die again, for ever. Those of topics that whoever chose had no right to
    # would be there for others to read (rule R39).
    if chosen and chosen != topic.name and _is_source(topic, group):
        return chosen
    stem, suffix = f"{topic.name}.{local_name(group.name)}", ".dlq"
    if len(stem) + len(suffix) > NAME_LENGTH_MAX:
        suffix = f".{crc32c(stem.encode()):08x}{suffix}"
    return stem[: NAME_LENGTH_MAX - len(suffix)] + suffix


def _is_source(topic: Topic, group: Group) -> bool:
    patterns = group.dead_letter_sources
    return patterns is None or any(is_pattern_for(pattern, topic.name) for pattern in patterns)


class DeadLetterTopics:
    """Creates the topic on first use, with the source's partition count, retention and encryption."""

    def __init__(
        self,
        topics: TopicAdmin,
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
        """See DeadLetterSink. Keys decide the partition, so a key's letters stay in order.

        An earlier try may have put a letter where its key was mapped to before the topic's partitions changed, so it is
        looked for there first. What is not found there is not stored there later: whoever still comes by the earlier
        mapping is refused (rule R28).
        """
        target = await self._topic(source, group)
        left = [_Named(letter, _key(letter, source, group)) for letter in letters]
        for earlier in earlier_topics(target, self._clock.now_ms()):
            found: set[_Death] = set()
            for number, share in _by_partition(left, earlier).items():
                state = self._metadata.partition(target.id, number)
                if state is None or state.life is not PartitionLife.GONE:
                    found |= await self._stored(target, number, share)
            left = [each for each in left if each.death not in found]
        for number, share in _by_partition(left, target).items():
            await self._append_to(target, number, source, group, share)

    async def _topic(self, source: Topic, group: Group) -> Topic:
        name = dead_letter_topic_name(source, group)
        topic = self._metadata.topic(name)
        if topic is not None:
            return topic
        if len(self._metadata.topics()) >= self._topics_max:
            detail = f"with {self._topics_max} topics no dead-letter topic is made any more: make {name!r} by hand"
            raise ServerError(ProblemCode.TOO_MANY_TOPICS, detail)
        return await self._topics.get_or_create(
            name,
            partitions=source.partitions,
            config=TopicConfig(
                retention_ms=source.config.retention_ms,
                segment_bytes=source.config.segment_bytes,
                min_insync_replicas=source.config.min_insync_replicas,
                encryption=source.config.encryption,
            ),
            replication_factor=source.replication_factor,
        )

    async def _stored(self, target: Topic, number: int, asked: list["_Named"]) -> set["_Death"]:
        """Those that the partition holds by these names. Raises ServerError."""
        client = self._client_of((await self._state(target, number)).leader)
        stored: set[_Death] = set()
        for _ in range(ROUNDS_MAX):
            request = KnownKeysRequest(target.id, number, _names(asked), len(asked), target.mapping)
            try:
                known = (await client.known_keys(request)).known
            except ServerError as error:
                if error.code is not ProblemCode.UNSUPPORTED:
                    raise
                known = []  # a node of an earlier version: it repeats such letters itself
            stored.update(asked[each.index].death for each in known if not each.conflict)
            asked = [asked[each.index].renamed() for each in known if each.conflict]
            if not asked:
                break
        return stored

    async def _append_to(
        self, target: Topic, number: int, source: Topic, group: Group, letters: list["_Named"]
    ) -> None:
        state = await self._state(target, number)
        left = letters
        for _ in range(ROUNDS_MAX):
            batch = encode_batch([_record(each.letter, source, group) for each in left], keys=_names(left))
            request = ProduceRequest(target.id, number, batch, mapping=target.mapping)
            response = await self._client_of(state.leader).produce(request)
            if not response.known:
                return
            left = _left(left, response.known)
            if not left:
                return
        raise ServerError(ProblemCode.CONFLICT, f"The topic {target.name} changed while dead letters were written.")

    async def _state(self, target: Topic, number: int) -> PartitionState:
        """A topic that was created just now has no leader for a moment. Raises ServerError UNAVAILABLE."""
        for _ in range(LEADER_LOOKS_MAX):
            state = self._metadata.partition(target.id, number)
            if state is not None:
                return state
            await self._clock.sleep(LEADER_LOOK_INTERVAL_MS)
        raise ServerError(ProblemCode.UNAVAILABLE, f"The topic {target.name} has no leader yet.")


class _Death(NamedTuple):
    """What tells the letters of a source and a group apart."""

    partition: int
    offset: int
    generation: int


class _Named(NamedTuple):
    """A letter with the name by which the dedup window of its partition remembers it."""

    letter: DeadLetter
    name: str

    @property
    def death(self) -> _Death:
        return _Death(self.letter.partition, self.letter.offset, self.letter.generation)

    def renamed(self) -> "_Named":
        """Somebody has sent another message under this name: it says nothing of the letter, which must not be lost."""
        return _Named(self.letter, self.name + _MARK)


def _names(letters: list[_Named]) -> list[DedupKey]:
    return [DedupKey(index, each.name, FINGERPRINT) for index, each in enumerate(letters)]


def _left(sent: list[_Named], known: list[KeyedResult]) -> list[_Named]:
    """Those that are not stored yet."""
    is_taken = {each.index: each.conflict for each in known}
    return [
        each.renamed() if index in is_taken else each for index, each in enumerate(sent) if is_taken.get(index, True)
    ]


def _by_partition(letters: list[_Named], target: Topic) -> dict[int, list[_Named]]:
    """A letter without a key goes where its message was, as far as the topic has such a partition."""
    shares: dict[int, list[_Named]] = {}
    for each in letters:
        key = each.letter.record.key
        number = partition_of_hash(
            each.letter.partition if key is None else hash_of_key(key),
            partitions=target.partitions,
            decommissioned=target.decommissioned,
        )
        shares.setdefault(number, []).append(each)
    return shares


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
        **({"cause": "expired"} if letter.is_expired else {}),
        **(_told_of(letter.history) if letter.attempts else {}),
    }
    headers = {name: value for name, value in (letter.record.headers or {}).items() if name not in _FAILURE_HEADERS}
    first_id = first_id_of(headers) or _schedule_id_of(letter.record)
    if first_id:
        headers[FIRST_ID] = first_id
    if attempts_before := attempts_of(headers):
        headers[ATTEMPTS_BEFORE] = str(attempts_before)
    headers |= {HEADER_PREFIX + name: value[:HEADER_VALUE_BYTES_MAX] for name, value in origin.items()}
    return Record(
        letter.record.body,
        letter.record.key,
        headers,
        letter.record.tags,
        letter.record.timestamp_ms if letter.record.timestamp_ms is not None else letter.append_time_ms,
        letter.record.content_type,
    )


def _schedule_id_of(record: Record) -> str:
    """A letter is no scheduled message any more."""
    return "" if record.schedule is None else record.schedule.id


def _told_of(history: FailureHistory) -> dict[str, str]:
    """What is known of how it failed."""
    told: dict[str, str] = {}
    if history.last_ms >= 0:
        told |= {"first-time": str(history.first_ms), "last-time": str(history.last_ms)}
    if history.last_consumer:
        told["last-consumer"] = history.last_consumer
    reasons = [{"attempt": each.attempt, "at": each.at_ms, "reason": each.reason} for each in history.reasons]
    while reasons:
        text = msgspec.json.encode(reasons)
        if len(text) <= HEADER_VALUE_BYTES_MAX:
            told["reasons"] = text.decode()
            break
        reasons = reasons[1:]  # much of the text had to be escaped
    return told
