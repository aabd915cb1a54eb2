"""The redrive jobs of a node: it runs the part of each in every partition of dead letters that it leads.

What a job is comes with the metadata, so nobody is told to begin; how far a part is comes from its notes, so nobody has
to end well. A part is tried again for as long as the job is there.
"""

import asyncio
from collections.abc import Callable

import msgspec
import structlog

from acklog.filters.filter_error import FilterError
from acklog.wire.names import namespace_of
from acklog.wire.record import Record
from cluster.catalog.producer_admin import ProducerAdmin
from cluster.catalog.redrive_admin import RedriveAdmin
from cluster.errors import ServerError
from cluster.model.internal_topics import is_internal
from cluster.model.redrives import LetterRange, RedriveJob
from cluster.model.values import Topic
from cluster.ports.coordination import CoordinationError
from storage.node.group_starts import GroupStarts
from storage.node.node_ports import NodePorts
from storage.node.redrive.leader_calls import LeaderCalls
from storage.node.redrive.led_letters import NOWHERE, LedLetters
from storage.node.redrive.redrive_figures import RedriveFigures
from storage.node.redrive.sent_letters import source_of
from storage.node.redrive.stored_notes import StoredNotes
from storage.node.redrive.target_topics import TargetTopics, producer_name
from storage.node.replicas.held_replicas import HeldReplicas
from storage.node.replicas.led_partition import Partition
from storage.redrive.letter_pace import LetterPace
from storage.redrive.part_runner import PartRunner
from storage.redrive.ports import SupersededError
from storage.redrive.redrive_settings import RedriveSettings

logger = structlog.get_logger(__name__)

_TRIED_AGAIN = (ServerError, CoordinationError, SupersededError)
_NOT_UNDERSTOOD = (FilterError, msgspec.DecodeError)
"""A newer version may have written the job, or its notes: a node of that one goes on."""

PartKey = tuple[str, int]
"""A job's id, and the number of a partition of dead letters."""


