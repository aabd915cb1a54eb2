"""A whole embedded server with its clients and its misfortunes, in one deterministic run.

Three phases (as TigerBeetle's simulator has them): safety, while faults go on; then everything is healed; then, within
a bounded time, everything must come to an end: all messages done for all groups. At last the whole log is read and
every checker judges the history.
"""

import asyncio
import logging
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import structlog

from cluster.errors import ServerError
from cluster.model.values import GroupMode, GroupSettings, TopicConfig
from tests.sim.checkers import Checker, check_all, final_log
from tests.sim.clients import Surroundings
from tests.sim.consumer import Consumer
from tests.sim.delivery_checkers import (
    AcknowledgedIsNeverDeliveredAgain,
    AttemptsAreLimited,
    AutoAckedIsDeliveredOnce,
    DeadLettersAreOnce,
    EverythingIsDoneInTheEnd,
    OneLeaseAtATime,
    ProgressNeverFalls,
    ReplayEqualsLiveState,
    StaleReceiptsAreRefused,
)
from tests.sim.environment import ExecutorKilledError
from tests.sim.history import STARTED, Faulted, History, Outcome, Sent
from tests.sim.log_checkers import (
    AcknowledgedIsInTheLog,
    DuplicatesGetTheFirstAnswer,
    EpochsNeverFall,
    HighWatermarkNeverFalls,
    LogHasNoGaps,
    LogNeverChanges,
    NothingAboveTheHighWatermark,
    NothingAppearsByItself,
    NothingTwice,
    SendersKeepTheirOrder,
)
from tests.sim.loop import SimLoop, simulate
from tests.sim.machine import Machine
from tests.sim.observer import Observer
from tests.sim.options import FaultKind, Options, draw_options
from tests.sim.process import ProcessDiedError
from tests.sim.producer import Producer

QUEUE = "orders"
START_ATTEMPTS_MAX = 200
CONVERGENCE_TIMEOUT_S = 300.0
QUIET_S = 5.0


@dataclass(slots=True)
class Result:
    """What came of a seed. `violations` empty: all is well."""

    options: Options
    violations: list[str]
    coverage: Counter[str]
    trace_hash: str
    history: History
    logs: list[Any] = field(default_factory=list)


