"""A cluster goes from clear to TLS between its processes, and changes certificates and authority, while it is used."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from app.local_cluster.server_process import ServerProcess
from cluster.errors import ServerError
from cluster.ports.runtime import SteadyClock
from cluster.tls.peer_identity import GATEWAY
from cluster.tls.peer_tls import PeerTls, TlsUse
from storage.rpc.tcp_transport import TcpTransport
from storage.rpc.tls_transport import TlsTransport
from storage.rpc.transport import NodeTransport
from tests.integration.cluster.sdk_load import SdkLoad, sdk_load
from tests.integration.tls.test_peers import ask, believed_by_itself
from tests.support.authority import OwnAuthority
from tests.support.real_cluster import RealCluster, RealClusterOptions, running_real_cluster
from tests.support.waiting import poll_until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.xdist_group("cluster faults"),
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(900),
]

PATIENCE_S = 120
SENDS = 10
RELOADED = b'"event": "certificate_reloaded"'


@dataclass(frozen=True)
class Member:
    name: str
    process: ServerProcess
    command: tuple[str, ...]

    def told(self, use: TlsUse, authority: OwnAuthority) -> None:
        """From its next start on."""
        stem = str(authority.directory / self.name)
        environment = {
            "ACKLOG_PEER_TLS": use.value,
            "ACKLOG_PEER_CERTIFICATE_FILE": f"{stem}.pem",
            "ACKLOG_PEER_KEY_FILE": f"{stem}-key.pem",
            "ACKLOG_PEER_CA_FILE": str(authority.ca_file),
            "ACKLOG_TLS_CHECK_INTERVAL_MS": "200",
        }
        self.process.command = ["env", *(f"{name}={value}" for name, value in environment.items()), *self.command]

    @property
    def reloads(self) -> int:
        return self.process.log_path.read_bytes().count(RELOADED)


def members_of(cluster: RealCluster) -> list[Member]:
    nodes = [Member(f"node-{number}", each, tuple(each.command)) for number, each in cluster.nodes.items()]
    gateways = [Member("gateway", each, tuple(each.command)) for each in cluster.gateways.values()]
    return [*nodes, *gateways]


async def progress(sdk: SdkLoad) -> None:
    """A few messages more are sent and handled. Whatever the SDK raises ends the load, and the test with it."""
    wanted = len(sdk.confirmed) + SENDS

    async def is_on() -> bool:
        return len(sdk.confirmed) >= wanted and len(sdk.handled) >= wanted - SENDS

    await poll_until(is_on, seconds=PATIENCE_S, what=f"{SENDS} messages more")


async def restart(cluster: RealCluster, member: Member) -> None:
    await member.process.stop()
    await member.process.start()
    if member.name.startswith("node"):
        await poll_until(lambda: in_sync(cluster), seconds=PATIENCE_S, what="all in sync")


async def in_sync(cluster: RealCluster) -> bool:
    found = [await cluster.metric(node, "acklog_cluster_partitions_under_replicated") for node in cluster.nodes]
    return found == [0.0] * len(found)


async def reloaded(members: list[Member], before: list[int]) -> None:
    async def have_all() -> bool:
        return all(each.reloads > count for each, count in zip(members, before, strict=True))

    await poll_until(have_all, seconds=PATIENCE_S, what="everybody takes the new files")


def address_of(cluster: RealCluster, node: int) -> str:
    command = list(cluster.nodes[node].command)
    return command[command.index("--listen") + 1]


async def is_answered(transport: NodeTransport, address: str) -> bool:
    """Whether node 1 talks to whoever asks like this."""
    try:
        await ask(transport, address)
    except ServerError as error:
        return "cannot be reached" not in error.detail
    return True


@pytest.mark.faults
async def test_from_clear_to_tls_and_through_an_authoritys_end_without_a_failed_call(
    etcd_program: Path, tmp_path: Path
) -> None:
    authority, successor = OwnAuthority(tmp_path / "pki"), OwnAuthority(tmp_path / "successor")
    for stem in ("node-1", "node-2", "node-3", "gateway"):
        authority.issue(stem)
    async with running_real_cluster(tmp_path, etcd_program, RealClusterOptions(etcd_members=1)) as cluster:
        members = members_of(cluster)
        async with sdk_load(cluster, "changing") as sdk:
            for use in (TlsUse.ACCEPT, TlsUse.PREFER, TlsUse.REQUIRE):
                for member in members:
                    member.told(use, authority)
                    await restart(cluster, member)
                    await progress(sdk)

            before = [each.reloads for each in members]
            authority.write_trust(successor)
            await reloaded(members, before)
            await progress(sdk)

            before = [each.reloads for each in members]
            for stem in ("node-1", "node-2", "node-3", "gateway"):
                successor.issue(stem, directory=authority.directory)
            await reloaded(members, before)
            await progress(sdk)

            before = [each.reloads for each in members]
            authority.ca_file.write_bytes(successor.pem)
            await reloaded(members, before)
            for member in members:  # connections that live on have to be made anew sometime
                await restart(cluster, member)
                await progress(sdk)
        assert sdk.confirmed <= sdk.handled.keys()

        # What was good at first is not any more; what is good now is.
        address = address_of(cluster, 1)
        new = PeerTls.load(TlsUse.REQUIRE, successor.issue("gateway"), GATEWAY)
        assert await is_answered(
            TlsTransport(new, now_ms=SteadyClock().now_ms, opening_max=1, on_refused=lambda *_: None), address
        )
        assert not await is_answered(TcpTransport(), address)
        old_files = authority.issue("gateway", directory=tmp_path)
        old = believed_by_itself(TlsUse.REQUIRE, replace(old_files, authorities=str(successor.ca_file)))
        assert not await is_answered(
            TlsTransport(old, now_ms=SteadyClock().now_ms, opening_max=1, on_refused=lambda *_: None), address
        )
