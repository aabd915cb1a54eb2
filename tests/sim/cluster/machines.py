"""The machines of a simulated cluster: storage nodes with disks that outlive their processes, and gateways without."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from app.configuration.node_process_settings import NodeProcessSettings
from app.configuration.server_settings import Settings
from app.http.application import create_server_app
from app.processes.cluster_gateway import ClusterGateway, start_cluster_gateway
from app.processes.cluster_node import ClusterNode, start_cluster_node
from app.processes.node_end import StorageFailedError
from cluster.controller.controller_settings import ControllerSettings
from cluster.controller.planner_settings import PlannerSettings
from cluster.errors import ServerError
from cluster.life.election import ElectionSettings
from cluster.life.registration_settings import RegistrationSettings
from cluster.ports.coordination import CoordinationError, CoordinationStore
from storage.compaction.compaction_settings import CompactionSettings
from storage.groups.coordinator_settings import CoordinatorSettings
from storage.log.keys import PARTITIONS_DIRECTORY
from storage.log.log_settings import LogStoreSettings
from storage.log.segment import SEGMENT_SUFFIX
from storage.node.groups.delivery_snapshots import SNAPSHOT_NAME
from storage.node.partition.node_settings import NodeSettings
from storage.replication.replication_settings import ReplicationSettings
from storage.schedule.schedule_settings import ScheduleSettings
from tests.sim.cluster.coordination import Coordination
from tests.sim.cluster.network import Network
from tests.sim.environment import (
    FIRST_WALL_MS,
    DiskSpeed,
    ExecutorKilledError,
    MachineClock,
    SimClock,
    SimEntropy,
    SimExecutor,
)
from tests.sim.http_client import HttpClient
from tests.sim.loop import SimLoop
from tests.sim.options import Options, ServerOptions
from tests.sim.process import Process, ProcessDiedError
from tests.sim.sim_disk import DiskOperation, OperationKind, SimDisk, SimulatedPowerLoss
from tests.sim.simulated_master_key import master_keys_of

STOP_TIMEOUT_S = 90
STOP_FAILURES = (
    ServerError,
    OSError,
    CoordinationError,
    StorageFailedError,
    ExecutorKilledError,
    TimeoutError,
)
"""What may go wrong in a stop while faults happen. Anything else is a fault of the program."""
PORT = 7000


@dataclass(frozen=True, slots=True)
class Surrounding:
    """What all machines of a cluster share."""

    loop: SimLoop
    options: Options
    network: Network
    coordination: Coordination
    coverage: Counter[str]


class ProcessDisk:
    """The disk as one process has it: gone for good when the process is."""

    def __init__(self, disk: SimDisk, process: Process) -> None:
        self._disk = disk
        self._process = process

    def __getattr__(self, name: str) -> Any:
        if self._process.is_dead:
            raise SimulatedPowerLoss(self._process.name)
        return getattr(self._disk, name)


class Connection(CoordinationStore, Protocol):
    """To the coordination store, of one process."""

    def end(self) -> None:
        """The process is gone."""
        ...


class Host:
    """One machine with one process at a time. `on_death` is called whenever that ends."""

    def __init__(self, name: str, around: Surrounding, on_death: Callable[["Host"], None]) -> None:
        options = around.options
        self.name = name
        self.process: Process | None = None
        self.store: Connection | None = None
        self.starts = 0
        self._around = around
        self._on_death = on_death
        self._random = random.Random(f"{name} {options.seed}")
        skew_ms, drift = options.clock_skew_ms, options.clock_drift
        self.clock = MachineClock(
            around.loop,
            first_wall_ms=FIRST_WALL_MS + self._random.randint(-skew_ms, skew_ms),
            rate=1 + self._random.uniform(-drift, drift),
        )

    @property
    def is_up(self) -> bool:
        return self.process is not None and not self.process.is_dead

    def pause(self) -> None:
        if self.process is not None:
            self.process.pause()

    def resume(self) -> None:
        if self.process is not None:
            self.process.resume()

    def _new_process(self) -> Process:
        self.starts += 1
        self.process = Process(self._around.loop, f"{self.name}.{self.starts}")
        self.store = self._connect(self.process)
        self._around.network.power_returned(self.name)
        return self.process

    def _connect(self, process: Process) -> Connection:
        return self._around.coordination.connect(self.name, process)

    def _process_ended(self, *, loses_power: bool) -> None:
        """The process is dead; tell the world what it can know of it."""
        assert self.process is not None
        assert self.store is not None
        self.store.end()
        if loses_power:
            self._around.network.power_lost(self.name, self.process)
        else:
            self._around.network.process_ended(self.process)
        self._on_death(self)


class NodeMachine(Host):
    """A storage node's machine. `disk` is what outlives the processes; a wiped one is another disk."""

    def __init__(self, node_id: int, around: Surrounding, on_death: Callable[[Host], None]) -> None:
        super().__init__(f"node-{node_id}", around, on_death)
        options = around.options
        self.node_id = node_id
        self.node: ClusterNode | None = None
        self.executor: SimExecutor | None = None
        self.problems: list[str] = []
        self._has_stopped_gracefully = False
        self.directory_id = ""
        """Of the disk that the machine has now; "" while nothing was ever kept on it."""
        self.speed = DiskSpeed(
            mean_ms=options.server.disk_mean_ms, stall_probability=options.server.disk_stall_probability
        )
        self._wipes = 0
        self._loses_power = False
        self.disk = self._new_disk()

    def _new_disk(self) -> SimDisk:
        disk = SimDisk(seed=hash_of(self.name, self._wipes, self._around.options.seed))
        disk.before_operation = self._count_operation
        miss_probability = self._around.options.server.cache_miss_probability
        disk.misses_cache = lambda _: self._random.random() < miss_probability
        return disk

    # --- life ---

    async def start(self) -> None:
        """Returns once the node serves, which waits for a store that cannot be reached. Raises ProcessDiedError and
        what `start_cluster_node` does; then the process is dead."""
        process = self._new_process()
        is_after_a_stop, self._has_stopped_gracefully = self._has_stopped_gracefully, False
        self.executor = SimExecutor(
            f"{process.name} {self._around.options.seed}",
            self.speed,
            crash_types=(SimulatedPowerLoss,),
            on_crash=lambda _: self._died_at_operation(),
        )
        try:
            node = await process.call(self._start_server(process, self.executor))
        except ProcessDiedError:
            raise
        except Exception as error:
            self.end(loses_power=self._is_failure_of_the_disk(error))
            raise
        if process.is_dead:
            raise ProcessDiedError(process.name)
        self.node = node
        self._serves(node)
        self.directory_id = node.node.logs.directory_id
        self._count_recovery(node)
        if is_after_a_stop and not node.node.logs.report.was_clean:
            self.problems.append("the last stop was graceful, and the start after it is not clean")

    async def _start_server(self, process: Process, io: SimExecutor) -> ClusterNode:
        options = self._around.options
        assert self.store is not None
        return await start_cluster_node(
            store=self.store,
            transport=self._around.network.transport(self.name, process),
            disk=ProcessDisk(self.disk, process),
            io=io,
            clock=SimClock(self.clock),
            entropy=SimEntropy(f"{process.name} {options.seed}"),
            settings=process_settings(
                options, self.node_id, f"{self.name}:{PORT}", f"rack-{self.node_id % 2}" if options.has_racks else ""
            ),
            node_settings=cluster_node_settings(options),
            master_keys=master_keys_of(options, process.name),
        )

    def _serves(self, node: ClusterNode) -> None:
        """It has started."""

    def _is_failure_of_the_disk(self, error: Exception) -> bool:
        """Whether nobody knows what is on the disk now."""
        return isinstance(error, StorageFailedError)

    @property
    def reason_to_end(self) -> object | None:
        """Why its process, which still runs, must be ended."""
        return None if self.node is None else self.node.end.reason

    def end(self, *, loses_power: bool = False) -> None:
        """The process ends now, without a word; so does the machine, if it loses power."""
        if self.process is None or self.process.is_dead:
            return
        assert self.executor is not None
        self.executor.kill()
        self.process.kill()
        self.node = None
        if loses_power:
            self.disk.power_loss(self._random)
        else:
            self.disk.kill()
        self._around.coverage["power losses" if loses_power else "kills"] += 1
        self._process_ended(loses_power=loses_power)

    async def stop(self) -> None:
        """A graceful stop: leadership goes to others first."""
        node, process = self.node, self.process
        if node is None or process is None:
            return
        self.node = None
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await process.call(self._close(node))
        except ProcessDiedError:
            return
        except asyncio.CancelledError:  # whoever ordered it does not wait any longer
            self.end(loses_power=False)
            raise
        except STOP_FAILURES as error:
            self._around.coverage[f"stops that failed: {type(error).__name__}"] += 1
            self.end(loses_power=True)
            return
        self._around.coverage["graceful stops"] += 1
        self._has_stopped_gracefully = node.node.failure is None
        self.end(loses_power=False)

    async def _close(self, node: ClusterNode) -> None:
        await node.leave()
        await node.close()

    # --- faults ---

    def wipe(self) -> None:
        """The disk is replaced by an empty one. Only while no process runs."""
        assert not self.is_up
        self._wipes += 1
        self.disk = self._new_disk()
        self.directory_id = ""
        self._around.coverage["wiped disks"] += 1

    def rot(self) -> bool:
        """Flip a bit of a log, or of the state behind one; False where there is none yet."""
        contents = {path: len(content) for path, content in sorted(self.disk.files().items()) if _is_replicated(path)}
        paths = [path for path, size in contents.items() if size]
        if not paths:
            return False
        path = self._random.choice(paths)
        self.disk.bit_rot(path, self._random.randrange(contents[path]), self._random.randrange(8))
        self._around.coverage["bits that rotted"] += 1
        return True

    def end_after_operations(self, count: int, *, loses_power: bool) -> None:
        """End at a disk operation, in its middle, instead of at a time."""
        self._loses_power = loses_power
        self.disk.crash_after_operations(count)

    def _died_at_operation(self) -> None:
        self._around.coverage["deaths within an operation"] += 1
        if self.node is None:
            self._around.coverage["deaths within a start"] += 1
        self.end(loses_power=self._loses_power)

    # --- evidence ---

    def _count_operation(self, operation: DiskOperation) -> None:
        if operation.kind is OperationKind.RENAME:
            self._around.coverage[f"renames of {operation.path.rsplit('/', 1)[-1]}"] += 1

    def _count_recovery(self, node: ClusterNode) -> None:
        report, coverage = node.node.logs.report, self._around.coverage
        coverage["recoveries"] += 1
        coverage["clean starts"] += report.was_clean
        coverage["torn tails"] += len(report.torn_tails)
        coverage["journal replays"] += report.batches_replayed > 0
        self.problems = [f"{place}" for place in report.corrupt_places] + [
            f"{key}: {reason}" for key, reason in report.refused.items()
        ]


