"""What happens in a partition's groups by itself: leases expire, delays end, dead letters move, and what compaction
has removed is waited for no longer.

One timer per partition, set to the earliest deadline of the delivery state.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping

import structlog

from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model.values import Group
from cluster.ports.clock import Clock
from storage.delivery.group_in_partition import DueLetter, GroupInPartition
from storage.delivery.maybe_removed import is_resting, pass_over_removed
from storage.delivery.records import unpack_ranges
from storage.node.groups.dead_letter_sink import DeadLetter, DeadLetterSink
from storage.node.groups.delivery_host import DeliveryHost
from storage.node.groups.given_up_figures import GivenUpFigures, LetterCause
from storage.node.groups.given_up_lifetimes import GivenUpLifetimes
from storage.node.partition.batch_cache import UndecodableError
from storage.node.partition.node_settings import NodeSettings
from storage.node.partition.partition_host import PartitionHost
from storage.node.partition.record_reader import RecordReader

logger = structlog.get_logger(__name__)


class DeliverySteps:
    """`on_returned(group_id)` is called when a group may have something to deliver again."""

    def __init__(
        self,
        host: PartitionHost,
        delivery: DeliveryHost,
        reader: RecordReader,
        *,
        metadata: MetadataView,
        dead_letters: DeadLetterSink,
        figures: GivenUpFigures,
        clock: Clock,
        settings: NodeSettings,
        on_returned: Callable[[str], None],
        on_crashed: Callable[[BaseException], None],
    ) -> None:
        self._host = host
        self._delivery = delivery
        self._reader = reader
        self._metadata = metadata
        self._dead_letters = dead_letters
        self._figures = figures
        self._lifetimes = GivenUpLifetimes(host, delivery, reader, clock=clock, settings=settings)
        self._clock = clock
        self._settings = settings
        self._on_returned = on_returned
        self._on_crashed = on_crashed
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = 0
        self._looks_from_ms = 0  # not before: a look-up that failed is tried again after a pause, whatever else happens
        self._step: asyncio.Task[None] | None = None
        self._is_closed = False

    def arm(self) -> None:
        """Set the timer to the next deadline of any group."""
        state = self._delivery.state
        deadline_ms = state.next_deadline()
        if deadline_ms is not None:
            self.arm_at(deadline_ms)
        wait_ms = 0 if state.maybe_removed else self._lifetimes.next_look_in_ms(state.groups())
        if wait_ms is not None:
            self.arm_at(max(self._clock.monotonic_ms() + wait_ms, self._looks_from_ms))

    def arm_at(self, deadline_ms: int) -> None:
        """Have a step run at `deadline_ms` (monotonic) at the latest. Of a topic that is being restored nothing becomes
        of any message: its steps are armed anew when it is whole."""
        if (
            self._is_closed
            or self._host.topic.is_restoring
            or (self._timer is not None and self._timer_ms <= deadline_ms)
        ):
            return
        if self._timer is not None:
            self._timer.cancel()
        wait_ms = max(deadline_ms - self._clock.monotonic_ms(), 1)
        self._timer_ms = deadline_ms
        self._timer = asyncio.get_running_loop().call_later(wait_ms / 1000, self._ring)

    async def close(self) -> None:
        """Stop the timer and whatever it started."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._step is not None:
            self._step.cancel()
            await asyncio.gather(self._step, return_exceptions=True)

    def _ring(self) -> None:
        self._timer = None
        if self._step is None and not self._is_closed:
            self._step = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        """One step; arms the timer for the next one. Expiries come first: they wait for nobody else's partition."""
        states = self._delivery.state.groups()
        next_ms: int | None = None
        try:
            for state in states:
                await self._delivery.commit_passed_over(state)
                await self._expire(state)
                await self._look_up_removed(state)
                if not await self._end_blocked(state):
                    next_ms = self._clock.monotonic_ms() + self._settings.failed_step_retry_ms
                self._on_returned(state.group_id)
            for state in self._delivery.state.groups():
                await self._move_dead_letters(state)
        except ServerError as error:
            logger.warning("delivery_step_failed", topic=self._host.topic.name, reason=str(error))
            next_ms = self._clock.monotonic_ms() + self._settings.failed_step_retry_ms
        except Exception as error:
            self._on_crashed(error)
            raise
        finally:
            self._step = None
            self._looks_from_ms = next_ms or 0
            if next_ms is not None:
                self.arm_at(next_ms)
            else:
                self.arm()

    async def _expire(self, state: GroupInPartition) -> None:
        group = self._metadata.group_by_id(state.group_id)
        if group is not None:
            state = self._delivery.state.as_it_is_set(group) or state
        record = state.expire(
            now_ms=self._clock.monotonic_ms(),
            wall_now_ms=self._clock.now_ms(),
            limit=self._settings.expiries_per_step_max,
        )
        if record is not None:
            await self._delivery.commit(record)

    async def _look_up_removed(self, state: GroupInPartition) -> None:
        """Of what came back and may be gone."""
        limit = self._settings.removed_looked_up_per_step_max
        asked = self._delivery.state.maybe_removed.take(state.state, limit=limit)
        try:
            removed = await self._reader.removed_among(asked, readable_end=self._host.readable_end)
            await self._pass_over_removed(state, removed)
        except ServerError:
            self._delivery.state.look_up_again(state.group_id, asked)
            raise

    async def _end_blocked(self, state: GroupInPartition) -> bool:
        """What waits for a person and has expired. False: it is to be looked at again."""
        group = self._metadata.group_by_id(state.group_id)
        return not state.blocked_count or (group is not None and await self._lifetimes.end_blocked(state, group))

    async def _pass_over_removed(self, state: GroupInPartition, removed: list[int]) -> None:
        """What was behind them in an order goes on. What was void, as the partition changed hands, is decided anew."""
        record = pass_over_removed(state.state, removed)
        if record is not None:
            await self._delivery.commit(record)
            void = [offset for offset in removed if is_resting(state.state, offset)]
            self._delivery.state.look_up_again(state.group_id, void)

    async def _move_dead_letters(self, state: GroupInPartition) -> None:
        """First into the dead-letter topic, durably, then done here: a crash in between repeats, never loses (R29)."""
        due = state.dead_letters(limit=self._settings.dead_letters_at_once, now_ms=self._clock.monotonic_ms())
        group = self._metadata.group_by_id(state.group_id)
        if not due or group is None:
            return
        letters: list[DeadLetter] = []
        undecodable: dict[int, UndecodableError] = {}
        expired: list[int] = []
        size_bytes = 0
        try:
            for each in due:
                try:
                    letter = await self._read(state, group, each)
                except UndecodableError as error:
                    undecodable[each.offset] = error
                    continue
                if letter is None:
                    continue
                if self._lifetimes.had_expired(letter):
                    expired.append(each.offset)
                    continue
                length = _size_bytes(letter.record)
                if letters and size_bytes + length > self._settings.dead_letters_bytes_max:
                    await self._append(state, group, letters)
                    letters, size_bytes = [], 0
                letters.append(letter)
                size_bytes += length
            if letters:
                await self._append(state, group, letters)
            if undecodable:
                await self._give_up(state, group, undecodable)
            if expired:
                await self._outlive(state, group, expired)
        except ServerError as error:
            logger.warning("dead_letters_delayed", group=group.name, count=len(due), reason=str(error))
            self._postpone(state, [each.offset for each in due])

    async def _outlive(self, state: GroupInPartition, group: Group, offsets: list[int]) -> None:
        """They become letters for that, or none at all. What was behind them in an order goes on."""
        await self._lifetimes.outlive(state, group, offsets)
        state.dead_letter_failed(offsets, retry_at_ms=self._clock.monotonic_ms())
        self._on_returned(state.group_id)

    async def _append(self, state: GroupInPartition, group: Group, letters: list[DeadLetter]) -> None:
        await self._dead_letters.append(self._host.topic, group, letters)
        await self._done(
            state,
            {each.offset: LetterCause.EXPIRED if each.is_expired else LetterCause.ATTEMPTS for each in letters},
        )

    async def _read(self, state: GroupInPartition, group: Group, due: DueLetter) -> DeadLetter | None:
        """The message with where it comes from; None for a damaged one, which must not hold up the others, and for one
        that compaction has removed, which is passed over. Raises UndecodableError for one that will never be
        anything else."""
        try:
            batch, record = await self._reader.record_at(due.offset, readable_end=self._host.readable_end)
        except UndecodableError:
            raise
        except ServerError as error:
            if error.code is not ProblemCode.RECORDS_CORRUPT:
                raise
            logger.error("dead_letter_unreadable", group=group.name, offset=due.offset, reason=str(error))
            self._postpone(state, [due.offset])
            return None
        if record is None:
            await self._pass_over_removed(state, [due.offset])
            self._postpone(state, [due.offset])  # unless it is done now
            return None
        header = batch.header
        return DeadLetter(
            self._host.partition,
            due.offset,
            due.generation,
            header.leader_epoch,
            header.append_time_ms,
            due.attempts,
            record,
            due.history,
            due.is_expired,
        )

    async def _give_up(self, state: GroupInPartition, group: Group, errors: dict[int, UndecodableError]) -> None:
        """There is nothing to move at these offsets. They are done as if it had been moved: that is durable, and
        counted (rule R41)."""
        first, error = next(iter(errors.items()))
        logger.error("dead_letters_undecodable", group=group.name, offset=first, count=len(errors), reason=error.detail)
        await self._done(state, dict.fromkeys(errors, LetterCause.UNDECODABLE))

    async def _done(self, state: GroupInPartition, causes: Mapping[int, LetterCause]) -> None:
        """What was behind them in an order goes on. Whatever was acknowledged or sought away meanwhile is left out."""
        done = state.dead_lettered(causes)
        if done.runs:
            await self._delivery.commit(done)
            pair = self._host.topic.name, state.group_id
            counts = Counter(causes[offset] for start, end in unpack_ranges(done.runs) for offset in range(start, end))
            for cause, count in counts.items():
                self._figures.note_letters(pair, cause, count)
            self._on_returned(state.group_id)

    def _postpone(self, state: GroupInPartition, offsets: list[int]) -> None:
        retry_at_ms = self._clock.monotonic_ms() + self._settings.dead_letter_retry_ms
        state.dead_letter_failed(offsets, retry_at_ms=retry_at_ms)


def _size_bytes(record: Record) -> int:
    """Of what may be large in it."""
    return len(record.body) + sum(len(name) + len(value) for name, value in (record.headers or {}).items())
