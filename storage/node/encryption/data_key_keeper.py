"""Keeps the data keys of a node's topics: unwraps what it can, makes those that are missing where it leads, and wraps
anew what an earlier master key has wrapped.

All changes of a topic's entry are compare-and-set on what was read. A key is used only once the metadata shows it: one
whose entry was never written would leave batches that nobody can read.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence

import msgspec
import structlog

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model import keys
from cluster.model.codec import decode, encode_instead
from cluster.model.data_keys import WRAPPED_BYTES_MAX, missing_number, rewrapped, with_data_key
from cluster.model.values import NO_LEADER, DataKey, Topic
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationError, CoordinationStore, Put, unchanged
from cluster.ports.entropy import Entropy
from storage.encryption.local_master_key import random_bytes
from storage.encryption.log_cipher import LogCipher
from storage.encryption.master_key import MasterKey, MasterKeyError, MasterKeys, bound_to
from storage.encryption.topic_keys import TopicKeys
from storage.encryption.writer_key import KEY_BYTES
from storage.log.keys import LogKey
from storage.replication.assignment import ReplicaIdentity

RETRY_MS = 500
"""Until what could not be done is tried again, where nothing happens before."""
WAIT_MS = 3_000
"""How long the opening of a partition waits for its topic's keys; it is tried again later."""

logger = structlog.get_logger(__name__)


