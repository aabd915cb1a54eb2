"""A local cluster for measurements, with etcd's data in memory, and what it says about itself."""

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from app.local_cluster.cluster_process import ClusterProcess, Kind
from app.local_cluster.etcd_program import EtcdMissingError, cache_directory, find_etcd
from app.local_cluster.local_cluster import LocalCluster, LocalClusterOptions
from examples.server_process import ServerProcess
from loadtests.bench_server import ask_once
from loadtests.http_connection import make_request
from loadtests.load import LoadFailedError

MEMORY_DIRECTORY = Path("/dev/shm")
MOUNTS = Path("/proc/mounts")
TMPFS = "tmpfs"
ETCD_VARIABLE = "ACKLOG_ETCD_PROGRAM"


@dataclass(frozen=True, slots=True)
class ClusterUnderTest:
    """`etcd_storage` is the kind of file system that etcd's data is on: "tmpfs" is memory."""

    cluster: LocalCluster
    etcd_storage: str

    @property
    def gateways(self) -> list[ServerProcess]:
        return [member.process for member in self.cluster.of_kind(Kind.GATEWAY)]

    @property
    def gateway(self) -> ServerProcess:
        return self.gateways[0]

    @property
    def nodes(self) -> list[ClusterProcess]:
        """By number."""
        return self.cluster.of_kind(Kind.NODE)

    def node(self, number: int) -> ClusterProcess:
        return next(member for member in self.nodes if member.number == number)

    @property
    def etcd_pids(self) -> tuple[int, ...]:
        return tuple(member.process.pid for member in self.cluster.of_kind(Kind.ETCD))


@asynccontextmanager
async def cluster_under_test(directory: Path, *, nodes: int, gateways: int) -> AsyncIterator[ClusterUnderTest]:
    """Ready to serve; stopped at the end. Raises LoadFailedError where there is no etcd, ServerFailedError."""
    cluster_directory = directory / "cluster"
    cluster_directory.mkdir()
    with _etcd_directory(cluster_directory) as storage:
        options = LocalClusterOptions(nodes=nodes, gateways=gateways)
        cluster = LocalCluster(cluster_directory, _etcd_program(), options)
        try:
            await cluster.start()
            yield ClusterUnderTest(cluster, storage)
        finally:
            await cluster.stop()


@contextmanager
def _etcd_directory(cluster_directory: Path) -> Iterator[str]:
    """etcd's data goes to memory where there is such a place: its syncs, on the same disk as those of three nodes,
    would be measured with everything else, and in real life it has a disk of its own."""
    if file_system_of(MEMORY_DIRECTORY) != TMPFS:
        yield file_system_of(cluster_directory)
        return
    in_memory = Path(tempfile.mkdtemp(prefix="acklog-bench-etcd-", dir=MEMORY_DIRECTORY))
    try:
        (cluster_directory / "etcd-1").symlink_to(in_memory)
        yield TMPFS
    finally:
        shutil.rmtree(in_memory, ignore_errors=True)


def file_system_of(path: Path, mounts: Path = MOUNTS) -> str:
    """The kind of file system that the path is on; "unknown" where the system does not tell."""
    if not mounts.exists() or not path.exists():
        return "unknown"
    resolved = path.resolve()
    best, kind = -1, "unknown"
    for line in mounts.read_text().splitlines():
        _, mount_point, found, *_ = line.split()
        point = Path(mount_point.replace("\\040", " "))
        if (point == resolved or point in resolved.parents) and len(point.parts) >= best:
            best, kind = len(point.parts), found
    return kind


def _etcd_program() -> Path:
    """Raises LoadFailedError."""
    try:
        return find_etcd(cache_directory(os.environ), named=os.environ.get(ETCD_VARIABLE))
    except EtcdMissingError as error:
        raise LoadFailedError(f"{error}: install etcd, or name it in {ETCD_VARIABLE}") from error


# --- what the cluster says -------------------------------------------------------------------------------------------


class Partition(msgspec.Struct, rename="camel"):
    """As the gateway knows it. `leader` is None while there is none."""

    partition: int
    leader: int | None
    replicas: list[int]
    in_sync_replicas: list[int]

    @property
    def is_in_sync(self) -> bool:
        """Led, and every replica is in sync."""
        return self.leader is not None and set(self.replicas) == set(self.in_sync_replicas)


class _Topic(msgspec.Struct, rename="camel"):
    partition_states: list[Partition]


class _Cluster(msgspec.Struct):
    controller: int | None


async def partitions_of(gateway: ServerProcess, topic: str) -> list[Partition]:
    """Raises LoadFailedError."""
    answer = await ask_once(gateway, make_request("GET", f"/topics/{topic}"))
    return msgspec.json.decode(answer.body, type=_Topic).partition_states


async def controller_of(gateway: ServerProcess) -> int | None:
    """The node that has the office. Raises LoadFailedError."""
    answer = await ask_once(gateway, make_request("GET", "/cluster"))
    return msgspec.json.decode(answer.body, type=_Cluster).controller
