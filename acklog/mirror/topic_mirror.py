"""Copies one topic: makes it in the target, copies its partitions side by side, and lets it grow with the source's."""

import asyncio
from collections.abc import Mapping

from acklog.catalog import Topic, TopicChanges, TopicDescription
from acklog.errors import AcklogError, InvalidArgument, ProducerFenced, TopicNotFound
from acklog.mirror.checkpoint import Checkpoint
from acklog.mirror.copy_plan import CopyRules
from acklog.mirror.mirror_figures import MirroredTopic
from acklog.mirror.mirror_gap import GapFoundError, GapKind, MirrorGap, OnGap
from acklog.mirror.mirror_settings import DEDUP_WINDOW_MS_MIN, Beginning
from acklog.mirror.partition_mirror import PartitionMirror
from acklog.mirror.resumption import TopicPair
from acklog.mirror.topic_copier import MirrorMeans, TopicCopier

PRODUCER_PREFIX = "mirror."
"""Of the names under which copies are sent: behind it is the id of the topic that they are copies of. So any two that
copy one topic to one topic fence each other, whatever they are called."""

FENCED_MAX = 3
"""How often a topic's name is taken back from another mirror, as from one on its way out."""


class TopicMirror:
    """`checkpoints` are those of the topic's partitions, as they were kept."""

    def __init__(
        self,
        means: MirrorMeans,
        source: str,
        target: str,
        checkpoints: Mapping[int, Checkpoint],
        *,
        begins_at: Beginning,
    ) -> None:
        self.figures = MirroredTopic(source, target)
        self.source = source
        self.target = target
        self._means = means
        self._kept = dict(checkpoints)
        self._begins_at = begins_at
        self._partitions: dict[int, PartitionMirror] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._failure: asyncio.Future[None] | None = None
        self._target_partitions = 0
        self._grows_behind: dict[int, int] | None = None
        self._failures = 0
        self._fenced = 0

    @property
    def pair(self) -> TopicPair | None:
        """None until the topic is open."""
        return next((each.state.pair for each in self._partitions.values()), None)

    @property
    def partitions(self) -> Mapping[int, PartitionMirror]:
        return self._partitions

    def checkpoints(self, at_ms: int) -> list[Checkpoint]:
        """Of all partitions, as they are now."""
        found = (each.state.checkpoint(at_ms) for each in self._partitions.values())
        return [each for each in found if each is not None]

    async def run(self) -> None:
        """Copy until cancelled, or until a gap stops the topic. Raises ProducerFenced where the mirror as a whole was
        replaced."""
        while True:
            try:
                # One that was replaced must not take the names of its topics back from its successor.
                await self._means.confirm()
            except ProducerFenced:
                raise
            except AcklogError as error:
                await self._back_off(error)
                continue
            try:
                await self._serve()
            except GapFoundError as found:
                self._means.on_gap(found.gap)
                is_over = found.gap.kind is GapKind.SOURCE_GONE
                if is_over or self._means.settings.on_gap == OnGap.STOP:
                    self.figures.stopped = found.gap.detail
                    return
                await self._pause(None)
            except ProducerFenced:
                self._fenced += 1
                if self._fenced > FENCED_MAX:
                    detail = "a mirror of another name copies it to the same topic"
                    self.figures.stopped = f"{self.source} is not copied to {self.target}: {detail}"
                    return
            except InvalidArgument as error:
                self.figures.stopped = str(error)
                return
            except AcklogError as error:
                await self._back_off(error)

    async def _serve(self) -> None:
        copier, description = await self._open()
        # A topic that was made anew may have fewer.
        self._partitions = {}
        self.figures.keep_only(description.partitions)
        failure = self._failure = asyncio.get_running_loop().create_future()
        try:
            self._begin(copier, range(min(description.partitions, self._target_partitions)), self._begins_at)
            while True:
                self._take_look(description)
                await self._grow(copier, description)
                try:
                    interval_s = self._means.settings.look_interval_ms / 1000
                    await asyncio.wait_for(asyncio.shield(failure), interval_s)
                except TimeoutError:
                    description = await self._look(copier.pair)
                    self._failures = 0
                    self.figures.problem = ""
        finally:
            await self._end()

    async def _end(self) -> None:
        for partition in self._partitions.values():
            checkpoint = partition.state.checkpoint(0)
            if checkpoint is not None:
                self._kept[partition.partition] = checkpoint
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._failure is not None and self._failure.done():
            self._failure.exception()  # it is looked at, whoever has raised first

    # --- the topic at both ends --------------------------------------------------------------------------------------

    async def _open(self) -> tuple[TopicCopier, TopicDescription]:
        """Raises AcklogError, GapFoundError."""
        description = await self._look(None)
        there = await self._target_topic(description)
        config = there.config
        if config.dedup_window_ms < DEDUP_WINDOW_MS_MIN:
            detail = f"{self.target} of the target remembers what was sent for {config.dedup_window_ms} ms only"
            raise InvalidArgument(f"{detail}: its dedupWindowMs has to be {DEDUP_WINDOW_MS_MIN} at least")
        self._target_partitions = there.partitions
        self._means.target_topic_ids.add(there.id)
        pair = TopicPair(self.source, description.id, self.target, there.id)
        name = f"{PRODUCER_PREFIX}{pair.source_id}"
        opened = await self._means.target.open_producer(self.target, name, self._means.instance)
        rules = CopyRules(
            self._means.target_topic_ids,
            needs_keys="compact" in config.cleanup_policy,
            is_delaying=config.delay_ms > 0,
        )
        return TopicCopier(self._means, pair, rules, opened), description

    async def _target_topic(self, description: TopicDescription) -> Topic:
        """The target's topic as it is; where there is none, it is made."""
        try:
            return await self._means.target.describe(self.target)
        except TopicNotFound:
            kept = next(iter(self._kept.values()), None)
            if kept is not None and self._means.settings.on_gap == OnGap.STOP:
                detail = f"{self.target} is not there any more in the target, where {self.source} was copied to it"
                gap = MirrorGap(GapKind.TARGET_REMADE, self.source, None, detail)
                raise GapFoundError(gap) from None
        await self._means.target.create_topic(self.target, description.partitions, settings_for_copy(description))
        return await self._means.target.describe(self.target)

    async def _look(self, pair: TopicPair | None) -> TopicDescription:
        try:
            description = await self._means.source.describe(self.source)
        except TopicNotFound as error:
            detail = f"{self.source} is not there any more in the source"
            raise GapFoundError(MirrorGap(GapKind.SOURCE_GONE, self.source, None, detail)) from error
        if pair is not None and description.id != pair.source_id:
            detail = f"{self.source} of the source was deleted and made anew: it was {pair.source_id}"
            raise GapFoundError(MirrorGap(GapKind.SOURCE_REMADE, self.source, None, detail))
        return description

    # --- its partitions ----------------------------------------------------------------------------------------------

    def _begin(self, copier: TopicCopier, numbers: range, begins_at: Beginning) -> None:
        for number in numbers:
            partition = PartitionMirror(
                copier, number, self._kept.get(number), self.figures.of(number), begins_at=begins_at
            )
            self._partitions[number] = partition
            task = asyncio.get_running_loop().create_task(partition.run())
            task.add_done_callback(self._ended)
            self._tasks.append(task)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A partition ends by itself only where the topic cannot go on as it is."""
        if not task.cancelled() and self._failure is not None and not self._failure.done():
            error = task.exception()
            if error is not None:
                self._failure.set_exception(error)

    def _take_look(self, description: TopicDescription) -> None:
        for there in description.partition_states:
            partition = self._partitions.get(there.partition)
            if partition is not None and there.high_watermark is not None:
                partition.look(there.high_watermark)
        self.figures.partition_count = description.partitions

    async def _grow(self, copier: TopicCopier, description: TopicDescription) -> None:
        """Copy the new partitions when everything is copied that was in the others when they were seen: so what groups
        of the target are given before and after the growth is what it was in the source."""
        if description.partitions <= len(self._partitions):
            self._grows_behind = None
            return
        if self._grows_behind is None:
            ends = {each.partition: each.high_watermark for each in description.partition_states}
            if any(ends.get(number) is None for number in self._partitions):
                return
            self._grows_behind = {number: ends[number] or 0 for number in self._partitions}
        behind = self._grows_behind
        if any((each.state.next_offset or 0) < behind.get(number, 0) for number, each in self._partitions.items()):
            return
        if self._target_partitions < description.partitions:
            await self._means.target.grow_topic(self.target, description.partitions)
            self._target_partitions = description.partitions
        self._begin(copier, range(len(self._partitions), description.partitions), "earliest")
        self._grows_behind = None
        self._take_look(description)

    async def _back_off(self, error: AcklogError) -> None:
        self.figures.problem = str(error)
        await self._pause(error)

    async def _pause(self, error: AcklogError | None) -> None:
        self._failures += 1
        backoff, chance = self._means.settings.backoff, self._means.chance()
        await asyncio.sleep(backoff.delay_ms(self._failures, chance=chance, error=error) / 1000)


def settings_for_copy(topic: Topic) -> TopicChanges:
    """Of a topic that is made in the target: what says how long messages live, and how they are kept. How many copies
    there are of each, and quotas, are the target's own matter."""
    config = topic.config
    changes = TopicChanges(
        retention=config.retention,
        retention_ms=config.retention_ms,
        retention_bytes=config.retention_bytes,
        segment_bytes=config.segment_bytes,
        dedup_window_ms=max(config.dedup_window_ms, DEDUP_WINDOW_MS_MIN),
        delay_ms=config.delay_ms,
        encryption=config.encryption,
        cleanup_policy=config.cleanup_policy,
    )
    if config.ttl_ms is not None:
        changes["ttl_ms"] = config.ttl_ms
    if "compact" in config.cleanup_policy:
        changes["min_compaction_lag_ms"] = config.min_compaction_lag_ms
        changes["max_compaction_lag_ms"] = config.max_compaction_lag_ms
        changes["tombstone_retention_ms"] = config.tombstone_retention_ms
    return changes
