"""etcd, nodes and gateways, each in a process of its own on this machine."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.local_cluster.cluster_process import ClusterProcess, Kind, Life
from app.local_cluster.layout import EtcdPlace, make_layout
from app.local_cluster.server_process import HOST, ServerFailedError, ServerProcess, free_ports, server_command

Tell = Callable[[ClusterProcess], None]

READY_TIMEOUT_S = 180.0  # all of them start at once, on a machine that may be small and busy


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalClusterOptions:
    """`gateway_port` is the first gateway's, the others follow; 0 takes free ones."""

    nodes: int = 3
    gateways: int = 2
    etcd_members: int = 1
    gateway_port: int = 0
    log_level: str = "warning"


class LocalCluster:
    """`start` once, `stop` once. `tell` hears of every change of a member's life."""

    def __init__(
        self, directory: Path, etcd_program: Path, options: LocalClusterOptions, *, tell: Tell = lambda member: None
    ) -> None:
        """Raises LayoutError."""
        self.directory = directory
        self.options = options
        self._etcd_program = etcd_program
        self._layout = make_layout(directory, etcd=options.etcd_members, nodes=options.nodes)
        self._tell = tell
        endpoints = ",".join(f"http://{HOST}:{place.client_port}" for place in self._layout.etcd)
        self.members = [*self._etcd_members(), *self._nodes(endpoints), *self._gateways(endpoints)]

    @property
    def gateway_urls(self) -> list[str]:
        return [member.process.url for member in self.of_kind(Kind.GATEWAY)]

    def of_kind(self, kind: Kind) -> list[ClusterProcess]:
        return [member for member in self.members if member.kind is kind]

    # --- life ----------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Return once everything is ready. Raises ServerFailedError; what was started is to be stopped even then."""
        await self._start_all(self.of_kind(Kind.ETCD))
        await self._start_all([*self.of_kind(Kind.NODE), *self.of_kind(Kind.GATEWAY)])

    async def start_member(self, member: ClusterProcess) -> None:
        """Raises ServerFailedError."""
        self._set(member, Life.STARTING)
        try:
            await member.process.start()
        except ServerFailedError as error:
            raise ServerFailedError(f"{member.name}: {error.what}", error.log_tail) from error
        self._set(member, Life.READY)

    async def kill_member(self, member: ClusterProcess) -> None:
        """kill -9."""
        await member.process.kill()
        self.note_end(member, -9)

    def note_end(self, member: ClusterProcess, exit_code: int) -> None:
        """The process is gone, by itself or by somebody's hand."""
        member.ended_with = exit_code
        self._set(member, Life.ENDED)

    def give_up(self, member: ClusterProcess) -> None:
        self._set(member, Life.GIVEN_UP)

    async def stop(self) -> None:
        """In order: who asks before who answers. Everything is gone afterwards; raises the first ServerFailedError of
        a process that had to be killed."""
        failures: list[ServerFailedError] = []
        for kind in reversed(Kind):
            outcomes = await asyncio.gather(*map(self._stop_member, self.of_kind(kind)), return_exceptions=True)
            failures += [each for each in outcomes if isinstance(each, ServerFailedError)]
        if failures:
            raise failures[0]

    async def _stop_member(self, member: ClusterProcess) -> None:
        if member.life is Life.WAITING:
            return
        self._set(member, Life.STOPPING)
        try:
            await member.process.stop()
        finally:
            self._set(member, Life.STOPPED)

    async def _start_all(self, members: Sequence[ClusterProcess]) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                for member in members:
                    tasks.create_task(self.start_member(member))
        except* ServerFailedError as group:
            raise first_of(group) from None

    def _set(self, member: ClusterProcess, life: Life) -> None:
        member.life = life
        self._tell(member)

    # --- the members ---------------------------------------------------------------------------------------------

    def _etcd_members(self) -> list[ClusterProcess]:
        peers = {
            f"etcd-{number}": f"http://{HOST}:{place.peer_port}" for number, place in enumerate(self._layout.etcd, 1)
        }
        return [self._etcd_member(number, place, peers) for number, place in enumerate(self._layout.etcd, 1)]

    def _etcd_member(self, number: int, place: EtcdPlace, peers: Mapping[str, str]) -> ClusterProcess:
        name = f"etcd-{number}"
        client_url = f"http://{HOST}:{place.client_port}"
        options = {
            "name": name,
            "data-dir": str(self.directory / name),
            "listen-client-urls": client_url,
            "advertise-client-urls": client_url,
            "listen-peer-urls": peers[name],
            "initial-advertise-peer-urls": peers[name],
            "initial-cluster": ",".join(f"{peer}={url}" for peer, url in peers.items()),
            "auto-compaction-mode": "periodic",
            "auto-compaction-retention": "1h",
            "logger": "zap",
            "log-outputs": "stderr",
        }
        command = [str(self._etcd_program), *(f"--{option}={value}" for option, value in options.items())]
        process = self._process(command, place.client_port, name)
        process.ready_path = "/health"
        return ClusterProcess(Kind.ETCD, number, process, f"{HOST}:{place.client_port}")

    def _nodes(self, endpoints: str) -> list[ClusterProcess]:
        members = []
        for number, place in enumerate(self._layout.nodes[: self.options.nodes], 1):
            address = f"{HOST}:{place.port}"
            command = server_command(
                "node",
                id=number,
                data_dir=self.directory / f"node-{number}",
                listen=address,
                http=f"{HOST}:{place.http_port}",
                etcd=endpoints,
                log_level=self.options.log_level,
            )
            process = self._process(command, place.http_port, f"node-{number}")
            members.append(ClusterProcess(Kind.NODE, number, process, address))
        return members

    def _gateways(self, endpoints: str) -> list[ClusterProcess]:
        first, count = self.options.gateway_port, self.options.gateways
        members = []
        for number, port in enumerate(range(first, first + count) if first else free_ports(count), 1):
            command = server_command(
                "gateway",
                host=HOST,
                port=port,
                etcd=endpoints,
                auto_create_topics="true",
                auto_create_groups="true",
                log_level=self.options.log_level,
            )
            process = self._process(command, port, f"gateway-{number}")
            members.append(ClusterProcess(Kind.GATEWAY, number, process, f"{HOST}:{port}"))
        return members

    def _process(self, command: Sequence[str], port: int, name: str) -> ServerProcess:
        log_path = self.directory / "logs" / f"{name}.log"
        return ServerProcess(command, port, log_path, ready_timeout_s=READY_TIMEOUT_S)


def first_of(group: BaseExceptionGroup[ServerFailedError]) -> ServerFailedError:
    """The first failure: those that follow are its consequences."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, ServerFailedError)
    return error
