"""Puts what is due among the messages, or hands it over to the partition that it belongs to by now; and records it."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import structlog

from acklog.wire.batch import encode_batch
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.ports.clock import Clock
from storage.node.partition.partition_host import PartitionHost
from storage.node.schedule.hand_over_host import HandOverHost, Shares
from storage.node.schedule.schedule_figures import ScheduleFigures
from storage.node.schedule.schedule_keeper import ScheduleKeeper
from storage.node.schedule.schedule_writer import NOTHING_WAS_DONE, UNTIL_KNOWN_MS, ScheduleWriter
from storage.schedule.changes import Fired, Note
from storage.schedule.entries import END, Due
from storage.schedule.near_future import NearFuture
from storage.schedule.schedule_settings import ScheduleSettings

logger = structlog.get_logger(__name__)

_NOT_APPENDED = NOTHING_WAS_DONE | {ProblemCode.CONFLICT}
"""With CONFLICT the topic's partitions have changed since it was seen where the messages belong."""


class DueAppender:
    """Of one leader. `wait` returns at a time, or when there may be something to take; `start` runs what this begins
    until the leadership ends."""

    def __init__(
        self,
        messages: PartitionHost,
        keeper: ScheduleKeeper,
        writer: ScheduleWriter,
        near: NearFuture,
        hand_overs: HandOverHost,
        figures: ScheduleFigures,
        *,
        clock: Clock,
        settings: ScheduleSettings,
        start: Callable[[Coroutine[Any, Any, None]], None],
        wait: Callable[[int | None], Awaitable[None]],
        on_room: Callable[[], None],
    ) -> None:
        self._messages = messages
        self._keeper = keeper
        self._writer = writer
        self._near = near
        self._hand_overs = hand_overs
        self._figures = figures
        self._clock = clock
        self._settings = settings
        self._start = start
        self._wait = wait
        self._on_room = on_room
        self._unrecorded: list[Fired] = []
        self._recorded_all = asyncio.Event()

    async def run(self) -> None:
        """One batch at a time: the next one is appended when this one is committed."""
        while True:
            async with self._keeper.appending.turn():
                with self._keeper.appending.piece():
                    is_held = self._hand_overs.look()
                    taken = self._near.take_due(self._clock.now_ms(), is_held)
                    shares = self._hand_overs.parted(taken)
                    batch = encode_batch([self._hand_overs.named(due) for due in shares.here])
            if not taken:
                until_ms = self._near.next_due(is_held)
                if is_held is not None:  # what is held may be let go without a word
                    until_ms = min(until_ms or END.due_ms, self._clock.now_ms() + self._settings.retry_pause_ms)
                await self._wait(until_ms)
                continue
            self._on_room()
            for partition, dues in shares.elsewhere.items():
                self._hand_overs.begin(partition, dues)
            if shares.here:
                await self._append(batch, shares)

    async def _append(self, batch: bytearray, shares: Shares) -> None:
        try:
            answer = await self._messages.append_own(batch, timeout_ms=UNTIL_KNOWN_MS, mapping=shares.mapping)
        except ServerError as error:
            logger.warning("due_messages_not_appended", partition=self._messages.partition, reason=str(error))
            if error.code in _NOT_APPENDED:
                self._near.give_back(shares.here)
            # Else they may be kept by a later leader: this one never appends them again.
            await self._clock.sleep(self._settings.retry_pause_ms)
            return
        self._count(shares.here)
        fired = Fired([due.entry.id for due in shares.here], answer.base_offset, answer.leader_epoch)
        self._unrecorded.append(fired)
        if len(self._unrecorded) == 1:
            self._start(self._record())
        elif len(self._unrecorded) >= self._settings.unrecorded_batches_max:
            await self._recorded_all.wait()

    async def _record(self) -> None:
        """In the order in which they were appended: each record vouches for all before it. Until it is done: the log
        is full, say, and will not stay so."""
        self._recorded_all.clear()
        while self._unrecorded:
            notes: list[Note] = list(self._unrecorded)
            try:
                await self._writer.write(*notes)
            except ServerError as error:
                if error.code not in NOTHING_WAS_DONE:
                    return  # the leadership has ended: the next leader finds the messages
                await self._clock.sleep(self._settings.retry_pause_ms)
            else:
                del self._unrecorded[: len(notes)]
        self._recorded_all.set()

    def _count(self, taken: list[Due]) -> None:
        now_ms = self._clock.now_ms()
        figures = self._figures
        figures.delivered += len(taken)
        figures.late_ms += sum(now_ms - due.entry.due_ms for due in taken)
        figures.late_ms_max = max(figures.late_ms_max, now_ms - taken[0].entry.due_ms)