class DataKeyKeeper:
    """Of one node. `open` it before its partitions, `close` it behind them."""

    def __init__(
        self,
        me: ReplicaIdentity,
        *,
        store: CoordinationStore,
        metadata: MetadataView,
        master_keys: MasterKeys,
        clock: Clock,
        entropy: Entropy,
        on_crashed: Callable[[BaseException], None],
    ) -> None:
        self._me = me
        self._store = store
        self._metadata = metadata
        self._master_keys = master_keys
        self._clock = clock
        self._entropy = entropy
        self._on_crashed = on_crashed
        self._keys: dict[str, TopicKeys] = {}
        self._heeded: dict[str, Topic] = {}
        self._unfinished: dict[str, None] = {}
        self._wake = asyncio.Event()
        self._looked = asyncio.Event()
        self._unsubscribe: Callable[[], None] = lambda: None
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Returns once what can be unwrapped soon is known."""
        self._unsubscribe = self._metadata.subscribe(self._heed_all)
        self._heed_all()
        with contextlib.suppress(TimeoutError):  # partitions that lack a key wait for it when they are opened
            async with asyncio.timeout(WAIT_MS / 1000):
                await self._look()
        self._task = asyncio.get_running_loop().create_task(self._run())
        self._task.add_done_callback(self._task_ended)

    async def close(self) -> None:
        self._unsubscribe()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _task_ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_crashed(error)

    def cipher(self, log: LogKey) -> LogCipher:
        """For what the log appends and reads from now on."""
        return LogCipher(log, self._of(log.topic_id), self._entropy)

    async def require(self, topic: Topic) -> None:
        """Return once all data keys of the topic are known here. Raises ServerError UNAVAILABLE where that takes too
        long: then nothing of it can be served."""
        self._heed(topic)
        self._wake.set()
        topic_keys = self._of(topic.id)
        try:
            async with asyncio.timeout(WAIT_MS / 1000):
                while not topic_keys.is_complete:
                    self._looked.clear()
                    await self._looked.wait()
        except TimeoutError:
            raise topic_keys.missing() from None

    def _heed_all(self) -> None:
        """What the metadata says of topics now: it counts at once, and what has to be done about it is done soon."""
        topics = self._metadata.topics()
        for topic in topics:
            if self._heeded.get(topic.id) is not topic:
                self._heed(topic)
        if len(self._heeded) > len(topics):
            there = {topic.id for topic in topics}
            for topic_id in [each for each in self._heeded if each not in there]:
                del self._heeded[topic_id]
                self._unfinished.pop(topic_id, None)
                self._keys.pop(topic_id, None)  # nobody reads any more what they have encrypted
        if self._unfinished:
            self._wake.set()

    def _heed(self, topic: Topic) -> None:
        self._heeded[topic.id] = topic
        if topic.data_keys_wanted or topic.id in self._keys:
            self._of(topic.id).learn(topic)
        if topic.data_keys_wanted:
            self._unfinished[topic.id] = None

    def _of(self, topic_id: str) -> TopicKeys:
        return self._keys.setdefault(topic_id, TopicKeys())

    async def _run(self) -> None:
        while True:
            try:
                async with asyncio.timeout(RETRY_MS / 1000 if self._unfinished else None):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._wake.clear()
            await self._look()

    async def _look(self) -> None:
        """Do what is to be done about topics now; what cannot be done yet stays unfinished."""
        for topic_id in list(self._unfinished):
            topic = self._metadata.topic_by_id(topic_id)
            self._unfinished.pop(topic_id, None)  # before it is looked at: it may change meanwhile
            if topic is None:
                continue
            is_done = False
            try:
                is_done = await self._see_to(topic)
            except (MasterKeyError, CoordinationError, ServerError, msgspec.DecodeError) as error:
                self._note_problem(topic, str(error))
            except Exception as error:  # whatever it is, it is this topic's problem: others are served on
                self._note_problem(topic, repr(error))
            finally:
                if not is_done:
                    self._unfinished[topic_id] = None
            self._looked.set()

    async def _see_to(self, topic: Topic) -> bool:
        """Whether nothing is left to be done. Raises MasterKeyError, CoordinationError."""
        topic_keys = self._of(topic.id)
        for each in topic.data_keys:
            if not topic_keys.has(each.number):
                master_key = self._master_keys.of(each)
                topic_keys.put(
                    each.number, await master_key.unwrap(each.wrapped, bound=bound_to(topic.id, each.number))
                )
        topic_keys.problem = ""
        number = missing_number(topic)
        earlier = [each for each in topic.data_keys if each.master_key not in self._master_keys.ids[:1]]
        if self._is_mine(topic):
            if number is not None:
                await self._make(topic, number)
            elif self._shared_master_key() is self._master_keys.current:
                await self._wrap_anew(topic, earlier)
        return number is None and not earlier

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
        key = await self._wrapped(topic, number, random_bytes(self._entropy, KEY_BYTES), self._clock.now_ms())
        item = await self._store.get(keys.topic(topic.name))
        stored = None if item is None else decode(Topic, item.value)
        changed = None if stored is None or stored.id != topic.id else with_data_key(stored, key)
        if item is None or changed is None:
            return
        result = await self._store.transact([unchanged(item)], [Put(item.key, encode_instead(changed, item.value))])
        if result.succeeded:
            logger.info("data_key_made", topic=topic.name, number=number, master_key=key.master_key)

    async def _wrap_anew(self, topic: Topic, earlier: Sequence[DataKey]) -> None:
        for each in earlier:
            plain = self._of(topic.id).key(each.number)
            key = await self._wrapped(topic, each.number, plain, each.created_at_ms)
            item = await self._store.get(keys.topic(topic.name))
            stored = None if item is None else decode(Topic, item.value)
            changed = None if stored is None or stored.id != topic.id else rewrapped(stored, key)
            if item is None or changed is None:
                return
            result = await self._store.transact([unchanged(item)], [Put(item.key, encode_instead(changed, item.value))])
            if result.succeeded:
                logger.info("data_key_wrapped_anew", topic=topic.name, number=each.number, master_key=key.master_key)

    async def _wrapped(self, topic: Topic, number: int, plain: bytes, created_at_ms: int) -> DataKey:
        """Raises MasterKeyError."""
        master_key = self._shared_master_key()
        if master_key is None:
            raise MasterKeyError("there is no master key that this node and all others have")
        wrapped = await master_key.wrap(plain, bound=bound_to(topic.id, number))
        if len(wrapped) > WRAPPED_BYTES_MAX:
            raise MasterKeyError(f"a wrapped data key has {len(wrapped)} bytes, the limit is {WRAPPED_BYTES_MAX}")
        return DataKey(number, wrapped, master_key.id, created_at_ms)

    def _note_problem(self, topic: Topic, reason: str) -> None:
        topic_keys = self._of(topic.id)
        if topic_keys.problem != reason:  # else it was told
            topic_keys.problem = reason
            logger.error("data_key_missing", topic=topic.name, reason=reason)


def check_master_keys(topics: Sequence[Topic], master_keys: MasterKeys) -> None:
    """Raises ServerError NO_MASTER_KEY where a topic has data keys that this node could never unwrap: it would refuse
    whatever it leads of that topic."""
    for topic in topics:
        for each in topic.data_keys:
            if each.master_key not in master_keys.ids:
                had = ", ".join(master_keys.ids) or "none"
                detail = (
                    f"the topic {topic.name} is encrypted by the master key {each.master_key}, which this node does "
                    f"not have (it has {had}): give it that one as its master key, or as the one before"
                )
                raise ServerError(ProblemCode.NO_MASTER_KEY, detail)
