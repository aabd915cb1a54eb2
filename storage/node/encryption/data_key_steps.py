"""What is done about one data key: it is unwrapped, made, or wrapped anew.

All changes of a topic's entry are compare-and-set on what was read. A key is used only once the metadata shows it: one
whose entry was never written would leave batches that nobody can read.
"""

from collections.abc import Callable
from functools import partial

import structlog

from cluster.metadata.metadata_view import MetadataView
from cluster.model import keys
from cluster.model.codec import decode, encode_instead
from cluster.model.data_keys import WRAPPED_BYTES_MAX, missing_number, rewrapped, with_data_key
from cluster.model.values import NO_LEADER, DataKey, Topic
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationStore, Put, unchanged
from cluster.ports.entropy import Entropy
from storage.encryption.data_key_check import check_value, checked
from storage.encryption.local_master_key import random_bytes
from storage.encryption.master_key import MasterKey, MasterKeyError, MasterKeys, bound_to
from storage.encryption.topic_keys import TopicKeys
from storage.encryption.writer_key import KEY_BYTES
from storage.replication.assignment import ReplicaIdentity

logger = structlog.get_logger(__name__)


class DataKeySteps:
    """Of one node. All raise MasterKeyError, CoordinationError, ServerError UNAVAILABLE and msgspec.DecodeError."""

    def __init__(
        self,
        me: ReplicaIdentity,
        *,
        store: CoordinationStore,
        metadata: MetadataView,
        master_keys: MasterKeys,
        clock: Clock,
        entropy: Entropy,
    ) -> None:
        self._me = me
        self._store = store
        self._metadata = metadata
        self._master_keys = master_keys
        self._clock = clock
        self._entropy = entropy

    async def unwrapped(self, topic: Topic, data_key: DataKey) -> bytes:
        master_key = self._master_keys.of(data_key)
        plain = await master_key.unwrap(data_key.wrapped, bound=bound_to(topic.id, data_key.number))
        return checked(plain, data_key, topic_id=topic.id)

    def is_left(self, topic: Topic) -> bool:
        """Whether a key of it is to be made or wrapped anew, by whichever node."""
        return missing_number(topic) is not None or bool(self._earlier(topic))

    async def see_to(self, topic: Topic, topic_keys: TopicKeys) -> None:
        """Make the key that is missing, or else wrap one anew, where this node is the one that does it."""
        if not self._is_mine(topic):
            return
        number = missing_number(topic)
        if number is not None:
            await self._make(topic, number)
        elif self._shared_master_key() is self._master_keys.current:
            known = [each for each in self._earlier(topic) if topic_keys.has(each.number)]
            if known:
                await self._wrap_anew(topic, known[0], topic_keys.key(known[0].number))

    def _earlier(self, topic: Topic) -> list[DataKey]:
        """Those that another master key has wrapped than the one that this node wraps by."""
        return [each for each in topic.data_keys if each.master_key not in self._master_keys.ids[:1]]

    def _is_mine(self, topic: Topic) -> bool:
        """One of the nodes does it: two would be in each other's way, and no more than that."""
        leaders = (
            (state.leader, state.leader_incarnation)
            for state in self._metadata.partitions(topic.id)
            if state.leader != NO_LEADER
        )
        return next(leaders, None) == (self._me.node_id, self._me.incarnation)

    def _shared_master_key(self) -> MasterKey | None:
        """The one that this node wraps by, or else the one before, if every node that lives has it: what another one
        had wrapped would keep some node from serving, and from its next start."""
        members = self._metadata.steering.membership.live()
        held = [each.registration.master_keys for each in members if each.registration is not None]
        for each in (self._master_keys.current, self._master_keys.previous):
            if each is not None and all(each.id in ids for ids in held):
                return each
        return None

    async def _make(self, topic: Topic, number: int) -> None:
        plain = random_bytes(self._entropy, KEY_BYTES)
        key = await self._wrapped(topic, number, plain, self._clock.now_ms())
        if await self._write(topic, partial(with_data_key, key=key)):
            logger.info("data_key_made", topic=topic.name, number=number, master_key=key.master_key)

    async def _wrap_anew(self, topic: Topic, earlier: DataKey, plain: bytes) -> None:
        key = await self._wrapped(topic, earlier.number, plain, earlier.created_at_ms)
        if await self._write(topic, partial(rewrapped, key=key)):
            logger.info("data_key_wrapped_anew", topic=topic.name, number=key.number, master_key=key.master_key)

    async def _write(self, topic: Topic, change: Callable[[Topic], Topic | None]) -> bool:
        """Whether it was this node that has changed the topic's entry."""
        item = await self._store.get(keys.topic(topic.name))
        stored = None if item is None else decode(Topic, item.value)
        changed = None if stored is None or stored.id != topic.id else change(stored)
        if item is None or changed is None:
            return False
        result = await self._store.transact([unchanged(item)], [Put(item.key, encode_instead(changed, item.value))])
        return result.succeeded

    async def _wrapped(self, topic: Topic, number: int, plain: bytes, created_at_ms: int) -> DataKey:
        master_key = self._shared_master_key()
        if master_key is None:
            raise MasterKeyError("there is no master key that this node and all others have")
        wrapped = await master_key.wrap(plain, bound=bound_to(topic.id, number))
        if len(wrapped) > WRAPPED_BYTES_MAX:
            raise MasterKeyError(f"a wrapped data key has {len(wrapped)} bytes, the limit is {WRAPPED_BYTES_MAX}")
        check = check_value(plain, topic_id=topic.id, number=number)
        return DataKey(number, wrapped, master_key.id, created_at_ms, check)