class World:
    """One seed's run; `run` it once."""

    def __init__(self, loop: SimLoop, options: Options) -> None:
        self.options = options
        self.coverage: Counter[str] = Counter()
        self.history = History()
        self.violations: list[str] = []
        self.machine = Machine(loop, options, self.coverage, self._machine_died)
        self.around = Surroundings(
            options, self.machine.clock, self.history, self.coverage, http=lambda: self.machine.http
        )
        self._observer = Observer(self.machine, self.around)
        self._loop = loop
        self._random = random.Random(f"world {options.seed}")
        self._died = asyncio.Event()
        self._is_converged = False
        self._producers: list[asyncio.Task[None]] = []
        self._must_stay_up = False
        self._groups = [f"group-{number}" for number in range(options.groups)]
        self._dead_letter_queues = {(group, QUEUE): f"{QUEUE}.{group}.dlq" for group in self._groups}

    async def run(self) -> None:
        self._loop.set_exception_handler(self._unhandled)
        await self._bring_up()
        await self._create_topic_and_groups()
        supervisor = asyncio.create_task(self._supervise())
        clients = self._start_clients()
        await self._run_safety()
        await self._heal()
        await self._converge()
        self.around.stopping = True
        await asyncio.gather(*clients)
        supervisor.cancel()
        await self._verify()

    # --- setting up ---

    async def _create_topic_and_groups(self) -> None:
        server, process, options = self.machine.server, self.machine.process, self.options
        assert server is not None
        assert process is not None
        config = TopicConfig(segment_bytes=options.segment_bytes, dedup_window_ms=options.dedup_window_ms)
        await process.call(
            server.gateway.topics.create(QUEUE, partitions=options.partitions, config=config, replication_factor=1)
        )
        settings = GroupSettings(
            visibility_ms=options.group_visibility_ms,
            max_attempts=options.max_attempts,
            retry_backoff_min_ms=100,
            retry_backoff_max_ms=2_000,
        )
        for group in self._groups:
            await process.call(server.gateway.groups.create(group, mode=GroupMode.SHARED, settings=settings))

    def _start_clients(self) -> list["asyncio.Task[None]"]:
        options = self.options
        self._producers = [
            asyncio.create_task(Producer(f"producer-{number}", QUEUE, self.around).run())
            for number in range(options.producers)
        ]
        consumers = [
            asyncio.create_task(
                Consumer(f"{group}-consumer-{number}", group, QUEUE, self.around).run(lambda: self._is_converged)
            )
            for group in self._groups
            for number in range(options.consumers)
        ]
        observer = asyncio.create_task(self._observer.run(lambda: self._is_converged))
        return [*self._producers, *consumers, observer]

    # --- the operator ---

    def _machine_died(self) -> None:
        self._died.set()
        if self._must_stay_up:
            self.violations.append("the server died after everything was healed")

    async def _bring_up(self) -> None:
        """Start the server until it runs: a start may meet with a crash, a full disk, a failing sync."""
        for _ in range(START_ATTEMPTS_MAX):
            self._died.clear()
            try:
                await self.machine.start()
            except ProcessDiedError:
                self._note("died in its start")
            except (ServerError, OSError) as error:
                self._note("did not start", repr(error))
                self.coverage[f"start {type(error).__name__}"] += 1
                self.machine.disk.power_loss(self._random)
            else:
                self._note(STARTED)
                if self.machine.problems:
                    self.violations.append(f"recovery found damage that no fault explains: {self.machine.problems}")
                return
            await asyncio.sleep(0.2)
        raise AssertionError("the server does not start any more")

    async def _supervise(self) -> None:
        """Restart what died; a server that reports a failed disk is restarted on what the disk really has."""
        while True:
            server = self.machine.server
            if self._died.is_set():
                await asyncio.sleep(self.options.restart_delay_ms / 1000)
                await self._bring_up()
            elif server is not None and server.node.failure is not None:
                self.coverage["failed directories"] += 1
                self._note("failed", server.node.failure)
                await asyncio.sleep(0.3)  # meanwhile it must not confirm anything
                self.machine.end(loses_power=True)
            await asyncio.sleep(0.05)

    # --- misfortunes ---

    async def _run_safety(self) -> None:
        end_s = self._loop.time() + self.options.duration_ms / 1000
        while True:
            pause_s = self._random.expovariate(1 / self.options.fault_interval_ms) / 1000
            if self._loop.time() + pause_s >= end_s:
                break
            await asyncio.sleep(pause_s)
            if self.options.faults:
                await self._inflict(self._random.choice(self.options.faults))
        await asyncio.sleep(max(0.0, end_s - self._loop.time()))

    async def _inflict(self, kind: FaultKind) -> None:
        machine, rng = self.machine, self._random
        self.coverage[f"fault {kind.value}"] += 1
        self._note(kind.value)
        if kind in (FaultKind.KILL, FaultKind.POWER_LOSS):
            machine.end(loses_power=kind is FaultKind.POWER_LOSS)
        elif kind in (FaultKind.KILL_AT_OPERATION, FaultKind.POWER_LOSS_AT_OPERATION):
            is_power = kind is FaultKind.POWER_LOSS_AT_OPERATION
            if rng.random() < 0.5:  # within the recovery
                machine.end(loses_power=is_power)
            machine.end_after_operations(rng.choice((0, 1, 2, 3, 5, 8, 20, 50)), loses_power=is_power)
        elif kind is FaultKind.RESTART:
            await machine.stop()
        elif kind is FaultKind.FAILED_SYNC:
            if rng.random() < 0.8:
                machine.disk.fail_next_sync()
            else:
                machine.disk.fail_next_sync_directory()
        elif kind is FaultKind.DISK_FULL:
            machine.disk.capacity_bytes = machine.disk.used_bytes + rng.choice((0, 100, 5_000, 30_000))
            await asyncio.sleep(rng.uniform(0, 3))
            machine.disk.capacity_bytes = 1 << 40
        elif kind is FaultKind.SLOW_DISK:
            await self._slow_down()
        elif kind is FaultKind.WALL_JUMP:
            machine.clock.jump(rng.choice((-1, 1)) * rng.choice((1_000, 60_000, 3_600_000, 86_400_000)))

    async def _slow_down(self) -> None:
        executor = self.machine.executor
        if executor is not None:
            normal = executor.speed
            executor.speed = type(normal)(mean_ms=100.0, stall_probability=0.1, stall_ms=5_000)
            await asyncio.sleep(self._random.uniform(0, 3))
            executor.speed = normal

    async def _heal(self) -> None:
        """From here on nothing goes wrong any more; what was set to go wrong still may, once, within the pause."""
        disk = self.machine.disk
        disk.capacity_bytes = 1 << 40
        self.machine.clock.correct()
        self.around.calm = True
        await asyncio.sleep(QUIET_S)
        disk.fail_next_sync(0)
        disk.fail_next_sync_directory(0)
        disk.crash_after_operations(1 << 60)
        await asyncio.sleep(QUIET_S)
        self._must_stay_up = True
        self.around.stopping = True
        self._note("healed")

    # --- ending ---

    async def _converge(self) -> None:
        """Every group must come to the end of every partition of the topic, once nobody sends any more."""
        deadline_s = self._loop.time() + CONVERGENCE_TIMEOUT_S
        while self._loop.time() < deadline_s:
            is_all_sent = all(producer.done() for producer in self._producers)
            found = [read for read in await self._observer.look(is_final=False) if read.queue == QUEUE]
            is_complete = len(found) == self.options.partitions * len(self._groups)
            if is_all_sent and is_complete and all(read.progress == read.high_watermark for read in found):
                self._is_converged = True
                return
            await asyncio.sleep(1)
        self._is_converged = True
        self.violations.append(f"no convergence within {CONVERGENCE_TIMEOUT_S} s: {found}")

    # --- judging ---

    async def _verify(self) -> None:
        await self._observer.look(is_final=True)
        self._must_stay_up = False
        await self.machine.stop()
        await self._bring_up()
        server = self.machine.server
        assert server is not None
        if not server.node.logs.report.was_clean:
            self.violations.append("the start after a graceful stop was not clean")
        for topic in server.gateway.metadata.topics():
            for partition in range(topic.partitions):
                await self._observer.read_progress(topic, partition, is_final=True)
        await self.machine.stop()
        self._count()
        self.violations += self.around.unexpected
        self.violations += check_all(self.history, self._checkers())

    def _count(self) -> None:
        seen = set()
        for sent in self.history.of(Sent):
            if sent.dedup_id is not None and sent.outcome is Outcome.OK:
                self.coverage["dedup hits"] += sent.dedup_id in seen
            if sent.dedup_id is not None and sent.outcome is not Outcome.FAILED:
                seen.add(sent.dedup_id)
        for (queue, _), records in final_log(self.history).items():
            self.coverage["messages in the log" if queue == QUEUE else "dead letters"] += len(records)

    def _checkers(self) -> list[Checker]:
        options = self.options
        window_ms = options.dedup_window_ms if options.dedup_is_exact else 0
        dead_letter_queues = self._dead_letter_queues
        max_attempts = dict.fromkeys(self._groups, options.max_attempts)
        checkers: list[Checker] = [
            AcknowledgedIsInTheLog(),
            NothingAppearsByItself(ignored_queues=dead_letter_queues.values()),
            NothingTwice(dedup_window_ms=window_ms, ignored_queues=dead_letter_queues.values()),
            DuplicatesGetTheFirstAnswer(dedup_window_ms=window_ms),
            SendersKeepTheirOrder(),
            LogNeverChanges(),
            LogHasNoGaps(),
            HighWatermarkNeverFalls(),
            EpochsNeverFall(),
            NothingAboveTheHighWatermark(),
            OneLeaseAtATime(),
            StaleReceiptsAreRefused(max_attempts=max_attempts, dead_letter_queues=dead_letter_queues),
            AcknowledgedIsNeverDeliveredAgain(),
            AttemptsAreLimited(max_attempts=max_attempts),
            EverythingIsDoneInTheEnd(dead_letter_queues=dead_letter_queues),
            AutoAckedIsDeliveredOnce(),
            ProgressNeverFalls(),
            ReplayEqualsLiveState(),
        ]
        if options.dedup_is_exact:
            checkers.append(DeadLettersAreOnce(dead_letter_queues=dead_letter_queues))
        return checkers

    def _note(self, kind: str, detail: str = "") -> None:
        now_ms = self.around.now_ms()
        self.history.add(Faulted(began_ms=now_ms, ended_ms=now_ms, kind=kind, detail=detail))
        self._loop.note(kind)

    def _unhandled(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """An exception that nobody took: of a dead process it means nothing, of a living one it is a bug."""
        error = context.get("exception")
        if isinstance(error, Exception) and not isinstance(error, ProcessDiedError | ExecutorKilledError):
            self.violations.append(f"nobody handled {error!r}: {context['message']}")


def run_seed(seed: int) -> Result:
    """Run one seed to its end. What the server logs is kept, not printed."""
    return run_options(draw_options(seed))


def run_options(options: Options) -> Result:
    worlds: list[World] = []

    async def main(loop: SimLoop) -> None:
        worlds.append(World(loop, options))
        await worlds[0].run()

    trace_hash = ""
    for name in ("acklog", "uvicorn.error"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with structlog.testing.capture_logs() as logs:
        try:
            _, trace_hash = simulate(options.seed, main, shuffle=options.shuffle)
        except Exception as error:
            worlds[0].violations.append(f"the run broke: {type(error).__name__}: {error}")
    world = worlds[0]
    return Result(options, world.violations, world.coverage, trace_hash, world.history, list(logs))
