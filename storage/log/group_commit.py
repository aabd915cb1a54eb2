"""Group commit: appends of all logs become durable together, with one sync of the journal per round.

One round is in flight at a time; what arrives meanwhile makes up the next one. Offsets are given out when a round
starts, so that a refused append leaves no hole. (Gray and Reuter, "Transaction Processing", 1993, on group commit.)
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial

from acklog.wire.problems import ProblemCode
from cluster.errors import AcklogError
from storage.disk.port import DiskFullError
from storage.log.engine import Engine
from storage.log.journal import Journal
from storage.log.journal_frame import ENTRY_HEADER_BYTES, FRAME_HEADER_BYTES, padded
from storage.log.log_state import LogState
from storage.log.round import Appended, LogQueue, Pending, RoundPart, write_round

_ENTRY_OVERHEAD_BYTES = ENTRY_HEADER_BYTES + 96  # a key's text is never longer


class GroupCommit:
    """The queue of appends and the rounds that empty it."""

    def __init__(self, engine: Engine, journal: Journal, *, sync_now: Callable[[], Awaitable[None]]) -> None:
        self._engine = engine
        self._journal = journal
        self._sync_now = sync_now
        self._queue: deque[Pending] = deque()
        self._pending_bytes = 0
        self._is_scheduled = False
        self._task: asyncio.Task[None] | None = None
        self._round_logs: set[LogState] = set()
        self._round_done: asyncio.Future[None] | None = None
        self._is_full = False
        self._free_check_at_ms = 0
        self._batch_bytes_max = engine.settings.journal_file_bytes - padded(FRAME_HEADER_BYTES + _ENTRY_OVERHEAD_BYTES)

    @property
    def pending_bytes(self) -> int:
        """Bytes of the appends that wait for a round."""
        return self._pending_bytes

    def append(
        self, log: LogQueue, batch: bytearray, *, count: int, flags: int, leader_epoch: int, is_reserved: bool
    ) -> "asyncio.Future[Appended]":
        """Queue an append; raises OVERLOADED, STORAGE_FAILED, REQUEST_TOO_LARGE, SHUTTING_DOWN."""
        engine = self._engine
        if engine.failure is not None or log.state.refused:
            engine.check(log.state)
        if engine.is_closing:
            raise AcklogError(ProblemCode.SHUTTING_DOWN, "the log store is being closed", retry_after_ms=1000)
        length = len(batch)
        if length > self._batch_bytes_max:
            raise AcklogError(
                ProblemCode.REQUEST_TOO_LARGE, f"a batch has {length} bytes, at most {self._batch_bytes_max} fit"
            )
        if self._pending_bytes and self._pending_bytes + length > engine.settings.pending_bytes_max:
            raise AcklogError(
                ProblemCode.OVERLOADED,
                "too many bytes wait for the disk",
                retry_after_ms=engine.settings.retry_after_ms,
            )
        if leader_epoch < log.newest_epoch:
            raise ValueError(f"leader epoch {leader_epoch} after {log.newest_epoch}")
        log.newest_epoch = leader_epoch
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Appended] = loop.create_future()
        self._queue.append(Pending(log, batch, count, flags, leader_epoch, is_reserved, done))
        self._pending_bytes += length
        if not self._is_scheduled:
            self._is_scheduled = True
            loop.call_soon(self._start)
        return done

    async def hold(self, log: LogQueue) -> None:
        """Keep the log out of rounds from now on, and wait until none in flight has it. Pair it with `release`."""
        log.holds += 1
        while log.state in self._round_logs and self._round_done is not None:
            await asyncio.shield(self._round_done)

    def release(self, log: LogQueue) -> None:
        log.holds -= 1
        self._kick()

    async def drain(self) -> None:
        """Wait until every append that was queued is done or failed."""
        while self._task is not None or self._is_scheduled:
            if self._task is not None:
                await asyncio.shield(self._task)
            else:
                await asyncio.sleep(0)

    def fail_all(self, error: AcklogError, *, of_log: LogQueue | None = None) -> None:
        """Fail what is queued, of one log or of all."""
        queue, self._queue = self._queue, deque()
        for item in queue:
            if of_log is None or item.log is of_log:
                self._refuse(item, error)
            else:
                self._queue.append(item)

    def _refuse(self, item: Pending, error: AcklogError) -> None:
        self._pending_bytes -= len(item.batch)
        _fail(item, error)

    def _kick(self) -> None:
        if self._queue and not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._start)

    def _start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        engine = self._engine
        try:
            while self._queue and engine.failure is None:
                first = next((item for item in self._queue if not item.log.holds), None)
                if first is None or not await self._make_room(len(first.batch)):
                    break
                parts = self._plan()
                if parts:
                    await self._commit(parts)
        except BaseException as error:  # whatever it was, nobody may be left waiting
            engine.fail(f"a round of the group commit failed: {error!r}")
            if not isinstance(error, OSError):
                raise
        finally:
            self._task = None
            self._is_scheduled = False
            if engine.failure is not None:
                self.fail_all(engine.failed())
        if any(not item.log.holds for item in self._queue):
            self._kick()

    async def _make_room(self, first_bytes: int) -> bool:
        """Have the journal ready for the next frame; False if the appends had to be refused."""
        settings = self._engine.settings
        wanted = min(self._pending_bytes, max(settings.round_bytes_max, first_bytes))
        needed = padded(FRAME_HEADER_BYTES + wanted + _ENTRY_OVERHEAD_BYTES * len(self._queue))
        least = padded(FRAME_HEADER_BYTES + first_bytes + _ENTRY_OVERHEAD_BYTES)
        if self._journal.room_bytes >= max(least, min(needed, settings.journal_file_bytes // 4)):
            return True
        if self._journal.next_file():
            return True
        if self._journal.may_grow():
            try:
                self._journal.adopt(await self._engine.io.run(self._journal.create_file))
                return self._journal.next_file()
            except DiskFullError:
                pass
        try:
            await self._sync_now()
        except AcklogError as error:
            self.fail_all(error)
            return False
        assert self._journal.next_file(), "after a sync every full file is free"
        return True

    def _plan(self) -> list[RoundPart]:
        """Take appends from the queue, in order, as many as one round may have, and give them offsets."""
        settings = self._engine.settings
        self._look_at_free_space()
        room = self._journal.room_bytes - FRAME_HEADER_BYTES
        limit = min(settings.round_bytes_max, room)
        now_ms = self._engine.clock.now_ms()
        parts: dict[LogQueue, RoundPart] = {}
        held: list[Pending] = []
        total = 0
        queue = self._queue
        full = self._engine.full() if self._is_full else None
        while queue:
            item = queue[0]
            log = item.log
            if log.holds:
                held.append(queue.popleft())
                continue
            if full is not None and not item.is_reserved:
                self._refuse(queue.popleft(), full)
                continue
            size = len(item.batch) + _ENTRY_OVERHEAD_BYTES
            if total + size > limit and (total or size > room):
                break
            part = parts.get(log)
            if part is None:
                part = parts[log] = RoundPart(log, now_ms)
            part.add(queue.popleft())
            total += size
        queue.extendleft(reversed(held))
        return list(parts.values())

    def _look_at_free_space(self) -> None:
        """Asks the file system at most once per interval; it answers from memory."""
        now_ms = self._engine.clock.monotonic_ms()
        if now_ms >= self._free_check_at_ms:
            self._free_check_at_ms = now_ms + self._engine.settings.free_check_interval_ms
            self._is_full = self._engine.disk.free_bytes() < self._engine.settings.reserve_bytes

    async def _commit(self, parts: list[RoundPart]) -> None:
        engine = self._engine
        self._round_logs = {part.log.state for part in parts}
        self._round_done = asyncio.get_running_loop().create_future()
        try:
            stored = await engine.io.run(partial(write_round, engine.disk, engine.files, self._journal, parts))
            if engine.failure is not None:
                raise OSError(engine.failure)
            if stored:
                self._journal.publish(stored)
            for part in parts:
                if part.full:
                    error = engine.full()
                    for item in part.items:
                        _fail(item, error)
                else:
                    part.publish()
                    engine.dirty[part.log.state] = None
        except BaseException as error:
            engine.fail(f"the journal cannot be written: {error}")
            for part in parts:
                for item in part.items:
                    _fail(item, engine.failed())
            raise
        finally:
            for part in parts:
                self._pending_bytes -= part.size_bytes
            self._round_logs = set()
            self._round_done.set_result(None)
            self._round_done = None


def _fail(item: Pending, error: AcklogError) -> None:
    if not item.done.done():
        item.done.set_exception(error)
