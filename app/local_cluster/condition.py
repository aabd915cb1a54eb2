"""How the members of a local cluster are, asked of themselves: metrics of nodes and gateways, etcd's own status."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import msgspec

from acklog.command.server_metrics import ServerMetrics
from app.local_cluster.cluster_process import ClusterProcess, Kind, Life

ASK_TIMEOUT_S = 2.0


@dataclass(frozen=True, slots=True)
class Condition:
    """`role` is "" for a member that does not say. `requests` are those that a gateway has answered so far."""

    role: str = ""
    is_controller: bool = False
    is_etcd_leader: bool = False
    partitions_led: int | None = None
    requests: int | None = None
    memory_bytes: int | None = None


class _EtcdHeader(msgspec.Struct):
    member_id: str = "0"


class _EtcdStatus(msgspec.Struct):
    header: _EtcdHeader
    leader: str = ""


class Examiner:
    """Asks every member at once. Close it."""

    def __init__(self) -> None:
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=ASK_TIMEOUT_S))

    async def close(self) -> None:
        await self._session.close()

    async def examine(self, members: list[ClusterProcess]) -> list[Condition]:
        """One condition for each; one that does not answer in time has an empty one."""
        return list(await asyncio.gather(*map(self.examine_one, members)))

    async def examine_one(self, member: ClusterProcess) -> Condition:
        pid = member.process.running_pid
        if member.life is not Life.READY or pid is None:
            return Condition()
        memory_bytes = resident_bytes(pid)
        try:
            if member.kind is Kind.ETCD:
                return await self._etcd(member, memory_bytes)
            async with self._session.get(f"{member.process.url}/metrics") as answer:
                metrics = ServerMetrics(await answer.text())
        except (aiohttp.ClientError, TimeoutError, OSError, msgspec.DecodeError):
            return Condition(memory_bytes=memory_bytes)
        if member.kind is Kind.NODE:
            return _of_node(metrics, memory_bytes)
        requests = int(metrics.value("acklog_http_requests_total") or 0)
        return Condition(f"{requests:,} requests answered", requests=requests, memory_bytes=memory_bytes)

    async def _etcd(self, member: ClusterProcess, memory_bytes: int | None) -> Condition:
        async with self._session.post(f"{member.process.url}/v3/maintenance/status", data=b"{}") as answer:
            status = msgspec.json.decode(await answer.read(), type=_EtcdStatus)
        is_leader = status.leader == status.header.member_id
        return Condition("leader" if is_leader else "follower", is_etcd_leader=is_leader, memory_bytes=memory_bytes)


def _of_node(metrics: ServerMetrics, memory_bytes: int | None) -> Condition:
    led = int(metrics.value("acklog_partitions_led") or 0)
    is_controller = bool(metrics.value("acklog_controller"))
    role = f"leads {led:,}"
    if is_controller:
        role += ", controller"
    if not metrics.value("acklog_node_registered"):
        role += ", not registered"
    return Condition(role, is_controller=is_controller, partitions_led=led, memory_bytes=memory_bytes)


def resident_bytes(pid: int) -> int | None:
    """Of a process on this machine; None where the system does not say."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    for line in status.splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return None
