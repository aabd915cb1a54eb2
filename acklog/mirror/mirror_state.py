"""What mirrors keep in the target: a compacted topic of checkpoints, one per partition, and a heartbeat."""

from collections.abc import Sequence

import msgspec

from acklog.catalog import TopicChanges
from acklog.client.producer_calls import OpenedProducer
from acklog.errors import AcklogError
from acklog.messages import OutgoingMessage, raise_for_failures
from acklog.mirror.checkpoint import HEARTBEAT_KEY, OWNER_KEY, Checkpoint, Heartbeat
from acklog.mirror.ends import MirrorSource, MirrorTarget

PRODUCER_NAME = "acklog-mirror"
PARTITION = 0
READ_BYTES_MAX = 4 * 1024 * 1024
WRITTEN_AT_ONCE_MAX = 500
CONFIG = TopicChanges(
    cleanup_policy="compact", max_compaction_lag_ms=10 * 60 * 1000, segment_bytes=16 * 1024 * 1024, retention_ms=-1
)


class KeptState(msgspec.Struct):
    """What was read of it, by key. `heartbeat` is the last one."""

    checkpoints: dict[str, Checkpoint]
    heartbeat: Heartbeat | None = None


async def read_state(end: MirrorSource, topic: str) -> KeptState:
    """All that the topic holds. Raises AcklogError. What cannot be understood is of a later version, and left out."""
    kept = KeptState({})
    offset: int | str = "earliest"
    while True:
        page = await end.read(topic, PARTITION, offset=offset, epoch=None, max_bytes=READ_BYTES_MAX)
        for message in page.messages:
            try:
                if message.key == HEARTBEAT_KEY:
                    kept.heartbeat = message.body_as(Heartbeat)
                elif message.key not in {None, OWNER_KEY}:
                    checkpoint = message.body_as(Checkpoint)
                    kept.checkpoints[checkpoint.key] = checkpoint
            except msgspec.DecodeError:
                continue
        if page.next_offset >= page.high_watermark:
            return kept
        offset = page.next_offset


class MirrorState:
    """The state of the mirror that runs. `open` fences whoever had it before; then writes of that one fail."""

    def __init__(self, target: MirrorTarget, topic: str, instance: str) -> None:
        self.topic = topic
        self._target = target
        self._instance = instance
        self._opened: OpenedProducer | None = None
        self._sequence = 0

    async def open(self) -> KeptState:
        """Raises AcklogError; called again it goes on, and takes the name from nobody who came later."""
        await self._target.create_topic(self.topic, 1, CONFIG)
        if self._opened is None:
            self._opened = await self._target.open_producer(self.topic, PRODUCER_NAME, self._instance)
        return await read_state(self._target, self.topic)

    async def write(self, checkpoints: Sequence[Checkpoint], heartbeat: Heartbeat) -> None:
        """Raises AcklogError, ProducerFenced among them; then any of it may be written. Written again it is as good."""
        messages = [OutgoingMessage(each, key=each.key, partition=PARTITION) for each in checkpoints]
        messages.append(OutgoingMessage(heartbeat, key=HEARTBEAT_KEY, partition=PARTITION))
        for start in range(0, len(messages), WRITTEN_AT_ONCE_MAX):
            await self._send(messages[start : start + WRITTEN_AT_ONCE_MAX])

    async def confirm(self) -> None:
        """Raises ProducerFenced if the state is another mirror's by now: who has it decides which one goes on."""
        await self._send([OutgoingMessage(self._instance, key=OWNER_KEY, partition=PARTITION)])

    async def _send(self, messages: Sequence[OutgoingMessage]) -> None:
        assert self._opened is not None, "the state is open"
        self._sequence += 1
        raise_for_failures(await self._target.send(self.topic, messages, self._opened, self._sequence))


async def copies_kept_in(end: MirrorSource, topics: Sequence[str]) -> dict[str, str]:
    """Of the topics that mirrors have written at this end, of which topic's id they are copies, as far as the state
    topics among `topics` can be read."""
    found: dict[str, str] = {}
    for topic in topics:
        try:
            kept = await read_state(end, topic)
        except AcklogError:
            continue
        for checkpoint in kept.checkpoints.values():
            found[checkpoint.target_topic] = checkpoint.source_topic_id
    return found
