"""The coordination store in one SQLite file: what the embedded server has in etcd's place.

Only one process has the file open, so it reads from memory; the file is written by one call at a time, off the event
loop, and all transactions that wait meanwhile share the next commit. What readers and watches see is durable.

The history for watches is in memory only: whoever watches lives in this process and ends with it, so a history on disk
would double each write for nobody. A watch from before the opening gets CompactedError, as it would after a compaction.
"""

import asyncio
import sqlite3
from collections import deque
from dataclasses import dataclass
from functools import partial

import structlog

from cluster.model import keys
from cluster.ports.blocking import BlockingCalls
from cluster.ports.clock import Clock
from cluster.ports.coordination import (
    CoordinationError,
    CoordinationFullError,
    CoordinationUnavailableError,
    OutcomeUnknownError,
    TransactionResult,
    key_of,
)
from cluster.stores.key_space import Request, TransactionOutcome
from cluster.stores.local_store import LocalStore
from cluster.stores.sqlite_evidence import NO_EVIDENCE, StoreEvidence
from cluster.stores.sqlite_file import CommitFailedError, Opened, SqliteFile
from cluster.stores.sqlite_spare import spare_path, write_whole
from cluster.stores.store_settings import StoreSettings

logger = structlog.get_logger(__name__)

LEASES_PER_OPENING = 1 << 32  # so that a lease id never comes again


@dataclass(frozen=True, slots=True)
class _Waiting:
    request: Request
    done: asyncio.Future[TransactionResult]


class SqliteStore(LocalStore):
    """`cluster.ports.coordination.CoordinationStore`. Made by `SqliteStore.open`.

    A full disk refuses a write (CoordinationUnavailableError) and the store goes on. Any other failure of the file
    leaves the write unknown (OutcomeUnknownError) and stops the store: what the file holds is only known again after
    it was opened anew.
    """

    def __init__(
        self, file: SqliteFile, opened: Opened, blocking: BlockingCalls, clock: Clock, settings: StoreSettings
    ) -> None:
        super().__init__(opened.keys, clock, settings, first_lease_id=opened.openings * LEASES_PER_OPENING)
        self._file = file
        self._blocking = blocking
        self._ahead = opened.keys.copy()  # with what is being committed
        self._waiting: deque[_Waiting] = deque()
        self._committing: asyncio.Task[None] | None = None
        self._failure: str | None = None
        self._openings = opened.openings
        self._spare_path = spare_path(file.path)
        self._sparing: asyncio.Task[None] | None = None
        self._is_spare_old = True

    @classmethod
    async def open(
        cls,
        path: str,
        *,
        blocking: BlockingCalls,
        clock: Clock,
        settings: StoreSettings | None = None,
        evidence: StoreEvidence = NO_EVIDENCE,
    ) -> "SqliteStore":
        """`blocking` should have one thread, for this alone; `evidence` is what the file must not be behind. Raises
        StoreLockedError, StoreUnreadableError."""
        file = SqliteFile(path)
        opened = await blocking.run(partial(file.open, evidence))
        return cls(file, opened, blocking, clock, settings or StoreSettings())

    async def close(self) -> None:
        """Returns once what was begun is durable and another process may open the file."""
        await super().close()
        if self._committing is not None:
            await asyncio.shield(self._committing)
        if self._sparing is not None:
            self._sparing.cancel()
            await asyncio.gather(self._sparing, return_exceptions=True)
        if self._is_spare_old and self._failure is None:
            await self._write_spare()
        await self._blocking.run(self._file.close)

    def _grant(self, lease_id: int) -> None:
        super()._grant(lease_id)
        self._ahead.grant(lease_id)

    async def _perform(self, request: Request) -> TransactionResult:
        if len(self._waiting) >= self._settings.waiting_transactions_max:
            raise CoordinationUnavailableError(f"{len(self._waiting)} transactions are waiting already")
        done: asyncio.Future[TransactionResult] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(request, done))
        if self._committing is None:
            self._committing = asyncio.create_task(self._commit_all(), name="sqlite commits")
        return await done

    async def _commit_all(self) -> None:
        """Commit until nothing waits; the task exists only meanwhile."""
        try:
            while self._waiting:
                count = min(len(self._waiting), self._settings.transactions_per_commit_max)
                await self._commit([self._waiting.popleft() for _ in range(count)])
        finally:
            self._committing = None

    async def _commit(self, group: list[_Waiting]) -> None:
        if self._failure is not None:
            _fail(group, CoordinationUnavailableError(self._failure))
            return
        decided = self._decide(group)
        mutations = [decision.mutation for _, decision in decided if decision.mutation.events]
        try:
            if mutations:
                await self._blocking.run(lambda: self._file.commit(mutations))
        except CommitFailedError as error:
            self._ahead = self._keys.copy()
            _fail([waiting for waiting, _ in decided], CoordinationFullError(f"the store is full: {error}"))
            return
        except BaseException as error:
            self._failure = f"the store failed: {error}"
            self._stop(self._failure)
            _fail([waiting for waiting, _ in decided], OutcomeUnknownError(self._failure))
            if not isinstance(error, Exception):
                raise
            return
        for waiting, decision in decided:
            self._publish(decision.mutation)
            if not waiting.done.done():
                waiting.done.set_result(TransactionResult(decision.succeeded, decision.mutation.revision))
        if any(not key_of(event).startswith(keys.OFFSETS) for mutation in mutations for event in mutation.events):
            self._is_spare_old = True
            if self._sparing is None:
                self._sparing = asyncio.create_task(self._keep_spare(), name="sqlite spare")

    # --- the spare -----------------------------------------------------------------------------------------------

    async def _keep_spare(self) -> None:
        """Write the spare once changes have come to rest, or that long after the first; the task exists only
        meanwhile. Progress alone is no reason: it is in the logs as well."""
        try:
            while self._is_spare_old and self._failure is None:
                await self._clock.sleep(self._settings.spare_interval_ms)
                await self._write_spare()
        finally:
            self._sparing = None

    async def _write_spare(self) -> None:
        """Failing costs only that the spare is older than it could be."""
        self._is_spare_old = False
        keys_now = self._keys.copy()
        try:
            await self._blocking.run(partial(write_whole, self._spare_path, keys_now, openings=self._openings))
        except (sqlite3.Error, OSError) as error:
            self._is_spare_old = True
            logger.warning("coordination_copy_not_written", reason=str(error))

    def _decide(self, group: list[_Waiting]) -> list[tuple[_Waiting, TransactionOutcome]]:
        decided = []
        for waiting in group:
            if waiting.done.cancelled():
                continue
            try:
                decision = self._ahead.decide(waiting.request)
            except CoordinationError as error:
                _fail([waiting], error)
            else:
                self._ahead.apply(decision.mutation)
                decided.append((waiting, decision))
        return decided


def _fail(group: list[_Waiting], error: CoordinationError) -> None:
    for waiting in group:
        if not waiting.done.done():
            waiting.done.set_exception(error)
