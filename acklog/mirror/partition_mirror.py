"""Copies one partition. Whatever happens, it goes on by what the target's log says.

After a start, and after every failure, it reads what it has copied behind its last known place (`resume`), and sends
the next message alone, under the link to the copy before it. An append that was still under way by then is either seen
or has that name already: in both cases it is found, and nothing is stored twice.
"""

import asyncio

from acklog.catalog import PartitionState
from acklog.errors import (
    AcklogError,
    IdempotencyKeyReused,
    LogDiverged,
    OffsetOutOfRange,
    ProducerFenced,
    ProducerUnknown,
    TopicNotFound,
    Unavailable,
)
from acklog.messages import RecordsPage, Sent
from acklog.mirror.checkpoint import Checkpoint
from acklog.mirror.copied_place import CopiedPlace, copied_in, link_after
from acklog.mirror.copy_plan import CopyPlan, plan_copies
from acklog.mirror.mirror_figures import PartitionFigures
from acklog.mirror.mirror_gap import GapFoundError, GapKind, MirrorGap, OnGap
from acklog.mirror.mirror_settings import Beginning
from acklog.mirror.resumption import CopyState, gap_of_out_of_range, state_from
from acklog.mirror.topic_copier import TopicCopier
from acklog.wire.identifiers import parse_message_id

MESSAGE_OVERHEAD_BYTES = 256
"""What a copy takes on its way beside its body and its key, for the throttle."""
_REFUSALS = frozenset({"MESSAGE_TOO_LARGE", "INVALID_FIELD", "MISSING_FIELD"})


