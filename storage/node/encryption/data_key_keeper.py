"""Keeps the data keys of a node's topics: unwraps what it can, makes those that are missing where it leads, and wraps
anew what an earlier master key has wrapped.

Some are seen to at the same time, those first by which topics encrypt now: one that is not answered holds up no other,
and a topic is served once it has its newest.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence

import msgspec
import structlog

from acklog.wire.problems import ProblemCode
from cluster.backoff import Backoff
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model.data_keys import missing_number
from cluster.model.values import Topic
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationError
from cluster.ports.entropy import Entropy
from storage.encryption.log_cipher import LogCipher
from storage.encryption.master_key import MasterKeyError, MasterKeys
from storage.encryption.topic_keys import TopicKeys
from storage.log.keys import LogKey
from storage.node.encryption.data_key_steps import DataKeySteps
from storage.node.encryption.key_jobs import WHOLE_TOPIC, KeyJob, KeyJobs

RETRY = Backoff(500, 10_000)
"""Until what failed is tried again."""
WAIT_MS = 3_000
"""How long the opening of a partition waits for its topic's keys; it is tried again later."""
JOBS_AT_ONCE_MAX = 4
PROBLEM = "the node could not get it from who has the master key; its log says why (data_key_missing)."
"""All that callers are told: the reason is the operator's."""

logger = structlog.get_logger(__name__)