class RedriveHost:
    """`open` it, tell it of partitions that come or go (`look_anew`), `close` it. `on_crashed` hears of bugs."""

    def __init__(
        self,
        held: HeldReplicas,
        ports: NodePorts,
        starts: GroupStarts,
        *,
        settings: RedriveSettings,
        on_crashed: Callable[[BaseException], None],
    ) -> None:
        self.figures = RedriveFigures()
        self._held = held
        self._ports = ports
        self._metadata, self._clock = ports.metadata, ports.clock
        self._starts = starts
        self._settings = settings
        self._on_crashed = on_crashed
        self._jobs = RedriveAdmin(ports.store, ports.metadata, clock=ports.clock, entropy=ports.entropy)
        self._producers = ProducerAdmin(ports.store, ports.metadata, clock=ports.clock, entropy=ports.entropy)
        self._calls = LeaderCalls(ports.metadata, ports.client_of, clock=ports.clock, settings=settings)
        self._turns = asyncio.Semaphore(settings.parts_at_once)
        self._running: dict[PartKey, tuple[Partition, asyncio.Task[None]]] = {}
        self._over: dict[PartKey, Partition] = {}
        self._unsubscribe: Callable[[], None] = lambda: None

    # --- life ------------------------------------------------------------------------------------------------------

    @property
    def parts_running(self) -> int:
        """Partitions of dead letters that are worked at."""
        return len(self._running)

    def open(self) -> None:
        self._unsubscribe = self._metadata.subscribe(self.look_anew)
        self.look_anew()

    async def close(self) -> None:
        self._unsubscribe()
        running, self._running = self._running, {}
        for _, task in running.values():
            task.cancel()
        await asyncio.gather(*(task for _, task in running.values()), return_exceptions=True)

    def look_anew(self) -> None:
        """Jobs or partitions have come or gone."""
        jobs = self._metadata.redrives.unfinished()
        if not jobs and not self._running and not self._over:
            return
        wanted = {key: found for job in jobs for key, found in self._parts_here(job).items()}
        self._over = {key: each for key, each in self._over.items() if key in wanted and wanted[key][2] is each}
        for key, (partition, task) in list(self._running.items()):
            if key not in wanted or wanted[key][2] is not partition:
                del self._running[key]
                task.cancel()
        for key, (job, part, partition) in wanted.items():
            if key not in self._running and key not in self._over:
                task = asyncio.get_running_loop().create_task(self._run(job, part, partition))
                self._running[key] = (partition, task)
                task.add_done_callback(self._ended)

    def _parts_here(self, job: RedriveJob) -> dict[PartKey, tuple[RedriveJob, LetterRange, Partition]]:
        led = self._held.of_topic(job.topic_id)
        if not led or self._metadata.group_by_id(job.group_id) is None:
            return {}
        parts = ((each, led.get(each.partition)) for each in job.ranges)
        return {(job.id, part.partition): (job, part, found) for part, found in parts if found is not None}

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_crashed(error)

    # --- a part ----------------------------------------------------------------------------------------------------

    async def _run(self, job: RedriveJob, part: LetterRange, partition: Partition) -> None:
        failures = 0
        while True:
            try:
                await self._begin(job, part, partition)
                runner = self._runner(job, part, partition)
                async with self._turns:
                    await runner.resume()
                failures = 0
                await self._work(job, part, runner)
                await self._end(job, part, partition)
            except (*_TRIED_AGAIN, *_NOT_UNDERSTOOD) as error:
                failures += 1
                self._tell(job, part, failures, error)
            else:
                return
            await self._clock.sleep(self._settings.backoff.delay_ms(failures))

    async def _begin(self, job: RedriveJob, part: LetterRange, partition: Partition) -> None:
        """The group has to be there for letters to be handled."""
        group = self._metadata.group_by_id(job.group_id)
        if group is not None:
            # What lies before a letter that was chosen is still to be handled.
            start = part.start if job.chosen is None else partition.host.readable_start
            await self._starts.start_at(group, partition, start, is_known=False)

    async def _work(self, job: RedriveJob, part: LetterRange, runner: PartRunner) -> None:
        pace = LetterPace(job.rate_of(part), self._settings)
        while not runner.is_done and not self._is_cancelled(job):
            async with self._turns:
                began_ms, before = self._clock.monotonic_ms(), runner.part
                letters = await runner.step(letters_max=pace.letters_max)
                self.figures.moved += runner.part.moved - before.moved
                self.figures.failed += runner.part.failed - before.failed
            await self._clock.sleep(pace.pause_ms(letters, self._clock.monotonic_ms() - began_ms))

    async def _end(self, job: RedriveJob, part: LetterRange, partition: Partition) -> None:
        """It is over: nobody sends for it any more. Who comes here again finds nothing left to do."""
        name = producer_name(job.id, part.partition)
        for producer in self._metadata.producers.all():
            if producer.name == name:
                await self._producers.forget(producer.topic_id, name)
        await self._jobs.note_if_over(job)
        key = (job.id, part.partition)
        self._over[key] = partition
        self._running.pop(key, None)
        logger.info("redrive_part_over", job=job.id, topic=partition.host.topic.name, partition=part.partition)

    def _runner(self, job: RedriveJob, part: LetterRange, partition: Partition) -> PartRunner:
        def target_of(letter: Record) -> str:
            found = self._target_of(job, letter)
            return NOWHERE if found is None else found.id

        targets = TargetTopics(
            job,
            part.partition,
            self._calls,
            self._producers,
            self._metadata,
            clock=self._clock,
            entropy=self._ports.entropy,
            settings=self._settings,
        )
        letters = LedLetters(job, partition, target_of, self._settings)
        return PartRunner(part, letters=letters, targets=targets, notes=StoredNotes(self._ports.store, job, part))

    def _target_of(self, job: RedriveJob, letter: Record) -> Topic | None:
        """Where a letter is to go, if whoever made the job may send there, and there is such a topic."""
        if job.target_id:
            return self._metadata.topic_by_id(job.target_id)
        topic, letters = self._metadata.topic(source_of(letter)), self._metadata.topic_by_id(job.topic_id)
        if topic is None or topic.id == job.topic_id or is_internal(topic.name) or not job.may_send_to(topic.name):
            return None
        # Anybody who sends to the topic of letters may write where one came from: it stays in its namespace.
        is_at_home = letters is not None and namespace_of(letters.name) == namespace_of(topic.name)
        return topic if is_at_home else None

    def _is_cancelled(self, job: RedriveJob) -> bool:
        latest = self._metadata.redrives.find(job.group_id, job.id)
        return latest is None or latest.is_cancelled

    def _tell(self, job: RedriveJob, part: LetterRange, failures: int, error: Exception) -> None:
        """Once for a run of failures, and of those that last."""
        if failures == 1 or failures % 10 == 0:
            logger.warning(
                "redrive_delayed",
                job=job.id,
                partition=part.partition,
                failures=failures,
                reason=str(error) or repr(error),
            )