class GatewayMachine(Host):
    """A gateway's machine: nothing of it outlives the process."""

    def __init__(self, number: int, around: Surrounding, on_death: Callable[[Host], None]) -> None:
        super().__init__(f"gateway-{number}", around, on_death)
        self.gateway: ClusterGateway | None = None
        self.http: HttpClient | None = None

    async def start(self) -> None:
        """Raises ProcessDiedError."""
        options = self._around.options
        process = self._new_process()
        assert self.store is not None
        gateway = await process.call(
            start_cluster_gateway(
                store=self.store,
                transport=self._around.network.transport(self.name, process),
                clock=SimClock(self.clock),
                entropy=SimEntropy(f"{process.name} {options.seed}"),
                settings=Settings(partitions_default=options.server.partitions, encrypt_topics=options.is_encrypted),
            )
        )
        if process.is_dead:
            raise ProcessDiedError(process.name)
        self.gateway = gateway
        self.http = HttpClient(process, create_server_app(gateway.gateway), gateway.gateway.settings)

    def end(self) -> None:
        if self.process is None or self.process.is_dead:
            return
        self.process.kill()
        self.gateway = None
        self.http = None
        self._around.coverage["gateway kills"] += 1
        self._process_ended(loses_power=False)


def _is_replicated(path: str) -> bool:
    """Whether other nodes have what is in the file; where the rest is damaged, the node does not serve at all."""
    return path.startswith(f"{PARTITIONS_DIRECTORY}/") and path.endswith((SEGMENT_SUFFIX, f"/{SNAPSHOT_NAME}"))


