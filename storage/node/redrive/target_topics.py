"""The topics that a redrive job sends letters to, through whichever nodes lead their partitions."""

import asyncio
from collections.abc import Collection, Iterator, Sequence

from acklog.wire.batch import encode_batch
from acklog.wire.identifiers import id_from_bits
from acklog.wire.partition_mapping import partition_of_hash
from acklog.wire.partitioner import hash_of_key
from acklog.wire.problems import ProblemCode
from cluster.catalog.producer_admin import ProducerAdmin
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model.redrives import RedriveJob, TargetEnd
from cluster.model.values import PartitionLife, Topic
from cluster.ports.clock import Clock
from cluster.ports.entropy import Entropy
from storage.node.redrive.leader_calls import LeaderCalls
from storage.node.redrive.sent_letters import sent_back
from storage.node.redrive.target_scan import TargetScan
from storage.redrive.ports import Letter, SentLetters, SupersededError
from storage.redrive.redrive_settings import RedriveSettings
from storage.rpc.messages import KnownKeysRequest, PositionsRequest, ProduceRequest
from storage.rpc.node_api import NodeApi
from storage.rpc.producer_epoch import ProducerEpoch

_REFUSED_FOR_GOOD = frozenset({ProblemCode.INVALID_FIELD, ProblemCode.MESSAGE_TOO_LARGE})
"""What another try would hear again."""


