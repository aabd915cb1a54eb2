"""Group commit: appends of all logs become durable together, with one sync of the journal per round.

One round is in flight at a time; what arrives meanwhile makes up the next one. Offsets are given out when a round
starts, so that a refused append leaves no hole. (Gray and Reuter, "Transaction Processing", 1993, on group commit.)

Where the disk is faster than the processor, many small rounds take from the requests what they need themselves:
`round_interval_ms` makes them fewer and larger, but only behind a round that had company in it, so that who sends one
message after the other never waits for it. (Compare PostgreSQL's commit_delay and commit_siblings.)

A round is a chain of callbacks and not a task: every turn of the event loop between an append and its answer may serve
a dozen other requests first, and a task takes two turns more.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from itertools import chain

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.lifecycle import Lifecycle
from storage.disk.port import DiskRefusedError, ShortageError
from storage.log.engine import Engine
from storage.log.journal import Journal
from storage.log.journal_frame import ENTRY_HEADER_BYTES, FRAME_HEADER_BYTES, padded
from storage.log.log_queue import Appended, AppendWaiter, LogQueue, Pending
from storage.log.log_state import LogState
from storage.log.log_table import Space
from storage.log.round import OwnPart, RoundPart, StampedPart, encode_round, write_round, write_to_memory
from storage.log.stamped_run import StampedRun

LOOP_ROUND_BYTES_MAX = 64 * 1024
"""Checksums of so many bytes take some tens of microseconds, as handing the interpreter to another thread does."""
_ENTRY_OVERHEAD_BYTES = ENTRY_HEADER_BYTES + 96  # a key's text is never longer
_SERVING = Lifecycle.SERVING  # asked with every append, and looking a member up takes longer than the question


class GroupCommit:
    """The queue of appends and the rounds that empty it."""

    def __init__(
        self,
        engine: Engine,
        journal: Journal,
        *,
        sync_now: Callable[[], Awaitable[None]],
        sync_soon: Callable[[], None],
    ) -> None:
        self._engine = engine
        self._journal = journal
        self._sync_now = sync_now
        self._sync_soon = sync_soon
        self.rounds = 0  # that ended
        self._queue: deque[Pending] = deque()
        self._pending_bytes = 0
        self._is_busy = False  # a round is about to start, being prepared, or in flight
        self._preparing: asyncio.Task[None] | None = None
        self._not_before_ms = 0
        self._round: list[RoundPart] = []
        self._round_logs: set[LogState] = set()
        self._change: asyncio.Future[None] | None = None
        self._full_for: frozenset[Space] = frozenset()
        self._free_check_at_ms = 0
        self._batch_bytes_max = engine.settings.journal_file_bytes - padded(FRAME_HEADER_BYTES + _ENTRY_OVERHEAD_BYTES)

    @property
    def pending_bytes(self) -> int:
        """Bytes of the appends that wait for a round."""
        return self._pending_bytes

    def append(
        self,
        log: LogQueue,
        batch: bytearray,
        waiter: AppendWaiter,
        *,
        count: int,
        flags: int,
        leader_epoch: int,
    ) -> None:
        """Queue a batch; raises OVERLOADED, STORAGE_FAILED, REQUEST_TOO_LARGE, SHUTTING_DOWN, ValueError."""
        self._admit(log, len(batch))
        if leader_epoch < log.newest_epoch:
            raise ValueError(f"leader epoch {leader_epoch} after {log.newest_epoch}")
        log.newest_epoch = leader_epoch
        log.end += count
        self._queue.append(Pending(log, batch, count, flags, leader_epoch, waiter))
        self._pending_bytes += len(batch)
        self._schedule()

    def append_stamped(self, log: LogQueue, run: StampedRun, waiter: AppendWaiter) -> None:
        """Queue batches that keep their stamps; raises as `append`, and ValueError where they do not go on where the
        log will end."""
        self._admit(log, run.size_bytes)
        log.check_follows(run)
        records = run.end_offset - run.base_offset
        item = Pending(log, run.data, records, 0, run.last_epoch, waiter, run)
        log.note_queued(item)
        self._queue.append(item)
        self._pending_bytes += run.size_bytes
        self._schedule()

    def _admit(self, log: LogQueue, length: int) -> None:
        engine = self._engine
        if engine.life is not _SERVING or log.state.refused:
            engine.check_takes(log.state)
        if length > self._batch_bytes_max:
            raise ServerError(
                ProblemCode.REQUEST_TOO_LARGE, f"an append has {length} bytes, at most {self._batch_bytes_max} fit"
            )
        if self._pending_bytes and self._pending_bytes + length > engine.settings.pending_bytes_max:
            raise ServerError(
                ProblemCode.OVERLOADED,
                "too many bytes wait for the disk",
                retry_after_ms=engine.settings.retry_after_ms,
            )

    @property
    def append_bytes_max(self) -> int:
        """What one round can take of one append."""
        return self._batch_bytes_max

    async def hold(self, log: LogQueue) -> None:
        """Keep the log out of rounds from now on, and wait until none in flight has it. Pair it with `release`."""
        log.holds += 1
        while log.state in self._round_logs:
            await self._next_change()

    def release(self, log: LogQueue) -> None:
        log.holds -= 1
        if self._queue:
            self._schedule()

    async def come_to_rest(self, log: LogQueue, error: ServerError) -> None:
        """Fail what is queued and wait for the round that has the log; on return nothing of it is on its way."""
        self.fail_all(error, of_log=log)
        async with log.changing:
            try:
                await self.hold(log)
                self.fail_all(error, of_log=log)
            finally:
                self.release(log)

    async def drain(self) -> None:
        """Wait until every append that was queued is done or failed."""
        while self._is_busy:
            await self._next_change()

    async def _next_change(self) -> None:
        """Return when a round has ended, or there is none to begin."""
        if self._change is None:
            self._change = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._change)

    def _tell_change(self) -> None:
        if self._change is not None:
            self._change.set_result(None)
            self._change = None

    def fail_all(self, error: ServerError, *, of_log: LogQueue | None = None) -> None:
        """Fail what is queued, of one log or of all."""
        failed = [item for item in self._queue if of_log is None or item.log is of_log]
        if failed:
            self._queue = deque(item for item in self._queue if of_log is not None and item.log is not of_log)
            self._refuse([(item, error) for item in failed])

    def recount(self, logs: Iterable[LogQueue]) -> None:
        """The logs have changed other than by what was queued, or something queued will not come."""
        logs = dict.fromkeys(logs)
        for log in logs:
            log.forget_queued()
        for item in chain.from_iterable(part.items for part in self._round):
            if item.log in logs:
                item.log.note_queued(item)
        for item in self._queue:
            if item.log in logs:
                item.log.note_queued(item)

    def _refuse(self, refused: list[tuple[Pending, ServerError]]) -> None:
        """Tell those whose append will not come; they may queue others at once."""
        for item, _ in refused:
            self._pending_bytes -= len(item.batch)
        self.recount(item.log for item, _ in refused)
        for item, error in refused:
            _fail(item, error)

    def _schedule(self) -> None:
        """Begin a round at the end of this turn, so that all appends of the turn are in it."""
        if not self._is_busy:
            self._is_busy = True
            asyncio.get_running_loop().call_soon(self._start)

    def _start(self) -> None:
        """Begin the next round, if there is something for it and no failure."""
        self._preparing = None
        if self._engine.failure is not None:
            self.fail_all(self._engine.failed())
        first = next((item for item in self._queue if not item.log.holds), None)
        if first is None:
            self._is_busy = False
            self._tell_change()
        elif (pause_ms := self._not_before_ms - self._engine.clock.monotonic_ms()) > 0:
            self._not_before_ms = 0
            asyncio.get_running_loop().call_later(pause_ms / 1000, self._start)
        elif self._has_room(len(first.batch)):
            self._begin()
        elif self._journal.next_file():
            self._sync_soon()  # so that the file that is full can be used again before the journal needs another
            self._begin()
        else:
            self._preparing = asyncio.get_running_loop().create_task(self._prepare())

    async def _prepare(self) -> None:
        """Make room in the journal, which takes the disk, and go on."""
        try:
            await self._make_room()
        except BaseException as error:  # whatever it was, nobody may be left waiting
            self._engine.fail(f"there is no new journal file: {error!r}")
            if not isinstance(error, OSError):
                raise
        finally:
            self._start()

    def _begin(self) -> None:
        engine = self._engine
        refused: list[tuple[Pending, ServerError]] = []
        try:
            self._round = self._plan(refused)
            self._round_logs = {part.log.state for part in self._round}
            if sum(len(part.items) for part in self._round) > 1:
                self._not_before_ms = engine.clock.monotonic_ms() + engine.settings.round_interval_ms
            engine.io.start(self._work(self._round), self._written)
        except BaseException as error:
            self._written(None, error)
            if not isinstance(error, Exception):
                raise
        if refused:
            self._refuse(refused)

    def _work(self, parts: list[RoundPart]) -> Callable[[], int]:
        """What an I/O thread has to do for a round. Of a large one it does everything: checksums hold up the loop."""
        engine, journal = self._engine, self._journal
        is_small = sum(part.size_bytes for part in parts) <= LOOP_ROUND_BYTES_MAX
        if parts and is_small and write_to_memory(engine.files, parts):
            return partial(journal.write, encode_round(journal, parts))
        return partial(write_round, engine.disk, engine.files, journal, parts)

    def _has_room(self, first_bytes: int) -> bool:
        """Whether the file of the journal that is being written should take the next frame."""
        settings = self._engine.settings
        wanted = min(self._pending_bytes, max(settings.round_bytes_max, first_bytes))
        needed = padded(FRAME_HEADER_BYTES + wanted + _ENTRY_OVERHEAD_BYTES * len(self._queue))
        least = padded(FRAME_HEADER_BYTES + first_bytes + _ENTRY_OVERHEAD_BYTES)
        return self._journal.room_bytes >= max(least, min(needed, settings.journal_file_bytes // 4))

    async def _make_room(self) -> None:
        """Get the journal a spare file. What waits is refused where there is no space or no descriptor for one."""
        if self._journal.may_grow():
            try:
                await self._journal.grow(self._engine.io)
                return
            except DiskRefusedError:
                pass
        try:
            await self._sync_now()
        except ServerError as error:
            self.fail_all(error)

    def _plan(self, refused: list[tuple[Pending, ServerError]]) -> list[RoundPart]:
        """Take appends from the queue, in order, as many as one round may have, and give them their places."""
        settings = self._engine.settings
        self._look_at_free_space()
        room = self._journal.room_bytes - FRAME_HEADER_BYTES
        limit = min(settings.round_bytes_max, room)
        now_ms = self._engine.clock.now_ms()
        parts: dict[LogQueue, RoundPart] = {}
        held: list[Pending] = []
        total = 0
        queue = self._queue
        full = self._engine.full() if self._full_for else None
        while queue:
            item = queue[0]
            log = item.log
            if log.holds:
                held.append(queue.popleft())
                continue
            if full is not None and log.state.settings.space in self._full_for:
                refused.append((queue.popleft(), full))
                continue
            size = len(item.batch) + _ENTRY_OVERHEAD_BYTES
            if total + size > limit and (total or size > room):
                break
            part = parts.get(log)
            if item.run is not None and (misfit := _misfit(log.state, part, item.run)) is not None:
                refused.append((queue.popleft(), misfit))
                continue
            if part is None:
                part = parts[log] = OwnPart(log, now_ms) if item.run is None else StampedPart(log)
            elif not part.takes(item):
                break
            part.add(queue.popleft())
            total += size
        queue.extendleft(reversed(held))
        return list(parts.values())

    def _look_at_free_space(self) -> None:
        """Asks the file system at most once per interval; it answers from memory."""
        now_ms = self._engine.clock.monotonic_ms()
        if now_ms >= self._free_check_at_ms:
            self._free_check_at_ms = now_ms + self._engine.settings.free_check_interval_ms
            with contextlib.suppress(ShortageError):  # as it was before, until it can be looked at again
                free_bytes, reserve_bytes = self._engine.disk.free_bytes(), self._engine.settings.reserve_bytes
                self._full_for = frozenset(each for each in Space if free_bytes < each.kept_free_bytes(reserve_bytes))

    def _written(self, stored_bytes: int | None, error: BaseException | None) -> None:
        """The round is durable, or nobody knows: the one place where either is noted."""
        engine = self._engine
        self.rounds += 1
        parts, self._round = self._round, []
        told: list[tuple[AppendWaiter, Appended]] = []
        for part in parts:
            self._pending_bytes -= part.size_bytes
        if error is not None or engine.failure is not None:
            engine.fail(f"the journal cannot be written: {error!r}")
            for part in parts:
                _fail_all(part.items, engine.failed())
        else:
            if stored_bytes:
                self._journal.publish(stored_bytes)
            refused: list[tuple[RoundPart, ServerError]] = []
            for part in parts:
                if part.refusal is not None:
                    refused.append((part, engine.refused(part.refusal)))
                else:
                    told += part.publish()
                    part.log.state.has_files = True
                    engine.dirty[part.log.state] = None
            if refused:
                self.recount(part.log for part, _ in refused)
                for part, refusal in refused:
                    _fail_all(part.items, refusal)
        self._round_logs = set()
        self._tell_change()
        # The next round begins before anybody is told of this one: the disk should not wait for them.
        self._start()
        for waiter, appended in told:
            _tell(engine, waiter, appended)


def _misfit(state: LogState, part: RoundPart | None, run: StampedRun) -> ServerError | None:
    """Why stamped batches cannot be appended although they followed what was queued: not all of that came to be."""
    if part is None:
        end_offset, epoch, append_ms = state.log_end, state.epochs.last_epoch, state.last_append_ms
    else:
        end_offset, epoch, append_ms = part.tail
    if run.base_offset == end_offset and run.first_epoch >= epoch and run.append_ms_of(0) >= append_ms:
        return None
    return ServerError(
        ProblemCode.CONFLICT,
        f"the log ends at {end_offset}, the batches that begin at {run.base_offset} do not follow any more",
    )


def _tell(engine: Engine, waiter: AppendWaiter, appended: Appended) -> None:
    try:
        if not waiter.done():
            waiter.set_result(appended)
    except Exception as error:  # the others must hear of theirs, and what this one left undone nobody knows
        engine.fail(f"what follows an append failed: {error!r}")


def _fail_all(items: list[Pending], error: ServerError) -> None:
    for item in items:
        _fail(item, error)


def _fail(item: Pending, error: ServerError) -> None:
    if not item.waiter.done():
        item.waiter.set_exception(error)