def hash_of(*parts: object) -> int:
    """A number that only the parts decide, on every machine."""
    return random.Random(" ".join(str(part) for part in parts)).getrandbits(48)


def process_settings(options: Options, node_id: int, address: str, rack: str) -> NodeProcessSettings:
    ttl_ms, election_ms = options.registration_ttl_ms, options.election_ttl_ms
    return NodeProcessSettings(
        node_id=node_id,
        listen=address,
        rack=rack,
        leave_timeout_ms=5_000,
        replication=replication_settings(options),
        registration=RegistrationSettings(
            ttl_ms=ttl_ms,
            margin_ms=ttl_ms // 5,
            keep_alive_interval_ms=ttl_ms // 4,
            directory_conflict_wait_ms=ttl_ms * 3 // 2,
        ),
        controller=ControllerSettings(
            planner=PlannerSettings(
                repair_delay_ms=options.repair_delay_ms, preferred_delay_ms=2_000, balance_delay_ms=3_000
            ),
            election=ElectionSettings(
                ttl_ms=election_ms, margin_ms=election_ms // 4, keep_alive_interval_ms=election_ms // 4
            ),
        ),
    )


def cluster_node_settings(options: Options) -> NodeSettings:
    return replace(node_settings(options.server), high_watermark_checkpoint_ms=1_000)


def replication_settings(options: Options) -> ReplicationSettings:
    return ReplicationSettings(
        fetch_wait_ms=options.fetch_wait_ms,
        fetch_answer_timeout_ms=1_500,
        fetch_bytes_max=options.fetch_bytes_max,
        partition_fetch_bytes_max=max(1_000, min(options.fetch_bytes_max, options.server.journal_file_bytes) // 4),
        live_lag_records_max=options.live_lag_records_max,
        contact_ms=options.contact_ms,
    )


def node_settings(options: ServerOptions) -> NodeSettings:
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
        schedule=ScheduleSettings(
            due_messages_max=max(8, min(125, options.journal_file_bytes // 400))
        ),  # they must fit
        dead_letters_at_once=5,
        dead_letter_retry_ms=500,
        retention_interval_ms=3_000,
        projection_interval_ms=200,
        compaction=CompactionSettings(
            look_interval_ms=300, bytes_per_second=100_000, step_bytes=300, keys_bytes_max=900, dirty_ratio_min=0.2
        ),
        coordinator=CoordinatorSettings(log_bytes_max=2_000, reopen_pause_ms=200),
    )
