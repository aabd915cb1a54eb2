"""The supervisor: the process that a service manager knows. It has no threads and no event loop, so that it may fork
at any time, and serves nobody itself."""

import selectors
import signal
import socket
import sys
from collections import deque
from collections.abc import Callable

import structlog

from app.configuration.setting_error import SettingsError
from app.processes.early_end import EndedEarlyError
from app.processes.service_manager import ServiceManager
from app.processes.signals import has_terminal
from app.workers.shared_port import SharedPort
from app.workers.supervision import FAILED, Announce, End, Ending, Kill, Order, Start, StartLater, Stop, Supervision
from app.workers.supervisor_channel import SupervisorChannel
from app.workers.worker_names import STORAGE, gateway_names
from app.workers.worker_process import HEEDED, OwnWorker, WorkerProcess, fork
from cluster.ports.clock import Clock

_log = structlog.get_logger(__name__)


class Supervisor:
    """`run` it on the main thread."""

    def __init__(
        self,
        port: SharedPort,
        *,
        gateways: int,
        backlog: int,
        clock: Clock,
        manager: ServiceManager,
        reload: Callable[[], bool],
        on_served: Callable[[int], None],
    ) -> None:
        """`reload` reads what the server is told again, and says whether it can be used: if so the others do, too.
        `on_served` is told the port, once the server serves."""
        self._port = port
        self._names = gateway_names(gateways)
        self._backlog = backlog
        self._clock = clock
        self._manager = manager
        self._reload = reload
        self._on_served = on_served
        self._supervision = Supervision(self._names)
        self._processes: dict[str, WorkerProcess] = {}
        self._orders: deque[Order] = deque()
        self._refusal: SettingsError | None = None
        self._ended_by = signal.SIGTERM
        self._storage_failure: str | None = None
        self._served_port = 0
        self._selector = selectors.DefaultSelector()
        self._had_terminal = has_terminal()
        self._woken, self._wakes = socket.socketpair()

    def run(self) -> OwnWorker | End:
        """Until everything has ended. In every process that it starts it returns, too, with what that is to be.

        Raises SettingsError where the port was taken meanwhile, and EndedEarlyError for a signal that came before the
        server served, both once all has ended.
        """
        self._take_signals()
        self._orders.extend(self._supervision.begin())
        outcome = self._obey()
        while outcome is None:
            self._wait()
            outcome = self._obey()
        self._let_go()
        if isinstance(outcome, OwnWorker):
            for process in self._processes.values():
                process.channel.close()  # while another worker has an end of it, theirs would outlive the supervisor
        elif self._refusal is not None:
            raise self._refusal
        elif outcome.exit_code == 0 and not self._supervision.has_served:
            raise EndedEarlyError(self._ended_by)
        return outcome

    def _take_signals(self) -> None:
        for end in (self._woken, self._wakes):
            end.setblocking(False)
        for number in (*HEEDED, signal.SIGCHLD):
            signal.signal(number, lambda _number, _frame: None)  # that there is one makes it wake the selector
        signal.set_wakeup_fd(self._wakes.fileno(), warn_on_full_buffer=False)
        self._selector.register(self._woken, selectors.EVENT_READ)

    def _let_go(self) -> None:
        signal.set_wakeup_fd(-1)
        self._selector.close()
        self._woken.close()
        self._wakes.close()
        self._port.close()

    # --- what happens ---

    def _wait(self) -> None:
        next_ms = self._supervision.next_look_ms
        patience = None if next_ms is None else max(0, next_ms - self._clock.monotonic_ms()) / 1000
        for key, _ in self._selector.select(patience):
            if key.data is None:
                self._signalled(self._woken.recv(4096))
            else:
                self._hear(key.data)
        self._look_for_ended()
        self._orders.extend(self._supervision.look(self._clock.monotonic_ms()))

    def _signalled(self, numbers: bytes) -> None:
        is_end = signal.SIGTERM in numbers or signal.SIGINT in numbers
        if signal.SIGHUP in numbers:
            if self._had_terminal and not has_terminal():
                is_end = True  # nobody would know of it any more
            elif self._reload():
                for process in self._processes.values():
                    process.reload()
        if signal.SIGINT in numbers and self._supervision.is_stopping:
            self._orders.extend(self._supervision.hurry())  # somebody at a terminal has pressed Ctrl-C once more
        elif is_end:
            self._manager.stopping()
            self._ended_by = signal.SIGTERM if signal.SIGTERM in numbers else signal.SIGINT
            self._orders.extend(self._supervision.stop(self._clock.monotonic_ms()))

    def _hear(self, process: WorkerProcess) -> None:
        served = process.heard()
        if process.has_hung_up:
            self._selector.unregister(process.channel)
        if served is None:
            return
        if process.name == STORAGE:
            self._storage_failure = served.failure
            if not self._has_port():
                return
        else:
            self._served_port = served.port
        self._orders.extend(self._supervision.serves(process.name, self._clock.monotonic_ms()))

    def _has_port(self) -> bool:
        """Now that there is somebody to serve, the port is listened on."""
        try:
            self._port.share(len(self._names), backlog=self._backlog)
        except SettingsError as error:
            self._refusal = error
            self._orders.extend(self._supervision.stop(self._clock.monotonic_ms()))
        return self._refusal is None

    def _look_for_ended(self) -> None:
        for process in list(self._processes.values()):
            ending = process.ending()
            if ending is not None:
                del self._processes[process.name]
                if not process.has_hung_up:
                    self._selector.unregister(process.channel)
                process.channel.close()
                self._ended(process.name, ending)

    def _ended(self, name: str, ending: Ending) -> None:
        self._orders.extend(self._supervision.ended(name, ending, self._clock.monotonic_ms()))

    # --- orders ---

    def _obey(self) -> OwnWorker | End | None:
        """None: go on."""
        while self._orders:
            order = self._orders.popleft()
            match order:
                case Start(worker):
                    own = self._start(worker)
                    if own is not None:
                        return own
                case Stop(worker):
                    self._processes[worker].stop()
                case Kill(worker):
                    _log.warning("worker_killed", name=worker, pid=self._processes[worker].pid)
                    self._processes[worker].kill()
                case StartLater(worker, ending, pause_ms):
                    _log.error("worker_ended", name=worker, how=str(ending), starts_again_in_ms=pause_ms)
                case Announce():
                    self._on_served(self._served_port)
                    self._manager.ready()
                case End():
                    return order
        return None

    def _start(self, name: str) -> OwnWorker | None:
        """None in the supervisor."""
        sys.stdout.flush()  # or both would write it
        try:
            listener = None if name == STORAGE else self._port.take(backlog=self._backlog)
            started = fork(name)
        except OSError as error:
            _log.error("worker_not_started", name=name, reason=str(error))
            self._ended(name, Ending(FAILED))
            return None
        if isinstance(started, SupervisorChannel):
            return OwnWorker(name=name, channel=started, listener=listener, storage_failure=self._storage_failure)
        if listener is not None:
            listener.close()  # with its process the socket goes, and the others get the connections
        self._processes[name] = started
        self._selector.register(started.channel, selectors.EVENT_READ, started)
        _log.info("worker_started", name=name, pid=started.pid)
        return None
