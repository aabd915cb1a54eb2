"""A run on a whole cluster: a leader, the controller, a gateway and a member of etcd are killed, one by one."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from acklog.client.transport import Transport
from app.demo.scene import Victim, transport_to
from app.demo.spread_transport import SpreadTransport
from app.local_cluster.cluster_process import ClusterProcess, Kind
from app.local_cluster.condition import Condition, Examiner
from app.local_cluster.local_cluster import LocalCluster, LocalClusterOptions

AWAY_S = 2.0  # before a victim is started again: the others have to get on without it
OPTIONS = LocalClusterOptions(nodes=3, gateways=2, etcd_members=3)

Preference = Callable[[Condition], float]


class ClusterScene:
    """Three nodes, two gateways and three members of etcd, with their data in `directory`."""

    name = "a cluster"
    promise = "a leader, the controller, a gateway and an etcd member were killed in the middle, and came back"

    def __init__(self, directory: Path, etcd_program: Path, *, kills: int) -> None:
        self._cluster = LocalCluster(directory, etcd_program, OPTIONS)
        self._kills = kills

    @property
    def url(self) -> str:
        return " and ".join(self._cluster.gateway_urls)

    async def start(self) -> float:
        began_s = asyncio.get_running_loop().time()
        await self._cluster.start()
        return asyncio.get_running_loop().time() - began_s

    async def stop(self) -> None:
        await self._cluster.stop()

    def transport(self) -> Transport:
        return SpreadTransport(
            [transport_to(url) for url in self._cluster.gateway_urls], asyncio.get_running_loop().time
        )

    def victims(self) -> Sequence[Victim]:
        roles = [
            _Role(self._cluster, Kind.NODE, "a leader", _leads_most),
            _Role(self._cluster, Kind.NODE, "the controller", lambda condition: condition.is_controller),
            _Role(self._cluster, Kind.GATEWAY, "a gateway", lambda condition: condition.requests or 0),
            _Role(self._cluster, Kind.ETCD, "etcd's leader", lambda condition: condition.is_etcd_leader),
        ]
        return [roles[number % len(roles)] for number in range(self._kills)]


def _leads_most(condition: Condition) -> float:
    """Rather one that is not the controller, too: that one has a turn of its own."""
    return (condition.partitions_led or 0) - (0.5 if condition.is_controller else 0.0)


class _Role:
    """Whoever has a role when it is looked for."""

    def __init__(self, cluster: LocalCluster, kind: Kind, name: str, preference: Preference) -> None:
        self._cluster = cluster
        self._kind = kind
        self._name = name
        self._preference = preference
        self._found: ClusterProcess | None = None

    async def find(self) -> str:
        examiner = Examiner()
        try:
            members = self._cluster.of_kind(self._kind)
            conditions = await examiner.examine(members)
        finally:
            await examiner.close()
        ranked = sorted(zip(members, conditions, strict=True), key=lambda each: self._preference(each[1]))
        self._found, condition = ranked[-1]
        return f"{self._found.name}, {self._name} ({condition.role or 'no answer'})"

    async def kill(self) -> None:
        assert self._found is not None, "find comes first"
        await self._cluster.kill_member(self._found)

    async def start(self) -> None:
        assert self._found is not None, "find comes first"
        await asyncio.sleep(AWAY_S)
        await self._cluster.start_member(self._found)