class PartitionMirror:
    """`begins_at` counts where nothing was ever dealt with."""

    def __init__(
        self,
        copier: TopicCopier,
        partition: int,
        checkpoint: Checkpoint | None,
        figures: PartitionFigures,
        *,
        begins_at: Beginning,
    ) -> None:
        self.partition = partition
        self.figures = figures
        self._copier = copier
        self._means = copier.means
        self._begins_at = begins_at
        self._goes_on = copier.means.settings.on_gap == OnGap.SKIP
        self.state = self._state_from(checkpoint)
        self._is_linked = False
        self._more = asyncio.Event()
        self._failures = 0

    def look(self, high_watermark: int) -> None:
        """The source's partition was seen to go so far."""
        self.figures.is_at(high_watermark)
        if self.figures.lag:
            if self.figures.waiting_since_ms is None:
                self.figures.waiting_since_ms = self._means.now_ms()
            self._more.set()

    async def run(self) -> None:
        """Copy until cancelled. Raises GapFoundError where it is not to go on, ProducerFenced and ProducerUnknown."""
        while True:
            try:
                async with self._means.slots:
                    await self._resume()
                while True:
                    async with self._means.slots:
                        has_more = await self._copy_page()
                    if not has_more:
                        await self._more.wait()
            except GapFoundError as found:
                self._pass(found.gap)
            except (ProducerFenced, ProducerUnknown):
                raise
            except AcklogError as error:
                await self._back_off(error)

    def _state_from(self, checkpoint: Checkpoint | None) -> CopyState:
        try:
            return state_from(checkpoint, self._copier.pair, self.partition, goes_on=False)
        except GapFoundError as found:
            if not self._goes_on:
                raise
            self._means.on_gap(found.gap)
            return state_from(checkpoint, self._copier.pair, self.partition, goes_on=True)

    # --- where it goes on --------------------------------------------------------------------------------------------

    async def _resume(self) -> None:
        self._is_linked = False
        await self._find_copies()
        if self.state.next_offset is None:
            there = await self._source_partition()
            place = there.log_start if self._begins_at == "earliest" else there.high_watermark
            self.state.next_offset = place
        self.figures.next_offset = self.state.next_offset

    async def _find_copies(self) -> None:
        """Take what the target has behind the last copy that is known."""
        pair, last = self._copier.pair, self.state.last
        offset: int | str = "earliest" if last is None else last.target_offset + 1
        while True:
            try:
                page = await self._means.target.read(
                    pair.target,
                    self.partition,
                    offset=offset,
                    epoch=None,
                    max_bytes=self._means.settings.read_bytes_max,
                )
            except OffsetOutOfRange as error:
                if error.retriable:
                    raise
                offset = await self._behind_what_the_target_removed(offset, error)
                continue
            self._check_id(page, pair.target_id, GapKind.TARGET_REMADE)
            for place in copied_in(page.messages, pair.source_id, self.partition):
                self.state.note(place)
            if page.next_offset >= page.high_watermark:
                return
            offset = page.next_offset

    async def _behind_what_the_target_removed(self, offset: int | str, error: OffsetOutOfRange) -> int:
        there = await self._means.target.partition(self._copier.pair.target, self.partition)
        if not isinstance(offset, int) or there.log_start is None or there.high_watermark is None:
            raise error
        if offset < there.log_start:
            return there.log_start
        detail = f"{self._copier.pair.target} ends at {there.high_watermark} in the target, copies went up to {offset}"
        raise GapFoundError(MirrorGap(GapKind.TARGET_CUT, self._copier.pair.source, self.partition, detail))

    async def _source_partition(self) -> PartitionState:
        there = await self._means.source.partition(self._copier.pair.source, self.partition)
        if there.log_start is None or there.high_watermark is None:
            raise Unavailable("the partition's leader cannot be asked", code="UNAVAILABLE", retriable=True)
        return there

    # --- copying -----------------------------------------------------------------------------------------------------

    async def _copy_page(self) -> bool:
        """Whether there may be more already."""
        self._more.clear()
        page = await self._read()
        settings, figures = self._means.settings, self.figures
        plan = plan_copies(
            page.messages,
            page.next_offset,
            self._copier.rules,
            copies_max=settings.copies_max if self._is_linked else 1,
            now_ms=self._means.now_ms(),
        )
        if page.messages:
            figures.waiting_since_ms = page.messages[0].append_time_ms
        if plan.copies:
            await self._send(plan)
        elif plan.refused is not None:
            offset, why = plan.refused
            raise GapFoundError(self._refused(offset, f"the target cannot take the message at offset {offset}: {why}"))
        else:
            self.state.next_offset = plan.next_offset
        figures.came_back += plan.came_back
        figures.next_offset = self.state.next_offset
        figures.is_at(page.high_watermark)
        figures.problem = ""
        self._failures = 0
        return bool(figures.lag) and bool(plan.copies or page.messages or page.next_offset > page.offset)

    async def _read(self) -> RecordsPage:
        pair = self._copier.pair
        offset = self.state.next_offset
        assert offset is not None, "it is known where to go on"
        try:
            page = await self._means.source.read(
                pair.source,
                self.partition,
                offset=offset,
                epoch=self.state.epoch,
                max_bytes=self._means.settings.read_bytes_max,
            )
        except OffsetOutOfRange as error:
            there = await self._source_partition()
            assert there.log_start is not None
            assert there.high_watermark is not None
            if error.retriable or there.log_start <= offset <= there.high_watermark:
                raise
            raise GapFoundError(gap_of_out_of_range(self.state, there.log_start, there.high_watermark)) from error
        except LogDiverged as error:
            diverged_at = error.extra.get("divergedAt")
            if not isinstance(diverged_at, int):
                raise
            detail = f"the source's log was cut at {diverged_at}, and was copied up to {offset}"
            gap = MirrorGap(GapKind.SOURCE_CUT, pair.source, self.partition, detail, diverged_at, offset)
            raise GapFoundError(gap) from error
        except TopicNotFound as error:
            detail = f"{pair.source} is not there any more in the source"
            raise GapFoundError(MirrorGap(GapKind.SOURCE_GONE, pair.source, None, detail)) from error
        self._check_id(page, pair.source_id, GapKind.SOURCE_REMADE)
        return page

    def _check_id(self, page: RecordsPage, topic_id: str, kind: GapKind) -> None:
        """The name may have come to mean another topic since it was looked at."""
        if page.messages:
            found = parse_message_id(page.messages[0].message_id)
            if found is not None and found.topic_id != topic_id:
                detail = f"{self._copier.pair.source} was made anew: its messages are of {found.topic_id}"
                raise GapFoundError(MirrorGap(kind, self._copier.pair.source, self.partition, detail))

    async def _send(self, plan: CopyPlan) -> None:
        last = self.state.last
        link = link_after(self._copier.pair.source_id, None if last is None else last.target_offset)
        plan.copies[0].dedup_id = link
        size_bytes = sum(_size_of(copy.body) + MESSAGE_OVERHEAD_BYTES for copy in plan.copies)
        pause_s = self._means.throttle.pause_s(size_bytes, asyncio.get_running_loop().time())
        if pause_s > 0:
            await asyncio.sleep(pause_s)
        results = await self._copier.send(plan.copies)
        self._check_results(plan, results)
        for source, result in zip(plan.sources, results, strict=True):
            assert isinstance(result, Sent)
            assert result.offset is not None
            self.state.note(CopiedPlace(source.offset, result.offset, source.epoch))
        self.state.next_offset = plan.next_offset
        self.figures.copied += len(plan.copies)
        self.figures.copied_bytes += size_bytes
        if not self._is_linked:
            # What was sent may have been there already, with more behind it.
            await self._find_copies()
            self._is_linked = True

    def _check_results(self, plan: CopyPlan, results: list[Sent | AcklogError]) -> None:
        """Raises the first failure. A request goes into one partition, so it is stored whole or not at all, but for
        messages that the target refuses: which those are, single sends tell after the next `resume`."""
        failures = [
            (each.offset, result) for each, result in zip(plan.sources, results, strict=True) if not _is_stored(result)
        ]
        if not failures:
            return
        offset, failure = failures[0]
        if not isinstance(failure, AcklogError):
            raise Unavailable("the target says of a copy that it is for later", code="UNAVAILABLE", retriable=True)
        is_alone = len(results) == 1 or len(failures) < len(results)
        if is_alone and failure.code in _REFUSALS:
            detail = f"the target refuses the message at offset {offset}: {failure}"
            raise GapFoundError(self._refused(offset, detail)) from failure
        raise failure

    def _refused(self, offset: int, detail: str) -> MirrorGap:
        return MirrorGap(GapKind.REFUSED, self._copier.pair.source, self.partition, detail, offset, offset + 1)

    # --- when it does not go on --------------------------------------------------------------------------------------

    def _pass(self, gap: MirrorGap) -> None:
        """Go on behind the gap, where that is wanted and this partition can do it alone; else raises GapFoundError."""
        is_ours = gap.kind in {GapKind.REMOVED, GapKind.SOURCE_CUT, GapKind.REFUSED, GapKind.TARGET_CUT}
        if not self._goes_on or not is_ours:
            raise GapFoundError(gap)
        self._means.on_gap(gap)
        if gap.kind is GapKind.TARGET_CUT:
            self.state = CopyState(self._copier.pair, self.partition, self.state.next_offset)
            return
        place = gap.from_offset if gap.kind is GapKind.SOURCE_CUT else gap.below_offset
        begin = self.state.next_offset
        self.state.next_offset = place
        if gap.kind is not GapKind.SOURCE_CUT and begin is not None and place is not None:
            self.figures.skipped += max(0, place - begin)

    async def _back_off(self, error: AcklogError) -> None:
        self._failures += 1
        self.figures.problem = str(error)
        if isinstance(error, IdempotencyKeyReused):
            self.figures.problem = "waits for what was being appended to the target"
        backoff = self._means.settings.backoff
        await asyncio.sleep(backoff.delay_ms(self._failures, chance=self._means.chance(), error=error) / 1000)


def _size_of(body: object) -> int:
    return len(body) if isinstance(body, bytes) else len(bytes(body))  # type: ignore[call-overload]


def _is_stored(result: Sent | AcklogError) -> bool:
    return isinstance(result, Sent) and result.offset is not None
