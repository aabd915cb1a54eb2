"""Records on their way to the topic `__audit`: they wait here, in bounded room, until they are durable there."""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Protocol

import structlog

from app.audit.audit_mode import AuditMode, audit_mode_of
from app.audit.audit_record import AuditRecord, AuditResult
from app.audit.record_text import encode_record
from app.gateway.audit_figures import AuditFigures
from app.gateway.dependencies import Gateway
from app.gateway.jittered_backoff import JitteredBackoff
from app.services.audit_topic import StoredText
from cluster.errors import ServerError
from cluster.ports.coordination import CoordinationError

BATCH_RECORDS_MAX = 500
BATCH_BYTES_MAX = 1024 * 1024
_logger = structlog.get_logger(__name__)


class AuditStore(Protocol):
    async def store(self, texts: Sequence[StoredText]) -> None:
        """Raises ServerError, CoordinationError."""
        ...


class _Waiting:
    """One record, and who waits for it."""

    __slots__ = ("done", "result", "stored")

    def __init__(self, record: AuditRecord, text: bytes) -> None:
        self.result = record.result
        kind = self.result.value if self.result is AuditResult.INTENDED else "end"
        self.stored = StoredText(f"{record.id}-{kind}", text)
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class AuditJournal:
    """What comes in is stored in its order, by one task that lives while there is something. What cannot be stored now
    is tried again until it can; what has no room meanwhile is lost, which is counted and told in the log."""

    def __init__(self, gateway: Gateway, store: AuditStore, figures: AuditFigures) -> None:
        self._gateway = gateway
        self._store = store
        self._figures = figures
        self._waiting: deque[_Waiting] = deque()
        self._waiting_bytes = 0
        self._task: asyncio.Task[None] | None = None
        self._is_losing = False
        self._is_failing = False

    @property
    def mode(self) -> AuditMode:
        """It may change while the server runs."""
        return audit_mode_of(self._gateway.settings.audit, asks_for_tokens=self._gateway.tokens is not None)

    def new_id(self) -> str:
        """Of an act."""
        return f"{self._gateway.entropy.bits64():016x}"

    def put(self, record: AuditRecord) -> "asyncio.Future[None] | None":
        """Done once the record is durable; None where there is no room for it, and it is lost."""
        waiting = _Waiting(record, encode_record(record, self._is_token))
        size_bytes = len(waiting.stored.text)
        if self._waiting_bytes + size_bytes > self._gateway.settings.audit_waiting_bytes_max:
            self._lose(1)
            return None
        self._waiting.append(waiting)
        self._count_waiting(size_bytes)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._store_all(), name="audit journal")
        return waiting.done

    async def write(self, record: AuditRecord) -> bool:
        """Whether the record is durable within the time that an act waits for it. If not, it may be later."""
        done = self.put(record)
        if done is None:
            return False
        await self._in_time(done)
        return done.done()

    async def close(self) -> None:
        """Store what waits, as long as an act would wait for it. Nothing more may come in."""
        task = self._task
        if task is None:
            return
        await self._in_time(task)
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            self._lose(len(self._waiting))

    def _is_token(self, text: str) -> bool:
        tokens = self._gateway.tokens
        return tokens is not None and tokens.find(text) is not None

    async def _in_time(self, done: "asyncio.Future[None]") -> None:
        """Whoever gives up waiting ends nothing."""
        try:
            async with asyncio.timeout(self._gateway.settings.audit_timeout_ms / 1000):
                await asyncio.shield(done)
        except TimeoutError:
            return

    async def _store_all(self) -> None:
        pauses = JitteredBackoff(self._gateway.entropy.fraction)
        try:
            while self._waiting:
                batch = self._next_batch()
                if await self._is_stored(batch):
                    pauses.begin_anew()
                    self._take_out(len(batch))
                else:
                    await self._gateway.clock.sleep(pauses.next_ms())
        finally:
            self._task = None

    async def _is_stored(self, batch: list[StoredText]) -> bool:
        """A second try stores nothing twice: each record has an idempotency key."""
        try:
            await self._store.store(batch)
        except (ServerError, CoordinationError) as error:
            if not self._is_failing:
                _logger.warning("audit_records_wait", records=len(self._waiting), reason=str(error))
            self._is_failing = True
            return False
        if self._is_failing:
            _logger.info("audit_records_stored_again")
        self._is_failing = self._is_losing = False
        return True

    def _next_batch(self) -> list[StoredText]:
        """At least one."""
        batch: list[StoredText] = []
        size_bytes = 0
        for each in self._waiting:
            size_bytes += len(each.stored.text)
            if batch and (len(batch) >= BATCH_RECORDS_MAX or size_bytes > BATCH_BYTES_MAX):
                break
            batch.append(each.stored)
        return batch

    def _take_out(self, count: int) -> None:
        for _ in range(count):
            waiting = self._waiting.popleft()
            self._count_waiting(-len(waiting.stored.text))
            self._figures.count_stored(waiting.result.value)
            if not waiting.done.done():
                waiting.done.set_result(None)

    def _count_waiting(self, size_bytes: int) -> None:
        self._waiting_bytes += size_bytes
        self._figures.waiting_bytes.set(self._waiting_bytes)

    def _lose(self, count: int) -> None:
        self._figures.count_lost(count)
        if not self._is_losing:
            _logger.error("audit_records_lost", records=count, waiting_bytes=self._waiting_bytes)
        self._is_losing = True