class TargetTopics:
    """See `storage.redrive.ports.Targets`. Raises ServerError, too."""

    def __init__(
        self,
        job: RedriveJob,
        partition: int,
        calls: LeaderCalls,
        producers: ProducerAdmin,
        metadata: MetadataView,
        *,
        clock: Clock,
        entropy: Entropy,
        settings: RedriveSettings,
    ) -> None:
        self._job_id = job.id
        self._partition = partition
        self._calls = calls
        self._producers = producers
        self._metadata = metadata
        self._clock = clock
        self._entropy = entropy
        self._settings = settings
        self._claims: dict[str, ProducerEpoch] = {}
        self._ends: dict[str, tuple[int, list[TargetEnd]]] = {}

    async def take_over(self, topic_ids: Collection[str]) -> None:
        for topic_id in sorted(topic_ids):
            topic = self._metadata.topic_by_id(topic_id)
            if topic is None:
                continue  # nothing is sent there by anybody
            instance = id_from_bits(self._entropy.bits64())
            producer = await self._producers.open(topic, producer_name(self._job_id, self._partition), instance)
            claim = self._claims[topic_id] = ProducerEpoch(producer.id, producer.epoch)
            # Who begins to lead later knows the opening by itself: its leadership was written after it.
            states = self._metadata.partitions(topic_id)
            led = [each.partition for each in states if each.leader >= 0 and each.life is not PartitionLife.GONE]
            await asyncio.gather(*(self._have_leader_know(topic, number, claim) for number in led))

    async def ends(self, topic_ids: Collection[str]) -> tuple[TargetEnd, ...]:
        """Ends of a moment ago are as good: nothing that is sent later is below them."""
        found: list[TargetEnd] = []
        for topic_id in sorted(topic_ids):
            known = self._ends.get(topic_id)
            if known is None or self._clock.monotonic_ms() - known[0] > self._settings.ends_kept_ms:
                topic = self._metadata.topic_by_id(topic_id)
                if topic is None:
                    continue
                asked_ms = self._clock.monotonic_ms()
                ends = await asyncio.gather(*(self._end_of(topic, number) for number in self._present(topic)))
                known = self._ends[topic_id] = (asked_ms, ends)
            found += known[1]
        return tuple(found)

    async def sent_since(self, reach: Sequence[TargetEnd]) -> SentLetters:
        """Of a topic or partition that is gone nobody knows what was sent there."""
        noted = {(end.topic_id, end.partition): end.offset for end in reach}
        scans: list[TargetScan] = []
        is_sure = True
        for topic_id in sorted({end.topic_id for end in reach}):
            topic = self._metadata.topic_by_id(topic_id)
            present = set() if topic is None else set(self._present(topic))
            is_sure = is_sure and present.issuperset(number for each, number in noted if each == topic_id)
            for number in sorted(present):
                start = noted.get((topic_id, number), 0)
                scans.append(TargetScan(topic_id, number, start, self._calls, self._clock, self._settings))
        found = await asyncio.gather(*(scan.letters(self._job_id, self._partition) for scan in scans))
        offsets = frozenset[int]().union(*(each.offsets for each in found))
        return SentLetters(offsets, is_sure and all(each.is_sure for each in found))

    async def send(self, letters: Sequence[Letter]) -> frozenset[int]:
        """What belongs to one partition is one batch, and stored or not as a whole."""
        shares = list(self._shares(letters))
        answers = await asyncio.gather(*(self._send(*share) for share in shares), return_exceptions=True)
        failures = [answer for answer in answers if isinstance(answer, BaseException)]
        if failures:
            raise failures[0]
        taken = [share for (_, _, share), is_taken in zip(shares, answers, strict=True) if is_taken]
        return frozenset(letter.offset for share in taken for letter in share)

    def _shares(self, letters: Sequence[Letter]) -> Iterator[tuple[Topic, int, list[Letter]]]:
        """By topic and partition, without what is refused for good whoever asks. Without a key a letter's own place
        decides, so that they are spread."""
        found: dict[tuple[str, int], tuple[Topic, int, list[Letter]]] = {}
        for letter in letters:
            topic = self._metadata.topic_by_id(letter.target_id)
            key = letter.record.key
            is_refused = topic is not None and topic.config.is_compacted and key is None  # it would stay there for good
            if topic is not None and letter.target_id in self._claims and not is_refused:
                number = partition_of_hash(
                    letter.offset if key is None else hash_of_key(key),
                    partitions=topic.partitions,
                    decommissioned=topic.decommissioned,
                )
                found.setdefault((topic.id, number), (topic, number, []))[2].append(letter)
        yield from found.values()

    async def _send(self, topic: Topic, number: int, letters: list[Letter]) -> bool:
        """False where it was refused for good."""
        records = [sent_back(each.record, self._job_id, self._partition, each.offset) for each in letters]
        request = ProduceRequest(
            topic.id, number, encode_batch(records), mapping=topic.mapping, producer=self._claims[topic.id]
        )
        try:
            await self._calls.leader_of(topic.id, number).produce(request)
        except ServerError as error:
            if error.code is ProblemCode.PRODUCER_FENCED:
                raise SupersededError from error
            if error.code not in _REFUSED_FOR_GOOD:
                raise
            return False
        return True

    async def _have_leader_know(self, topic: Topic, number: int, claim: ProducerEpoch) -> None:
        timeout_ms = self._settings.call_timeout_ms

        async def know(node: NodeApi) -> None:
            await node.known_keys(KnownKeysRequest(topic.id, number, [], 0, topic.mapping, timeout_ms, claim))

        try:
            await self._calls.ask(topic.id, number, know)
        except ServerError as error:
            if error.code is ProblemCode.PRODUCER_FENCED:
                raise SupersededError from error
            raise

    async def _end_of(self, topic: Topic, number: int) -> TargetEnd:
        positions = await self._calls.ask(
            topic.id, number, lambda node: node.positions(PositionsRequest(topic.id, number))
        )
        return TargetEnd(topic.id, number, positions.high_watermark)

    def _present(self, topic: Topic) -> Iterator[int]:
        for number in range(topic.partitions):
            state = self._metadata.partition(topic.id, number)
            if state is None or state.life is not PartitionLife.GONE:
                yield number


def producer_name(job_id: str, partition: int) -> str:
    """By which a job's runner in a partition of dead letters sends to a topic."""
    return f"acklog-redrive-{job_id}-{partition}"
