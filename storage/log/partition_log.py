"""One log: append, read, find by time, cut at either end."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from acklog.wire.batch import BatchCorruptError, check_unstamped
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.disk.port import Buffer
from storage.log.batch_cipher import IN_CLEAR, BatchCipher, decrypt_batches
from storage.log.engine import Engine
from storage.log.group_commit import GroupCommit
from storage.log.keys import LogKey
from storage.log.leader_epochs import LeaderEpochs
from storage.log.log_queue import Appended, AppendWaiter, LogQueue
from storage.log.log_reader import KeyedRange, LogReader, Verified
from storage.log.log_state import LogState
from storage.log.maintenance import Maintenance
from storage.log.reset import reset_to
from storage.log.retention import Retained, remove_all_before, remove_before, retain, seal
from storage.log.segment_reader import Damage, StoredBatch
from storage.log.segment_rewrite import (
    BatchRewriter,
    Pause,
    RewrittenSegment,
    SealedSegment,
    begin_rewrite,
    sealed_segments,
)
from storage.log.stamped_run import StampedRun
from storage.log.truncation import truncate_to
from storage.log.uncancelled import uncancelled

_DECRYPTED_AT_ONCE_BYTES = 256 * 1024
"""What is decrypted on the event loop; more is in an I/O thread, so that nobody is held up by it."""


class PartitionLog:
    """A log of batches. Its `cipher` says what they are stored as; whoever appends and reads has them in clear.

    All state changes on the event loop; offsets are exclusive at the end.

    Every call raises ServerError: STORAGE_FAILED once the data directory has failed, RECORDS_CORRUPT where stored
    batches are damaged.
    """

    def __init__(self, engine: Engine, commit: GroupCommit, maintenance: Maintenance, state: LogState) -> None:
        self._engine = engine
        self._commit = commit
        self._maintenance = maintenance
        self._state = state
        self._queue = LogQueue(state)
        self.cipher: BatchCipher = IN_CLEAR
        self.on_damaged: Callable[[], None] = lambda: None  # called when `damage` is found
        self._reader = LogReader(engine, state, on_damaged=lambda: self.on_damaged())

    @property
    def key(self) -> LogKey:
        return self._state.key

    @property
    def is_removed(self) -> bool:
        """It has been deleted from this node; its directory goes, or has gone."""
        return self._state.is_removed

    @property
    def log_start(self) -> int:
        return self._state.log_start

    @property
    def log_end(self) -> int:
        """The end of what is durable."""
        return self._state.log_end

    @property
    def accepted_end(self) -> int:
        """The end with all that waits to become durable. It falls only where some of that is not stored."""
        return self._queue.end

    @property
    def last_append_ms(self) -> int:
        """When its last batch was appended, by the clock of who led then; -1 where there was none."""
        return self._state.last_append_ms

    @property
    def size_bytes(self) -> int:
        return self._state.size_bytes

    @property
    def damage(self) -> str:
        """Why something durable cannot be read, "" where none was found so; only `reset_to` ends it."""
        return self._state.refused or self._state.damage

    @property
    def append_bytes_max(self) -> int:
        """What fits into one append."""
        return self._commit.append_bytes_max

    @property
    def last_leader_epoch(self) -> int:
        """-1 when nothing was ever appended."""
        return self._state.epochs.last_epoch

    @property
    def leader_epochs(self) -> LeaderEpochs:
        return self._state.epochs

    def append(self, batch: bytearray, *, leader_epoch: int) -> "asyncio.Future[Appended]":
        """Append an unstamped batch; the future is done when it is durable. Offsets follow the order of the calls.

        The log owns `batch` from here on. Raises BatchCorruptError for bytes that are not an unharmed batch, ValueError
        for an epoch below an earlier one, and ServerError: OVERLOADED when too much is waiting, and as its cipher does.
        The future may fail with STORAGE_FULL (nothing was stored) or STORAGE_FAILED (nobody knows).
        """
        done: asyncio.Future[Appended] = asyncio.get_running_loop().create_future()
        self.append_and_tell(batch, done, leader_epoch=leader_epoch)
        return done

    def append_and_tell(self, batch: bytearray, waiter: AppendWaiter, *, leader_epoch: int) -> bytearray:
        """As `append`, for a waiter that is told at once, and not in a later turn of the event loop. What is stored,
        which the log stamps then: `batch` itself, or encrypted."""
        count, flags = check_unstamped(batch)
        stored = self.cipher.encrypted(batch)
        self._commit.append(
            self._queue,
            stored,
            waiter,
            count=count,
            flags=flags,
            leader_epoch=leader_epoch,
        )
        return stored

    def append_stamped(self, batches: Buffer) -> "asyncio.Future[Appended]":
        """Append whole batches as another node's leader stamped them; the future is done when they are durable.

        They are verified first, and their bytes are kept exactly: offsets, leader epochs and append times. The log owns
        `batches` from here on; nobody may change them any more. The result names the first offset, the append time of
        the last batch and the offset after it.

        Raises BatchCorruptError where bytes are harmed; ValueError unless each batch follows the one before, the first
        one follows the log's end (what is queued included), and neither leader epochs nor append times fall; and
        ServerError as `append` does. Nothing is queued then. The future may fail as `append`'s does, all batches
        together, and with CONFLICT (nothing was stored) if what was queued before was not stored, or the log was cut.
        """
        done: asyncio.Future[Appended] = asyncio.get_running_loop().create_future()
        self.append_stamped_and_tell(batches, done)
        return done

    def append_stamped_and_tell(self, batches: Buffer, waiter: AppendWaiter) -> None:
        """As `append_stamped`, for a waiter that is told at once, and not in a later turn of the event loop."""
        self._engine.check(self._state)
        run = StampedRun(batches)
        self._commit.append_stamped(self._queue, run, waiter)

    def check_serves(self) -> None:
        """Raises ServerError STORAGE_FAILED, RECORDS_CORRUPT, TOPIC_NOT_FOUND: what was being written then may be there
        at the next start."""
        self._engine.check(self._state)

    async def come_to_rest(self, error: ServerError) -> None:
        """Wait until nothing of this log is on its way: appends that are queued and not begun fail with `error`, as do
        those that come meanwhile; the round that is under way ends, and so does a cut or a new beginning that was asked
        for. Later appends are fine. Returns also when the data directory fails: nothing is on its way then either."""
        await self._commit.come_to_rest(self._queue, error)

    async def read(self, offset: int, *, max_bytes: int, until: int | None = None) -> list[StoredBatch]:
        """Whole verified batches from the one that holds `offset` on, those that begin below `until`; in clear.

        At least one if there is any, also beyond `max_bytes`; fewer than would fit is possible. Raises
        OFFSET_OUT_OF_RANGE (extra: log_start, log_end) and RECORDS_CORRUPT (extra: offset, next_offset: where to go
        on behind the damage); UNAVAILABLE where the key of the first one is not known here.
        """
        found = await self._reader.read(offset, max_bytes=max_bytes, until=until)
        if not any(header.is_encrypted for header, _ in found):
            return found
        decrypted = partial(decrypt_batches, self.cipher, found)
        is_little = sum(header.length for header, _ in found) <= _DECRYPTED_AT_ONCE_BYTES
        try:
            return decrypted() if is_little else await self._engine.io.run(decrypted)
        except BatchCorruptError as error:
            base_offset = found[0].header.base_offset
            self._engine.undecryptable.note(self.key, base_offset, str(error))
            raise ServerError(
                ProblemCode.RECORDS_CORRUPT,
                f"the batch at offset {base_offset} of log {self.key} cannot be decrypted: {error}",
                extra={"offset": offset, "next_offset": found[0].header.next_offset},
            ) from error

    async def read_stored(self, offset: int, *, max_bytes: int, until: int | None = None) -> list[StoredBatch]:
        """As `read`, of batches as they are stored: for replicas, and who wants no more than their headers."""
        return await self._reader.read(offset, max_bytes=max_bytes, until=until)

    async def verify(self, offset: int, *, max_bytes: int, older_than_ms: int) -> Verified | None:
        """Read about `max_bytes` from `offset` on and look whether they are unharmed, without keeping them in memory;
        None where nothing is there that was appended before `older_than_ms`. Damage counts as found by a reader."""
        return await self._reader.verify(offset, max_bytes=max_bytes, older_than_ms=older_than_ms)

    async def offset_at_time(self, time_ms: int) -> int:
        """The base offset of the first batch appended at `time_ms` or later; the log end if there is none. What cannot
        be read just before it may have been appended then, too, so that its offset is given instead."""
        return await self._reader.offset_at_time(time_ms)

    def append_time_near(self, offset: int) -> int:
        """Not later than the batch at `offset` was appended, by what is in memory: the index where it is, else the
        segment. -1 where there is no segment that could hold it."""
        return self._reader.append_time_near(offset)

    async def keyed_ranges_since(self, time_ms: int) -> list[KeyedRange]:
        """Ranges outside of which no keyed batch was appended at `time_ms` or later; in order. What is missing
        altogether may have been keyed."""
        return await self._reader.keyed_ranges_since(time_ms)

    async def truncate_to(self, offset: int) -> None:
        """Cut the log so that it ends at `offset`, or before the batch that `offset` is in the middle of.

        With batches 0-3, 4-9, 10-11: `truncate_to(10)` leaves 0-9, `truncate_to(5)` leaves 0-3, `truncate_to(12)`
        changes nothing. Appends that wait are appended behind the cut. Durable on return: after a crash the cut
        batches do not come back. Raises OFFSET_OUT_OF_RANGE below the log start, RECORDS_CORRUPT where damage is near.
        """
        self._engine.check(self._state)
        if offset < self.log_start:
            raise self._reader.out_of_range(offset)
        try:
            async with self._changing():
                await uncancelled(truncate_to(self._engine, self._commit, self._maintenance, self._queue, offset))
        except BatchCorruptError as error:
            raise self._reader.corrupt(Damage(offset, offset, f"no cut is possible: {error}")) from error

    async def reset_to(self, offset: int) -> None:
        """Drop everything: the log is empty from now on, begins and ends at `offset`, which may be anywhere, and knows
        no leader epochs.

        Appends that wait are appended behind `offset`, stamped ones if they begin there. Durable on return. After a
        crash in the middle the log is as it was, or empty at `offset`. Damage is gone with what was damaged. Raises
        ValueError for a negative offset, and STORAGE_FULL for lack of space; then nothing has changed.
        """
        if offset < 0:
            raise ValueError(f"a log cannot begin at offset {offset}")
        self._engine.check_present(self._state)
        async with self._changing():
            await uncancelled(reset_to(self._engine, self._commit, self._maintenance, self._queue, offset))

    async def remove_before(self, offset: int) -> int:
        """Drop the segments that end at or below `offset`, never the active one; the new log start."""
        self._engine.check(self._state)
        await uncancelled(remove_before(self._engine, self._maintenance, self._state, offset))
        return self.log_start

    async def remove_all_before(self, offset: int) -> int:
        """As `remove_before`, and the active segment, too, where all of it is below."""
        self._engine.check(self._state)
        await uncancelled(remove_all_before(self._engine, self._commit, self._maintenance, self._queue, offset))
        return self.log_start

    async def retain(
        self,
        *,
        retention_ms: int,
        retention_bytes: int,
        not_after_offset: int | None = None,
        keep_keyed_after_ms: int | None = None,
    ) -> Retained:
        """Drop whole segments that are too old or too much, oldest first; -1 means no limit.

        A segment is too old when its last batch was appended more than `retention_ms` ago; the active one is closed
        and dropped then, too. Segments are too much while the log without the oldest one still has
        `retention_bytes`. Kept in any case: what ends above `not_after_offset`, and what has keyed batches appended
        after `keep_keyed_after_ms`.
        """
        self._engine.check(self._state)
        return await uncancelled(
            retain(
                self._engine,
                self._commit,
                self._maintenance,
                self._queue,
                retention_ms=retention_ms,
                retention_bytes=retention_bytes,
                not_after_offset=not_after_offset,
                keep_keyed_after_ms=keep_keyed_after_ms,
            )
        )

    def sealed_segments(self) -> list[SealedSegment]:
        """Those that may be rewritten, the oldest first, without a gap."""
        return sealed_segments(self._state)

    async def seal(self, *, appended_before_ms: int) -> None:
        """Go on in a new segment where the active one begins with something that was appended before."""
        self._engine.check(self._state)
        parts = self._engine, self._commit, self._maintenance, self._queue
        await uncancelled(seal(*parts, appended_before_ms=appended_before_ms))

    async def rewrite_segment(
        self, base_offset: int, rewriter: BatchRewriter, *, step_bytes: int, pause: Pause
    ) -> RewrittenSegment | None:
        """Put what `rewriter` makes of the segment's batches in their place, about `step_bytes` at a time. A crash
        leaves the old segment or the new one. None where nothing was changed, or where there is no such sealed segment
        any more.

        Raises ServerError (STORAGE_FULL and OVERLOADED change nothing); BatchCorruptError, ValueError and
        DiskFailedError for what cannot be read, decoded or written beside it.
        """
        parts = self._engine, self._maintenance, self._state
        rewriter = self.cipher.rewriting(rewriter)
        rewrite = await begin_rewrite(*parts, base_offset, rewriter, step_bytes=step_bytes, pause=pause)
        if rewrite is None:
            return None
        async with self._changing(), self._maintenance.exclusive():
            return await uncancelled(rewrite.replace(self._maintenance))

    def abandon(self, error: ServerError) -> None:
        """The log has been removed: fail what waits, take nothing more."""
        self._state.refused = error.detail
        self._state.is_removed = True
        self._commit.fail_all(error, of_log=self._queue)

    async def hold(self) -> None:
        await self._commit.hold(self._queue)

    def release(self) -> None:
        self._commit.release(self._queue)

    # --- pieces -------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _changing(self) -> AsyncIterator[None]:
        """Changes come one after the other, in the order of the calls; no index is made meanwhile, which would be
        stored and describe the batches of before."""
        async with self._queue.changing, self._reader.making_index:
            yield
