"""One machine of the simulation: a disk and a coordination store that outlive the server processes on it."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from acklog.wire.problems import ProblemCode
from app.configuration.server_settings import Settings
from app.http.application import create_server_app
from app.processes.embedded import EmbeddedServer, start_embedded
from cluster.errors import ServerError
from cluster.ports.coordination import Compare, KeyValue, Listing, Operation, StoreLease, TransactionResult, Watch
from cluster.stores.memory_store import MemoryStore
from storage.log.log_settings import LogStoreSettings
from storage.node.partition.node_settings import NodeSettings
from tests.sim.environment import DiskSpeed, MachineClock, SimClock, SimEntropy, SimExecutor
from tests.sim.http_client import HttpClient
from tests.sim.loop import SimLoop
from tests.sim.options import Options
from tests.sim.process import Process, ProcessDiedError, outside
from tests.sim.sim_disk import DiskOperation, OperationKind, SimDisk, SimulatedPowerLoss

_Result = TypeVar("_Result")

STOP_TIMEOUT_S = 60


class ProcessDisk:
    """The disk as one process has it: gone for good when the process is."""

    def __init__(self, disk: SimDisk, process: Process) -> None:
        self._disk = disk
        self._process = process

    def __getattr__(self, name: str) -> Any:
        if self._process.is_dead:
            raise SimulatedPowerLoss(self._process.name)
        return getattr(self._disk, name)


class ProcessStore:
    """The coordination store as one process has it: each call takes a while, and may be done after the process died."""

    def __init__(self, store: MemoryStore, process: Process, seed: str, mean_ms: float) -> None:
        self._store = store
        self._process = process
        self._random = random.Random(f"store {seed}")
        self._mean_ms = mean_ms

    async def _do(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        if self._process.is_dead:
            work.close()
            raise ProcessDiedError(self._process.name)
        delay_s = self._random.expovariate(1 / self._mean_ms) / 1000

        async def later() -> _Result:
            await asyncio.sleep(delay_s)
            return await work

        result = await outside(later())
        await asyncio.sleep(delay_s / 4)
        return result

    async def get(self, key: str) -> KeyValue | None:
        return await self._do(self._store.get(key))

    async def list(self, prefix: str) -> Listing:
        return await self._do(self._store.list(prefix))

    async def transact(
        self, compares: Sequence[Compare], then: Sequence[Operation], otherwise: Sequence[Operation] = ()
    ) -> TransactionResult:
        return await self._do(self._store.transact(compares, then, otherwise))

    async def grant_lease(self, ttl_ms: int) -> StoreLease:
        return await self._do(self._store.grant_lease(ttl_ms))

    async def keep_alive(self, lease_id: int) -> None:
        await self._do(self._store.keep_alive(lease_id))

    async def revoke_lease(self, lease_id: int) -> None:
        await self._do(self._store.revoke_lease(lease_id))

    def watch(self, prefix: str, start_revision: int) -> Watch:
        return self._store.watch(prefix, start_revision)

    async def compact(self, revision: int) -> None:
        await self._do(self._store.compact(revision))

    async def close(self) -> None:
        """The store outlives the process."""


class Machine:
    """`start` a server process on it, and end that one way or the other. `on_death` is called whenever one ends."""

    def __init__(self, loop: SimLoop, options: Options, coverage: Counter[str], on_death: Callable[[], None]) -> None:
        self.disk = SimDisk(seed=options.seed)
        self.clock = MachineClock(loop)
        self.speed = DiskSpeed(mean_ms=options.disk_mean_ms, stall_probability=options.disk_stall_probability)
        self.process: Process | None = None
        self.problems: list[str] = []
        self.server: EmbeddedServer | None = None
        self.http: HttpClient | None = None
        self.incarnations = 0
        self._loop = loop
        self._options = options
        self._coverage = coverage
        self._on_death = on_death
        self._random = random.Random(f"machine {options.seed}")
        self._store = MemoryStore(SimClock(self.clock))
        self.executor: SimExecutor | None = None
        self._loses_power = False
        self.disk.before_operation = self._count_operation
        self.disk.misses_cache = lambda _: self._random.random() < options.cache_miss_probability

    # --- life ---

    async def start(self) -> None:
        """A new process that recovers and serves. Raises what recovery raises, and ProcessDiedError."""
        self.incarnations += 1
        name = f"{self._options.seed}.{self.incarnations}"
        process = self.process = Process(self._loop, name)
        self.executor = SimExecutor(
            name, self.speed, crash_types=(SimulatedPowerLoss,), on_crash=lambda _: self._died_at_operation()
        )
        try:
            server = await process.call(
                start_embedded(
                    store=ProcessStore(self._store, process, name, self._options.store_mean_ms),
                    disk=ProcessDisk(self.disk, process),
                    io=self.executor,
                    clock=SimClock(self.clock),
                    entropy=SimEntropy(name),
                    settings=Settings(partitions_default=self._options.partitions),
                    node_settings=node_settings(self._options),
                )
            )
        except ProcessDiedError:
            raise
        except Exception:
            self.end(loses_power=False)
            raise
        if process.is_dead:
            raise ProcessDiedError(name)
        self.server = server
        self.http = HttpClient(process, create_server_app(server.gateway), server.gateway.settings)
        self._count_recovery(server)

    def end(self, *, loses_power: bool) -> None:
        """The process ends now, without a word; so does the machine, if it loses power."""
        if self.process is None or self.process.is_dead:
            return
        assert self.executor is not None
        self.executor.kill()
        self.process.kill()
        self.server = None
        self.http = None
        if loses_power:
            self.disk.power_loss(self._random)
            self._coverage["power losses"] += 1
        else:
            self.disk.kill()
            self._coverage["kills"] += 1
        self._on_death()

    async def stop(self) -> None:
        """A graceful stop, as a supervisor orders it: requests that are under way get a moment."""
        server, process = self.server, self.process
        if server is None or process is None:
            return
        self.http = None
        self.server = None
        try:
            await process.call(_begin_shutdown(server))
            await asyncio.sleep(2)
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await process.call(server.close())
        except ProcessDiedError:
            return
        except ServerError as error:
            if error.code is not ProblemCode.STORAGE_FAILED:
                raise
            self._coverage["stops that failed"] += 1
            self.end(loses_power=True)
            return
        self._coverage["graceful stops"] += 1
        self.end(loses_power=False)

    # --- faults ---

    def end_after_operations(self, count: int, *, loses_power: bool) -> None:
        """End at a disk operation, in its middle, instead of at a time."""
        self._loses_power = loses_power
        self.disk.crash_after_operations(count)

    def _died_at_operation(self) -> None:
        self._coverage["deaths within an operation"] += 1
        if self.server is None:
            self._coverage["deaths within a start"] += 1
        self.end(loses_power=self._loses_power)

    # --- evidence ---

    def _count_operation(self, operation: DiskOperation) -> None:
        if operation.kind is OperationKind.RENAME:
            self._coverage[f"renames of {operation.path.rsplit('/', 1)[-1]}"] += 1

    def _count_recovery(self, server: EmbeddedServer) -> None:
        report = server.node.logs.report
        self._coverage["starts"] += 1
        self._coverage["clean starts"] += report.was_clean
        self._coverage["torn tails"] += len(report.torn_tails)
        self._coverage["journal replays"] += report.batches_replayed > 0
        self._coverage["batches replayed"] += report.batches_replayed
        self.problems = [f"{place}" for place in report.corrupt_places] + [
            f"{key}: {reason}" for key, reason in report.refused.items()
        ]


async def _begin_shutdown(server: EmbeddedServer) -> None:
    server.begin_shutdown()


def node_settings(options: Options) -> NodeSettings:
    return NodeSettings(
        log_store=LogStoreSettings(
            journal_file_bytes=options.journal_file_bytes,
            journal_files_max=options.journal_files_max,
            journal_files_kept=2,
            round_bytes_max=options.journal_file_bytes // 2,
            reserve_bytes=20_000,
            ballast_bytes=20_000,
            free_check_interval_ms=50,
            sync_interval_ms=options.sync_interval_ms,
            open_files_max=8,
            write_behind_bytes_max=options.write_behind_bytes,
            closed_indexes_max=2,
            scrub_bytes_per_second=200_000,
            scrub_interval_ms=3_000,
            scrub_min_age_ms=1_000,
            scrub_step_bytes=4_096,
            scrub_checkpoint_ms=1_000,
        ),
        batch_cache_bytes_max=options.batch_cache_bytes,
        read_ahead_bytes=4_096,
        delivery_snapshot_bytes=options.delivery_snapshot_bytes,
        delivery_segment_bytes=options.segment_bytes,
        expiries_per_step_max=10,
        dead_letters_at_once=5,
        dead_letter_retry_ms=500,
        retention_interval_ms=3_000,
        projection_interval_ms=200,
    )
