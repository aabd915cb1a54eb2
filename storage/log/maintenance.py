"""Background work: sync segments, write the recovery points, and only then take journal files back.

Everything here that touches files runs under one lock, so that a checkpoint never describes a state that another one
is about to change. A holder of the lock never waits for a round of the group commit that may need the lock.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

from cluster.errors import ServerError
from cluster.lifecycle import Lifecycle
from storage.disk.port import Disk, DiskRefusedError, ShortageError
from storage.log.ballast import release_ballast, take_ballast
from storage.log.engine import Engine
from storage.log.journal import Journal
from storage.log.keys import LogKey
from storage.log.log_settings import LogStoreSettings
from storage.log.log_state import LogState, sync_log_files, write_epochs, write_index
from storage.log.log_table import LOGS
from storage.log.recovery_points import RecoveryPoint, RecoveryPoints, write_recovery_points
from storage.log.segment import Segment

_NOTHING = RecoveryPoint()
_FIRST_VERSION = 1


class Maintenance:
    """Keeps the journal short. `removed` holds the journal floors of removed logs while the journal needs them."""

    def __init__(
        self, engine: Engine, journal: Journal, *, states: dict[LogKey, LogState], removed: dict[str, int]
    ) -> None:
        self._engine = engine
        self._journal = journal
        self._states = states
        self._removed = removed
        self._covered_sequence = journal.sequence
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        self._waiting = 0

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """The engine is CLOSING. A sync that is under way ends first."""
        self._wake.set()
        if self._task is not None:
            await self._task
            self._task = None

    def wake(self) -> None:
        """Sync soon: the journal has grown, or the store has failed or is closing."""
        self._wake.set()

    @property
    def journal_sequence(self) -> int:
        """Of the last frame: the floor for a log that no round in flight has."""
        return self._journal.sequence

    async def _run(self) -> None:
        engine = self._engine
        while engine.life is Lifecycle.SERVING:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(engine.settings.sync_interval_ms / 1000):
                    await self._wake.wait()
            self._wake.clear()
            if engine.dirty and engine.life is Lifecycle.SERVING:
                with contextlib.suppress(ServerError):  # a full disk: the next turn tries again
                    async with self._lock:
                        await self._sync(pause_ms=0 if self._journal.full_files else engine.settings.sync_pause_ms)
            if engine.life is Lifecycle.SERVING:
                await self._look_after_ballast()

    async def _look_after_ballast(self) -> None:
        settings = self._engine.settings
        if settings.ballast_bytes:
            await self.run(partial(_look_after_ballast, self._engine.disk, settings))

    @asynccontextmanager
    async def exclusive(self) -> AsyncIterator[None]:
        """The lock. A background sync that has it does not pause while somebody waits."""
        self._waiting += 1
        try:
            await self._lock.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._lock.release()

    async def sync_now(self) -> None:
        """Sync everything that is published and free the journal; raises STORAGE_FULL, STORAGE_FAILED."""
        async with self.exclusive():
            await self._sync(pause_ms=0)

    async def close_cleanly(self) -> None:
        """As `sync_now`, with the indexes of the active segments and the mark of an orderly stop."""
        async with self.exclusive():
            await self._sync(pause_ms=0)
            states = [state for state in self._states.values() if state.has_files]
            actives = [state.active for state in states if state.active.index is not None]
            await self.run(partial(self._write_indexes, actives))
            await self.write_points(is_clean=True)

    def _write_indexes(self, segments: list[Segment]) -> None:
        for segment in segments:
            if not segment.index_is_stored:
                write_index(self._engine.disk, segment)

    async def _sync(self, *, pause_ms: int) -> None:
        engine = self._engine
        if engine.failure is not None:
            raise engine.failed()
        sequence = self._journal.sequence
        states = list(engine.dirty)
        ends = [state.end_place for state in states]
        batches = [list(state.dirty_segments) for state in states]
        engine.dirty.clear()
        for state in states:
            state.dirty_segments.clear()
        try:
            for state, end, segments in zip(states, ends, batches, strict=True):
                await self._sync_log(state, segments)
                state.cover(end)
                if pause_ms and not self._waiting:
                    await engine.clock.sleep(pause_ms)
            await self.write_points(covered_sequence=sequence)
        except ServerError:
            for state, segments in zip(states, batches, strict=True):
                engine.dirty[state] = None
                for segment in segments:
                    state.dirty_segments[segment] = None
            raise
        surplus = self._journal.trim(sequence, files_kept=engine.settings.journal_files_kept)
        await self._guarded(self._journal.remove(surplus, engine.io))

    async def _sync_log(self, state: LogState, segments: list[Segment]) -> None:
        engine = self._engine
        names_are_dirty, state.names_are_dirty = state.names_are_dirty, False
        epochs = state.epochs.to_bytes() if state.epochs.is_dirty else None
        state.epochs.is_dirty = False
        closed = [segment for segment in segments if segment is not state.active and segment.index is not None]

        def work() -> None:
            sync_log_files(engine.disk, engine.files, state.key, segments, names_are_dirty=names_are_dirty)
            if epochs is not None:
                write_epochs(engine.disk, state.epochs_path, epochs)
            for segment in closed:
                if not segment.index_is_stored:
                    write_index(engine.disk, segment)

        try:
            await self.run(work)
        except ServerError:
            state.names_are_dirty = state.names_are_dirty or names_are_dirty
            state.epochs.is_dirty = state.epochs.is_dirty or epochs is not None
            raise
        engine.indexes.take_over(closed)

    async def write_points(self, *, covered_sequence: int | None = None, is_clean: bool = False) -> None:
        """The caller has the lock. Raises STORAGE_FULL, STORAGE_FAILED.

        A log that earlier versions do not know is named once there is something in it: until then going back to one of
        them is possible. A removed log stays on record until the journal is covered beyond its floor, at least until
        the next checkpoint: its files may be half gone while this one is written.
        """
        covered = self._covered_sequence if covered_sequence is None else covered_sequence
        points = RecoveryPoints(
            covered_sequence=covered,
            is_clean=is_clean,
            logs={
                str(key): point
                for key, state in self._states.items()
                if (point := state.point()) != _NOTHING or LOGS[key.kind].since_version == _FIRST_VERSION
            },
            removed={key: floor for key, floor in self._removed.items() if floor >= covered},
            reached_sequence=self._journal.sequence,
            present_sequence=self._journal.present_sequence,
            journal_life=self._journal.life,
        )
        await self.run(partial(write_recovery_points, self._engine.disk, points))
        self._covered_sequence = covered
        for key in [key for key, floor in self._removed.items() if floor < covered]:
            del self._removed[key]

    async def finish(self, function: Callable[[], None]) -> None:
        """As `run`, for work that a durable decision demands and that may be done twice: a shortage is waited out, as
        nothing else may happen to these files before the work is done."""
        while True:
            try:
                await self.run(function)
            except ServerError as error:
                if not isinstance(error.__cause__, ShortageError):
                    raise
                await self._engine.clock.sleep(self._engine.settings.retry_after_ms)
            else:
                return

    async def run(self, function: Callable[[], None]) -> None:
        """Disk work in an I/O thread. A full disk is STORAGE_FULL, a shortage OVERLOADED; any other failure ends the
        store."""
        if self._engine.failure is not None:
            raise self._engine.failed()
        await self._guarded(self._engine.io.run(function))

    async def _guarded(self, work: Awaitable[None]) -> None:
        engine = self._engine
        try:
            await work
        except DiskRefusedError as error:
            raise engine.refused(error) from error
        except BaseException as error:
            engine.fail(f"the disk failed: {error!r}")
            if isinstance(error, OSError):
                raise engine.failed() from error
            raise


def _look_after_ballast(disk: Disk, settings: LogStoreSettings) -> None:
    release_ballast(disk, ballast_bytes=settings.ballast_bytes)
    take_ballast(disk, ballast_bytes=settings.ballast_bytes, reserve_bytes=settings.reserve_bytes)
