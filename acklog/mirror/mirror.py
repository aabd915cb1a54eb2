"""A mirror: finds the topics, copies each, keeps its state in the target, and moves the groups' positions."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from acklog.catalog import Topic
from acklog.errors import AcklogError, Forbidden, InvalidArgument, ProducerFenced, Unauthenticated
from acklog.mirror.checkpoint import STOPPED_MAX, Checkpoint, Heartbeat, StoppedTopic
from acklog.mirror.ends import MirrorSource, MirrorTarget
from acklog.mirror.loop_rule import copy_fault, is_copy_of_target, is_same_cluster
from acklog.mirror.mirror_figures import MirroredTopic, MirrorFigures
from acklog.mirror.mirror_gap import MirrorGap, OnGap
from acklog.mirror.mirror_settings import MirrorSettings
from acklog.mirror.mirror_state import MirrorState, copies_kept_in
from acklog.mirror.position_mirror import PositionMirror
from acklog.mirror.throttle import Throttle
from acklog.mirror.topic_copier import MirrorMeans
from acklog.mirror.topic_mirror import TopicMirror
from acklog.mirror.topic_rules import STATE_TOPIC_PREFIX, TopicRules
from acklog.wire.names import local_name

CLOSING_S_MAX = 10.0
"""How long the last checkpoint may take at the end."""
NOT_ALLOWED = (Unauthenticated, Forbidden)
"""At the start a wrong token is a mistake of who starts it; later it may be mended while the mirror runs."""


class MirrorFencedError(Exception):
    """Another mirror copies the same: this one has ended."""


class Mirror:
    """`now_ms` is the time since 1970, `chance` gives random numbers, 0 to 1; `instance` is this process's, and
    nobody else's. `on_gap` hears of every gap."""

    def __init__(
        self,
        source: MirrorSource,
        target: MirrorTarget,
        rules: TopicRules,
        settings: MirrorSettings,
        *,
        instance: str,
        now_ms: Callable[[], int],
        chance: Callable[[], float],
        on_gap: Callable[[MirrorGap], None] = lambda _: None,
    ) -> None:
        rules.check()
        self.rules = rules
        self.settings = settings
        self.figures = MirrorFigures()
        self._now_ms = now_ms
        self._tell_gap = on_gap
        self._state = MirrorState(target, state_topic_of(settings.name), instance)
        self._means = MirrorMeans(
            source,
            target,
            settings,
            Throttle(settings.bytes_per_second),
            asyncio.Semaphore(settings.at_once),
            now_ms,
            chance,
            self._found,
            self._state.confirm,
            instance,
        )
        self._positions = PositionMirror(self._means, rules, self.figures.groups)
        self._kept: dict[str, dict[int, Checkpoint]] = {}
        self._topics: dict[str, TopicMirror] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._written: dict[str, Checkpoint] = {}
        self._is_stopping = False
        self._passed_over: set[str] = set()
        self._over: asyncio.Future[None] | None = None

    async def run(self) -> None:
        """Copy until `stop`. Raises MirrorFencedError; InvalidArgument where a cycle is seen at the start."""
        loop = asyncio.get_running_loop()
        self._over = loop.create_future()
        if self._is_stopping:
            return
        work = loop.create_task(self._work())
        work.add_done_callback(self._ended)
        try:
            await self._over
        except ProducerFenced as error:
            raise MirrorFencedError("another mirror has taken over: this one has ended") from error
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            await self._end()

    def stop(self) -> None:
        """End well: what is under way is given up, and found again by the next start."""
        self._is_stopping = True
        if self._over is not None and not self._over.done():
            self._over.set_result(None)

    # --- the work ----------------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        await self._until_it_works(self._open, ends_it=NOT_ALLOWED)
        await self._until_it_works(self._discover_first, ends_it=NOT_ALLOWED)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._every(self.settings.discovery_interval_ms, self._discover))
            tasks.create_task(self._every(self.settings.checkpoint_interval_ms, self._keep))
            tasks.create_task(self._every(self.settings.position_interval_ms, self._move_positions))
            if self.settings.ends_when_caught_up:
                tasks.create_task(self._end_when_caught_up())

    async def _open(self) -> None:
        for checkpoint in (await self._state.open()).checkpoints.values():
            self._kept.setdefault(checkpoint.source_topic, {})[checkpoint.partition] = checkpoint
            self._written[checkpoint.key] = checkpoint

    async def _until_it_works(
        self, step: Callable[[], Awaitable[None]], *, ends_it: tuple[type[AcklogError], ...] = ()
    ) -> None:
        """Raises what another mirror or a wish that cannot be fulfilled is the reason of, and what `ends_it`."""
        final: tuple[type[AcklogError], ...] = (ProducerFenced, InvalidArgument, *ends_it)
        attempt = 0
        while True:
            try:
                await step()
            except final:
                raise
            except AcklogError as error:
                attempt += 1
                self.figures.problem = str(error)
                delay_ms = self.settings.backoff.delay_ms(attempt, chance=self._means.chance(), error=error)
                await asyncio.sleep(delay_ms / 1000)
            else:
                self.figures.problem = ""
                return

    async def _every(self, interval_ms: int, step: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(interval_ms / 1000)
            await self._until_it_works(step)

    # --- topics ------------------------------------------------------------------------------------------------------

    async def _discover_first(self) -> None:
        for topic, fault in (await self._begin_topics(is_first=True)).items():
            raise InvalidArgument(f"{topic} cannot be copied: {fault}", field="topics")

    async def _discover(self) -> None:
        for topic, fault in (await self._begin_topics(is_first=False)).items():
            figures = self.figures.topics.setdefault(topic, MirroredTopic(topic, self.rules.target_of(topic)))
            figures.stopped = fault

    async def _begin_topics(self, *, is_first: bool) -> dict[str, str]:
        """Begin with those that are new; why others that are meant are not copied."""
        source = {topic.name: topic for topic in await self._means.source.topics()}
        target = {topic.name: topic for topic in await self._means.target.topics()}
        self._means.target_topic_ids.update(topic.id for topic in target.values())
        if is_same_cluster(source, target):
            raise InvalidArgument("the source and the target are the same cluster", field="target")
        pairs, faults = self.rules.pairs(list(source))
        new = {name: pairs[name] for name in pairs if self._is_to_begin(name)}
        if not new:
            return faults
        states = [name for name in source if local_name(name).startswith(STATE_TOPIC_PREFIX)]
        copies = await copies_kept_in(self._means.source, states)
        target_ids = {topic.id: topic.name for topic in target.values()}
        for name, target_name in new.items():
            fault = copy_fault(name, target_name, copies, target_ids)
            if fault:
                faults[name] = fault
            elif is_copy_of_target(name, copies, target_ids):
                self._passed_over.add(name)
            else:
                self._begin(name, target_name, source, is_first=is_first)
        return faults

    def _is_to_begin(self, name: str) -> bool:
        """A topic that a gap has stopped stays so; one that was deleted may come again."""
        if name in self._passed_over:
            return False
        task = self._tasks.get(name)
        return task is None or (task.done() and self.settings.on_gap == OnGap.SKIP)

    def _begin(self, name: str, target_name: str, source: Mapping[str, Topic], *, is_first: bool) -> None:
        # Under another name in the target it is another copy, which begins anew.
        kept = {number: each for number, each in self._kept.get(name, {}).items() if each.target_topic == target_name}
        before = self._topics.get(name)
        if before is not None:
            kept = {each.partition: each for each in before.checkpoints(0)} or kept
        begins_at = self.settings.begins_at if is_first else "earliest"
        topic = TopicMirror(self._means, name, target_name, kept, begins_at=begins_at)
        self._topics[name] = topic
        self.figures.topics[name] = topic.figures
        task = asyncio.get_running_loop().create_task(topic.run())
        task.add_done_callback(self._ended)
        self._tasks[name] = task

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Work that fails ends the mirror: it is fenced, cannot be as it was wished, or has a mistake."""
        if task.cancelled() or self._over is None or self._over.done():
            return
        error = task.exception()
        if isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if error is not None:
            self._over.set_exception(error)

    # --- state and positions -----------------------------------------------------------------------------------------

    async def _keep(self) -> None:
        now_ms = self._now_ms()
        current = [each for topic in self._topics.values() for each in topic.checkpoints(now_ms)]
        changed = [each for each in current if _is_new(each, self._written.get(each.key))]
        stopped = self.figures.stopped
        listed = [StoppedTopic(name, why) for name, why in sorted(stopped.items())[:STOPPED_MAX]]
        heartbeat = Heartbeat(self._means.instance, now_ms, self.settings.checkpoint_interval_ms, listed, len(stopped))
        await self._state.write(changed, heartbeat)
        self._written.update((each.key, each) for each in changed)

    async def _move_positions(self) -> None:
        if self.settings.group_patterns:
            await self._positions.move_all(self._topics)

    async def _end_when_caught_up(self) -> None:
        # What is caught up is seen by looks, which come at intervals anyway.
        while not self._is_caught_up:  # noqa: ASYNC110
            await asyncio.sleep(self.settings.look_interval_ms / 1000)
        await self._until_it_works(self._keep)
        await self._until_it_works(self._move_positions)
        self.stop()

    @property
    def _is_caught_up(self) -> bool:
        topics = self._topics.values()
        return all(topic.figures.stopped or topic.figures.is_caught_up for topic in topics)

    async def _end(self) -> None:
        """A last checkpoint, where that is possible: the next start finds the rest by the target's log anyway."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._over is not None and self._over.done() and self._over.exception() is None and self._topics:
            try:
                async with asyncio.timeout(CLOSING_S_MAX):
                    await self._keep()
            except (AcklogError, TimeoutError):
                return

    def _found(self, gap: MirrorGap) -> None:
        self.figures.found(gap)
        self._tell_gap(gap)


def state_topic_of(name: str) -> str:
    """Of the mirror of that name."""
    return f"{STATE_TOPIC_PREFIX}{name}"


def _is_new(checkpoint: Checkpoint, written: Checkpoint | None) -> bool:
    if written is None:
        return True
    return (checkpoint.source_topic_id, checkpoint.target_topic_id, checkpoint.next_offset, checkpoint.last) != (
        written.source_topic_id,
        written.target_topic_id,
        written.next_offset,
        written.last,
    )
