"""What is done about the processes of a server: when each is started, ended, and started again. Sans-IO.

The storage process comes first, and goes last. A gateway that ends is started again; the end of the storage process is
the end of all, as is that of a gateway before any has served: then the settings are to blame.
"""

import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from app.processes.process_constants import GRACE_SECONDS
from app.workers.worker_names import STORAGE
from cluster.backoff import Backoff

FAILED = 1


@dataclass(frozen=True, slots=True)
class SupervisionSettings:
    restarts: Backoff = field(default_factory=lambda: Backoff(first_ms=200, max_ms=10_000))
    """Before a gateway is started again that ended soon after its last start; else it is at once."""

    proven_ms: int = 60_000
    """How long a gateway has to serve before an end of it is a first one again."""

    gateway_stop_ms: int = GRACE_SECONDS * 1000 + 10_000
    """How long a gateway may take to finish what is under way, before it is killed."""

    orphaned_stop_ms: int = 5_000
    """The same where there is no storage any more: it can only say so to those who wait."""

    storage_stop_ms: int = 120_000
    """How long the storage process may take to write its checkpoints. A kill loses nothing: the next start takes
    longer."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a process ended: `exit_code` as of the system, negative for the number of a signal."""

    exit_code: int

    def __str__(self) -> str:
        if self.exit_code < 0:
            return f"was killed by {signal.Signals(-self.exit_code).name}"
        return f"ended with exit code {self.exit_code}"


@dataclass(frozen=True, slots=True)
class Start:
    worker: str


@dataclass(frozen=True, slots=True)
class Stop:
    """It is to finish what is under way."""

    worker: str


@dataclass(frozen=True, slots=True)
class Kill:
    worker: str


@dataclass(frozen=True, slots=True)
class Announce:
    """The server serves from now on."""


@dataclass(frozen=True, slots=True)
class StartLater:
    """A worker has ended, and will be started again after a pause."""

    worker: str
    ending: Ending
    pause_ms: int


@dataclass(frozen=True, slots=True)
class End:
    """Nothing is left. `reason` "": it was asked for."""

    exit_code: int
    reason: str


Order = Start | Stop | Kill | Announce | StartLater | End


class _Stage(Enum):
    AWAY = auto()
    STARTING = auto()
    SERVING = auto()


@dataclass(slots=True)
class _Worker:
    name: str
    stage: _Stage = _Stage.AWAY
    serving_since_ms: int = 0
    failures: int = 0
    start_at_ms: int | None = None
    kill_at_ms: int | None = None
    was_late: bool = False

    @property
    def is_there(self) -> bool:
        return self.stage is not _Stage.AWAY


class Supervision:
    """Every call says what is to be done now. `next_look_ms`: when to call `look` at the latest."""

    def __init__(self, gateways: Sequence[str], settings: SupervisionSettings | None = None) -> None:
        self._settings = settings or SupervisionSettings()
        self._storage = _Worker(STORAGE)
        self._gateways = {name: _Worker(name) for name in gateways}
        self._is_announced = False
        self._is_stopping = False
        self._exit_code = 0
        self._reason = ""

    @property
    def is_stopping(self) -> bool:
        return self._is_stopping

    @property
    def has_served(self) -> bool:
        return self._is_announced

    @property
    def next_look_ms(self) -> int | None:
        moments = [
            moment
            for worker in (self._storage, *self._gateways.values())
            for moment in (worker.start_at_ms, worker.kill_at_ms)
            if moment is not None
        ]
        return min(moments, default=None)

    def begin(self) -> list[Order]:
        return [self._start(self._storage)]

    def serves(self, name: str, now_ms: int) -> list[Order]:
        """The worker has said so itself."""
        worker = self._worker(name)
        worker.stage, worker.serving_since_ms = _Stage.SERVING, now_ms
        if self._is_stopping:
            return []
        if worker is self._storage:
            return [self._start(each) for each in self._gateways.values()]
        if self._is_announced:
            return []
        self._is_announced = True
        return [Announce()]

    def ended(self, name: str, ending: Ending, now_ms: int) -> list[Order]:
        worker = self._worker(name)
        served_ms = now_ms - worker.serving_since_ms if worker.stage is _Stage.SERVING else 0
        worker.stage, worker.kill_at_ms = _Stage.AWAY, None
        if worker is self._storage and (ending.exit_code != 0 or not self._is_stopping):
            self._fail(ending, f"The storage process {ending}")
        elif worker.was_late:
            self._fail(ending, f"{name} had to be killed: it did not stop in time")
        if self._is_stopping:
            return self._go_on_stopping(now_ms)
        if worker is self._storage:
            return self._stop_all(now_ms)
        if not self._is_announced:
            self._fail(ending, f"{name} {ending} before it served")
            return self._stop_all(now_ms)
        return [self._again(worker, ending, served_ms, now_ms)]

    def stop(self, now_ms: int) -> list[Order]:
        return [] if self._is_stopping else self._stop_all(now_ms)

    def hurry(self) -> list[Order]:
        """While it stops: gateways are not waited for any longer. The storage is."""
        return [Kill(each.name) for each in self._gateways.values() if each.is_there]

    def look(self, now_ms: int) -> list[Order]:
        orders: list[Order] = []
        for worker in (self._storage, *self._gateways.values()):
            if worker.start_at_ms is not None and worker.start_at_ms <= now_ms:
                orders.append(self._start(worker))
            if worker.kill_at_ms is not None and worker.kill_at_ms <= now_ms:
                worker.kill_at_ms, worker.was_late = None, True
                orders.append(Kill(worker.name))
        return orders

    # --- inside ---

    def _worker(self, name: str) -> _Worker:
        return self._storage if name == STORAGE else self._gateways[name]

    def _start(self, worker: _Worker) -> Start:
        worker.stage, worker.start_at_ms = _Stage.STARTING, None
        return Start(worker.name)

    def _again(self, worker: _Worker, ending: Ending, served_ms: int, now_ms: int) -> StartLater:
        worker.failures = 1 if served_ms >= self._settings.proven_ms else worker.failures + 1
        pause_ms = 0 if worker.failures == 1 else self._settings.restarts.delay_ms(worker.failures - 1)
        worker.start_at_ms = now_ms + pause_ms
        return StartLater(worker.name, ending, pause_ms)

    def _fail(self, ending: Ending, reason: str) -> None:
        """The first reason counts."""
        if not self._exit_code:
            self._exit_code = ending.exit_code if ending.exit_code > 0 else FAILED
            self._reason = reason

    def _stop_all(self, now_ms: int) -> list[Order]:
        self._is_stopping = True
        patience_ms = self._settings.gateway_stop_ms if self._storage.is_there else self._settings.orphaned_stop_ms
        orders: list[Order] = []
        for worker in self._gateways.values():
            worker.start_at_ms = None
            if worker.is_there:
                worker.kill_at_ms = now_ms + patience_ms
                orders.append(Stop(worker.name))
        return orders + self._go_on_stopping(now_ms)

    def _go_on_stopping(self, now_ms: int) -> list[Order]:
        if any(worker.is_there for worker in self._gateways.values()):
            return []
        if not self._storage.is_there:
            return [End(self._exit_code, self._reason)]
        if self._storage.kill_at_ms is not None or self._storage.was_late:
            return []
        self._storage.kill_at_ms = now_ms + self._settings.storage_stop_ms
        return [Stop(STORAGE)]