class DataKeyKeeper:
    """Of one node. `open` it before its partitions, `close` it behind them."""

    def __init__(
        self,
        steps: DataKeySteps,
        *,
        metadata: MetadataView,
        clock: Clock,
        entropy: Entropy,
        on_crashed: Callable[[BaseException], None],
    ) -> None:
        self._steps = steps
        self._metadata = metadata
        self._clock = clock
        self._entropy = entropy
        self._on_crashed = on_crashed
        self._keys: dict[str, TopicKeys] = {}
        self._heeded: dict[str, Topic] = {}
        self._heeded_changes = -1
        self._jobs = KeyJobs(RETRY)
        self._told: dict[KeyJob, str] = {}
        self._wake = asyncio.Event()
        self._looked = asyncio.Event()
        self._unsubscribe: Callable[[], None] = lambda: None
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def missing_keys(self) -> int:
        """Data keys that are to be unwrapped yet."""
        return self._jobs.missing_keys

    async def open(self) -> None:
        """Returns once what can be unwrapped soon is known."""
        self._unsubscribe = self._metadata.subscribe(self._heed_changes)
        self._heed_changes()
        for _ in range(JOBS_AT_ONCE_MAX):
            self._tasks.append(asyncio.get_running_loop().create_task(self._work()))
            self._tasks[-1].add_done_callback(self._task_ended)
        with contextlib.suppress(TimeoutError):  # partitions that lack a key wait for it when they are opened
            await self._wait_for(lambda: self._jobs.is_at_rest)

    async def close(self) -> None:
        self._unsubscribe()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _task_ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_crashed(error)

    def cipher(self, log: LogKey) -> LogCipher:
        """For what the log appends and reads from now on."""
        return LogCipher(log, self._of(log.topic_id), self._entropy)

    async def require(self, topic: Topic) -> None:
        """Return once the topic's newest data key is known here. Raises ServerError UNAVAILABLE where that takes too
        long: then nothing of it can be served."""
        if self._heeded.get(topic.id) is not topic:
            self._heed(topic)
        self._wake.set()
        topic_keys = self._of(topic.id)
        for number in topic_keys.asked_for:  # as the last opening could not read what it has encrypted
            self._jobs.prefer(KeyJob(topic.id, number))
        try:
            await self._wait_for(lambda: topic_keys.is_ready)
        except TimeoutError:
            raise topic_keys.missing() from None

    async def _wait_for(self, condition: Callable[[], bool]) -> None:
        """Raises TimeoutError."""
        async with asyncio.timeout(WAIT_MS / 1000):
            while not condition():
                self._looked.clear()
                await self._looked.wait()

    # --- what is to be done ---

    def _heed_changes(self) -> None:
        """What the metadata says of topics now: it counts at once, and what has to be done about it is done soon."""
        changes = self._metadata.topic_changes
        changed, self._heeded_changes = changes.since(self._heeded_changes), changes.number
        if changed is None:
            changed = sorted({*self._heeded, *(topic.id for topic in self._metadata.topics())})
        for topic_id in changed:
            topic = self._metadata.topic_by_id(topic_id)
            if topic is None:
                self._heeded.pop(topic_id, None)
                self._keys.pop(topic_id, None)  # nobody reads any more what they have encrypted
            elif self._heeded.get(topic_id) is not topic:
                self._heed(topic)
        self._jobs.hurry()
        if not self._jobs.is_at_rest:
            self._wake.set()

    def _heed(self, topic: Topic) -> None:
        self._heeded[topic.id] = topic
        if not topic.data_keys_wanted:
            if topic.id in self._keys:
                self._of(topic.id).learn(topic)
            return
        topic_keys = self._of(topic.id)
        topic_keys.learn(topic)
        for each in reversed(topic.data_keys):
            if not topic_keys.has(each.number):
                self._jobs.add(KeyJob(topic.id, each.number), is_urgent=each is topic.data_keys[-1])
        if self._steps.is_left(topic):
            self._jobs.add(KeyJob(topic.id, WHOLE_TOPIC), is_urgent=missing_number(topic) is not None)

    def _of(self, topic_id: str) -> TopicKeys:
        return self._keys.setdefault(topic_id, TopicKeys())

    # --- doing it ---

    async def _work(self) -> None:
        while True:
            job = self._jobs.take(self._clock.monotonic_ms())
            if job is None:
                await self._wait_for_a_job()
            else:
                await self._do(job)
                self._looked.set()

    async def _wait_for_a_job(self) -> None:
        due_ms = self._jobs.next_due_ms
        wait_ms = None if due_ms is None else max(1, due_ms - self._clock.monotonic_ms())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if wait_ms is None else wait_ms / 1000):
                await self._wake.wait()
        self._wake.clear()

    async def _do(self, job: KeyJob) -> None:
        topic, topic_keys = self._metadata.topic_by_id(job.topic_id), self._keys.get(job.topic_id)
        if topic is None or topic_keys is None:
            self._end(job)
            return
        try:
            if job.number == WHOLE_TOPIC:
                await self._steps.see_to(topic, topic_keys)
            else:
                await self._unwrap(topic, topic_keys, job.number)
        except (MasterKeyError, CoordinationError, ServerError, msgspec.DecodeError) as error:
            self._fail(job, topic, topic_keys, str(error))
        except Exception as error:  # whatever it is, it is this topic's problem: others are served on
            self._fail(job, topic, topic_keys, repr(error))
        else:
            self._told.pop(job, None)
            if job.number == WHOLE_TOPIC and self._steps.is_left(topic):
                self._jobs.wait(job, self._clock.monotonic_ms())
            else:
                self._end(job)

    async def _unwrap(self, topic: Topic, topic_keys: TopicKeys, number: int) -> None:
        data_key = next((each for each in topic.data_keys if each.number == number), None)
        if data_key is not None and not topic_keys.has(number):
            topic_keys.put(number, await self._steps.unwrapped(topic, data_key))

    def _end(self, job: KeyJob) -> None:
        self._told.pop(job, None)
        self._jobs.done(job)

    def _fail(self, job: KeyJob, topic: Topic, topic_keys: TopicKeys, reason: str) -> None:
        number = missing_number(topic) or WHOLE_TOPIC if job.number == WHOLE_TOPIC else job.number
        if number != WHOLE_TOPIC:
            topic_keys.miss(number, PROBLEM)
        if self._told.get(job) != reason:
            self._told[job] = reason
            logger.error("data_key_missing", topic=topic.name, number=number, reason=reason)
        self._jobs.fail(job, self._clock.monotonic_ms())


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
