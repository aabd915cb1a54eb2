"""A whole cluster of real processes that a test may kill, stop, cut apart and put on disks of its own.

Every node and every member of etcd is reached through a proxy (see `cuttable_network`), whoever asks. Clients reach the
gateways directly. Processes keep their ports and directories over restarts.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from acklog.command.server_metrics import ServerMetrics
from app.local_cluster.server_process import ServerProcess, server_command
from tests.support.cuttable_network import HOST, Cut, CuttableNetwork, Link
from tests.support.etcd_process import EtcdCluster, running_cluster
from tests.support.lasting_ports import lasting_ports

ASK_SECONDS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class RealClusterOptions:
    """`node_directories` holds the data directories of nodes that are to have one elsewhere; `node_environment` and
    `gateway_environment` are what each of their processes gets on top; None: it does not get that variable."""

    nodes: int = 3
    gateways: int = 2
    etcd_members: int = 3
    node_directories: Mapping[int, Path] = field(default_factory=dict)
    node_environment: Mapping[str, str | None] = field(default_factory=dict)
    gateway_environment: Mapping[str, str | None] = field(default_factory=dict)


class RealCluster:
    """Made by `running_real_cluster`. Nodes and gateways are numbered from 1."""

    def __init__(self, directory: Path, etcd: EtcdCluster, options: RealClusterOptions) -> None:
        self.directory = directory
        self.etcd = etcd
        self.network = CuttableNetwork(self._names)
        ports = lasting_ports(3 * options.nodes + options.gateways + len(etcd.members))
        self._proxied: list[tuple[str, int, int]] = []
        endpoints = []
        for number, member in enumerate(etcd.members, 1):
            port = ports.pop()
            self._proxied.append((f"etcd {number}", member.client_port, port))
            endpoints.append(f"http://{HOST}:{port}")
        self._endpoints = ",".join(endpoints)
        self.nodes = {
            number: self._node(number, options, listen=ports.pop(), advertise=ports.pop(), http=ports.pop())
            for number in range(1, options.nodes + 1)
        }
        self.gateways = {
            number: self._gateway(number, options, ports.pop()) for number in range(1, options.gateways + 1)
        }

    @property
    def gateway_urls(self) -> list[str]:
        return [gateway.url for gateway in self.gateways.values()]

    async def start(self) -> None:
        """Raises ServerFailedError."""
        for target, target_port, port in self._proxied:
            self.network.listen(target, target_port, port)
        await self.start_all([*self.nodes.values(), *self.gateways.values()])

    async def start_all(self, processes: Iterable[ServerProcess]) -> None:
        await asyncio.gather(*(process.start() for process in processes))

    async def kill_all(self) -> None:
        """Nodes and gateways, whether they run, stand still or have ended."""
        await self.kill([*self.gateways.values(), *self.nodes.values()])

    async def kill(self, processes: Iterable[ServerProcess]) -> None:
        """All at once; those that do not run are left as they are."""
        running = [each for each in processes if each.running_pid is not None]
        await asyncio.gather(*(each.kill() for each in running))

    async def metric(self, node: int, name: str) -> float | None:
        """Of a node; None where it does not say."""
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=ASK_SECONDS)) as session,
            session.get(f"{self.nodes[node].url}/metrics") as answer,
        ):
            return ServerMetrics(await answer.text()).value(name)

    # --- faults --------------------------------------------------------------------------------------------------

    async def restart(self, process: ServerProcess) -> None:
        """SIGKILL, and start again."""
        await process.kill()
        await process.start()

    def pause(self, node: int) -> None:
        """SIGSTOP: connections stay, nothing answers."""
        os.kill(self.nodes[node].pid, signal.SIGSTOP)

    def resume(self, node: int) -> None:
        os.kill(self.nodes[node].pid, signal.SIGCONT)

    def links_between(self, some: Iterable[str], others: Iterable[str]) -> list[Link]:
        """In both directions. Names are those of `names_of`."""
        ours, theirs = list(some), list(others)
        return [link for one in ours for other in theirs for link in ((one, other), (other, one))]

    def cut_one_way(self, senders: Iterable[str], receivers: Iterable[str]) -> None:
        """Nothing that the ones send reaches the others any more, whoever has connected."""
        towards = [(sender, receiver) for sender in senders for receiver in receivers]
        self.network.cut(towards, Cut.THERE)
        self.network.cut([(receiver, sender) for sender, receiver in towards], Cut.BACK)

    def other_nodes(self, node: int) -> list[str]:
        return [f"node {number}" for number in self.nodes if number != node]

    @property
    def etcd_names(self) -> list[str]:
        return [f"etcd {number}" for number, _ in enumerate(self.etcd.members, 1)]

    # --- making --------------------------------------------------------------------------------------------------

    def _names(self) -> dict[int, str]:
        found = {node.running_pid: f"node {number}" for number, node in self.nodes.items()}
        found |= {gateway.running_pid: f"gateway {number}" for number, gateway in self.gateways.items()}
        return {pid: name for pid, name in found.items() if pid is not None}

    def _node(
        self, number: int, options: RealClusterOptions, *, listen: int, advertise: int, http: int
    ) -> ServerProcess:
        self._proxied.append((f"node {number}", listen, advertise))
        command = server_command(
            "node",
            id=number,
            data_dir=options.node_directories.get(number, self.directory / f"node-{number}"),
            listen=f"{HOST}:{listen}",
            advertise=f"{HOST}:{advertise}",
            http=f"{HOST}:{http}",
            etcd=self._endpoints,
            log_level="info",
        )
        return self._process(command, http, f"node-{number}", options.node_environment)

    def _gateway(self, number: int, options: RealClusterOptions, port: int) -> ServerProcess:
        command = server_command("gateway", host=HOST, port=port, etcd=self._endpoints, log_level="info")
        return self._process(command, port, f"gateway-{number}", options.gateway_environment)

    def _process(
        self, command: list[str], port: int, name: str, environment: Mapping[str, str | None]
    ) -> ServerProcess:
        if environment:  # `env` becomes the server: the process stays the same
            unset = [f"--unset={variable}" for variable, value in environment.items() if value is None]
            given = [f"{variable}={value}" for variable, value in environment.items() if value is not None]
            command = ["env", *unset, *given, *command]
        return ServerProcess(command, port, self.directory / "logs" / f"{name}.log")


@asynccontextmanager
async def running_real_cluster(
    directory: Path, etcd_program: Path, options: RealClusterOptions | None = None
) -> AsyncIterator[RealCluster]:
    """Ready to serve; everything is gone at the end. etcd keeps its data in memory where the machine offers that."""
    options = options or RealClusterOptions()
    etcd_running = running_cluster(etcd_program, options.etcd_members)
    etcd = await asyncio.to_thread(etcd_running.__enter__)
    try:
        cluster = RealCluster(directory, etcd, options)
        with cluster.network:
            try:
                await cluster.start()
                yield cluster
            finally:
                await cluster.kill_all()
    finally:
        await asyncio.to_thread(etcd_running.__exit__, None, None, None)
