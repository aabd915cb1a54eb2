"""What the parts of one log store share: its ports, its limits, and whether it has failed."""

from collections.abc import Callable

import structlog

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.lifecycle import Lifecycle
from cluster.ports.clock import Clock
from storage.disk.executor import IoExecutor
from storage.disk.port import Disk, DiskRefusedError, ShortageError
from storage.log.index_cache import IndexCache
from storage.log.log_settings import LogStoreSettings
from storage.log.log_state import LogState
from storage.log.open_files import OpenFiles
from storage.log.refusal import refusal_of
from storage.log.undecryptable import UndecryptableBatches

SHORTAGE_LOG_INTERVAL_MS = 10_000

logger = structlog.get_logger(__name__)


class Engine:
    """One per data directory. `failure` is set once and for ever: the directory is not served any more."""

    def __init__(self, *, disk: Disk, io: IoExecutor, clock: Clock, settings: LogStoreSettings) -> None:
        self.disk = disk
        self.io = io
        self.clock = clock
        self.settings = settings
        self.opened_ms = clock.now_ms()
        self.files = OpenFiles(
            disk, limit=settings.open_files_max, write_behind_bytes_max=settings.write_behind_bytes_max
        )
        self.indexes = IndexCache(limit=settings.closed_indexes_max)
        self.undecryptable = UndecryptableBatches()
        self.dirty: dict[LogState, None] = {}
        self.life = Lifecycle.OPENING
        self.failure: str | None = None
        self._tell_shortage_at_ms = 0
        self.on_failure: Callable[[], None] = lambda: None

    def fail(self, reason: str) -> None:
        """Stop serving: what is on the disk is not known any more, and trying again would hide it (rule R11)."""
        if self.failure is None:
            self.failure = reason
            if self.life.may_become(Lifecycle.FAILED):  # what is being closed goes on being closed
                self.life = Lifecycle.FAILED
            logger.critical("storage_failed", reason=reason)
            self.on_failure()

    def serves(self) -> None:
        """Everything is recovered, and the journal is ready for the first append."""
        self.life = self.life.then(Lifecycle.SERVING)

    def closing(self) -> None:
        self.life = self.life.then(Lifecycle.CLOSING)

    def closed(self) -> None:
        self.life = self.life.then(Lifecycle.CLOSED)
        if self.failure is None:
            self.failure = "it was closed"

    def failed(self) -> ServerError:
        return ServerError(ProblemCode.STORAGE_FAILED, f"the data directory is not served any more: {self.failure}")

    def full(self) -> ServerError:
        return ServerError(
            ProblemCode.STORAGE_FULL, "there is no space left on the disk", retry_after_ms=self.settings.retry_after_ms
        )

    def refused(self, error: DiskRefusedError) -> ServerError:
        """What a client is told of it. It says nothing about durability: the directory is served on (rule R37)."""
        if isinstance(error, ShortageError) and self.clock.monotonic_ms() >= self._tell_shortage_at_ms:
            self._tell_shortage_at_ms = self.clock.monotonic_ms() + SHORTAGE_LOG_INTERVAL_MS
            logger.warning("storage_short", reason=error.strerror or str(error))
        return refusal_of(error, retry_after_ms=self.settings.retry_after_ms)

    def check(self, state: LogState) -> None:
        """Raise what keeps the log from being served."""
        self.check_present(state)
        if state.refused:
            raise ServerError(ProblemCode.RECORDS_CORRUPT, f"log {state.key} is not served: {state.refused}")

    def check_takes(self, state: LogState) -> None:
        """Raise what keeps the log from being appended to."""
        self.check(state)
        if self.life is not Lifecycle.SERVING:
            raise ServerError(ProblemCode.SHUTTING_DOWN, "the log store is being closed", retry_after_ms=1000)

    def check_present(self, state: LogState) -> None:
        """Raise what keeps the log from being replaced by a new one."""
        if self.failure is not None:
            raise self.failed()
        if state.is_removed:
            raise ServerError(ProblemCode.TOPIC_NOT_FOUND, state.refused)
