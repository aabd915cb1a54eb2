"""Nodes and gateways that prove to each other who they are, on real sockets; and the way there from clear."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.ports.runtime import SteadyClock, SystemEntropy
from cluster.tls.contexts import peer_client_context, peer_server_context
from cluster.tls.current_context import CurrentContext
from cluster.tls.peer_identity import node_identity
from cluster.tls.peer_tls import PeerTls, TlsUse
from cluster.tls.tls_files import TlsFiles
from cluster.tls.tls_listener import OpeningFailure
from storage.rpc.client import RemoteNode
from storage.rpc.messages import ProduceRequest
from storage.rpc.peer_api import ProbeAnswer, ProbeRequest
from storage.rpc.peer_client import RemotePeer
from storage.rpc.rpc_settings import RpcClientSettings, RpcServerSettings
from storage.rpc.server import NodeServer
from storage.rpc.tcp_transport import TcpTransport
from storage.rpc.tls_transport import TlsTransport
from storage.rpc.transport import NodeTransport
from tests.integration.tls.echo import client_context
from tests.support.authority import OwnAuthority
from tests.support.fake_node import ANSWERS, REQUESTS, FakeNode
from tests.support.fake_peer import FakePeer
from tests.support.own_authority import DAY_MS, NOW_MS
from tests.support.recording_proxy import RecordingProxy

pytestmark = [pytest.mark.integration, pytest.mark.asyncio]

OPENING_MAX = 16


def believed_by_itself(use: TlsUse, files: TlsFiles) -> PeerTls:
    """As of a process that does not look at its own certificate, and of one that nobody has to be."""
    return PeerTls(use, CurrentContext(files, peer_server_context), CurrentContext(files, peer_client_context))


class Node:
    """Node 1. `refused` holds what came to nothing."""

    def __init__(self, transport: NodeTransport) -> None:
        self.node, self.peer = FakeNode(), FakePeer()
        self.peer.behave("probe", lambda _request: ProbeAnswer(1, 9))
        self.server = NodeServer(self.node, transport, settings=RpcServerSettings(), peer=self.peer)

    @property
    def was_reached(self) -> bool:
        return bool(self.node.seen) or bool(self.peer.calls("probe"))


class Cluster:
    def __init__(self, authority: OwnAuthority) -> None:
        self.authority = authority
        self.refused: list[OpeningFailure] = []
        self.now_ms = NOW_MS

    def transport(self, use: TlsUse, files: TlsFiles) -> NodeTransport:
        if use is TlsUse.OFF:
            return TcpTransport()
        return TlsTransport(
            believed_by_itself(use, files),
            now_ms=lambda: self.now_ms,
            opening_max=OPENING_MAX,
            on_refused=lambda refusal, _why: self.refused.append(refusal),
        )

    @asynccontextmanager
    async def node(self, use: TlsUse, stem: str = "node-1") -> AsyncIterator[Node]:
        node = Node(self.transport(use, self.authority.issue(stem)))
        await node.server.start("127.0.0.1:0")
        try:
            yield node
        finally:
            await node.server.close()


async def ask(transport: NodeTransport, address: str) -> object:
    """As a gateway does. Raises ServerError."""
    client = RemoteNode(
        transport,
        address,
        clock=SteadyClock(),
        entropy=SystemEntropy(),
        settings=RpcClientSettings(),
        expects=node_identity(1),
    )
    try:
        return await client.positions(REQUESTS["positions"])
    finally:
        await client.close()


async def probe(transport: NodeTransport, address: str, node_id: int) -> object:
    """As another node does. Raises ServerError."""
    client = RemotePeer(
        transport,
        address,
        clock=SteadyClock(),
        entropy=SystemEntropy(),
        settings=RpcClientSettings(is_node=True),
        expects=node_identity(1),
    )
    try:
        return await client.probe(ProbeRequest(node_id))
    finally:
        await client.close()


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    return Cluster(OwnAuthority(tmp_path_factory.mktemp("pki")))


WAY = [TlsUse.OFF, TlsUse.ACCEPT, TlsUse.PREFER, TlsUse.REQUIRE]


@pytest.mark.parametrize("answering", WAY)
@pytest.mark.parametrize("dialling", WAY)
async def test_neighbours_on_the_way_from_clear_to_tls_understand_each_other(
    cluster: Cluster, dialling: TlsUse, answering: TlsUse
) -> None:
    """While a cluster goes one step further some have taken it already: never are two steps between any two."""
    gateway = cluster.transport(dialling, cluster.authority.issue("gateway"))
    async with cluster.node(answering) as node:
        if abs(WAY.index(dialling) - WAY.index(answering)) <= 1:
            assert await ask(gateway, node.server.address) == ANSWERS["positions"]
        elif (dialling.is_dialled and answering is TlsUse.OFF) or (
            not dialling.is_dialled and answering is TlsUse.REQUIRE
        ):
            with pytest.raises(ServerError) as caught:
                await ask(gateway, node.server.address)
            assert caught.value.code is ProblemCode.UNAVAILABLE
            assert not node.was_reached


async def test_a_gateway_is_no_node_and_a_node_is_no_other_one(cluster: Cluster) -> None:
    async with cluster.node(TlsUse.REQUIRE) as node:
        gateway = cluster.transport(TlsUse.REQUIRE, cluster.authority.issue("gateway"))
        second = cluster.transport(TlsUse.REQUIRE, cluster.authority.issue("node-2"))
        assert await probe(second, node.server.address, 2) == ProbeAnswer(1, 9)
        for transport, code in ((gateway, ProblemCode.UNAVAILABLE), (second, ProblemCode.FORBIDDEN)):
            with pytest.raises(ServerError) as caught:
                await probe(transport, node.server.address, 3)
            assert caught.value.code is code
        assert node.peer.calls("probe") == [ProbeRequest(2)]


@pytest.mark.parametrize("stem", ["server", "client-reports", "etcd-1"])
async def test_who_is_no_part_of_a_cluster_gets_nothing(cluster: Cluster, stem: str) -> None:
    """Signed by the same authority all the same."""
    async with cluster.node(TlsUse.REQUIRE) as node:
        with pytest.raises(ServerError):
            await ask(cluster.transport(TlsUse.REQUIRE, cluster.authority.issue(stem)), node.server.address)
        assert not node.was_reached


async def test_who_shows_no_certificate_gets_no_handshake(cluster: Cluster) -> None:
    """It is not the hello that keeps strangers out: nothing that they say is read."""
    async with cluster.node(TlsUse.REQUIRE) as node:
        host, _, port = node.server.address.rpartition(":")
        context = client_context(cluster.authority)
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2  # where a client hears of it at once
        with pytest.raises((ssl.SSLError, ConnectionResetError)):
            await asyncio.open_connection(host, int(port), ssl=context, server_hostname="localhost")
        assert cluster.refused == [OpeningFailure.HANDSHAKE]
        assert node.server.connections == 0


@pytest.mark.parametrize("what", ["of another authority", "ended", "not yet"])
async def test_a_bad_certificate_gets_nowhere_on_either_side(
    cluster: Cluster, what: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = OwnAuthority(tmp_path_factory.mktemp("other"))
    authority = other if what == "of another authority" else cluster.authority
    age_days = {"ended": 91, "not yet": -1}.get(what, 0)
    bad = TlsFiles(*_paths(authority.issue("gateway", age_days=age_days)), str(cluster.authority.ca_file))
    async with cluster.node(TlsUse.REQUIRE) as node:
        with pytest.raises(ServerError) as caught:
            await ask(cluster.transport(TlsUse.REQUIRE, bad), node.server.address)
        assert caught.value.code is ProblemCode.UNAVAILABLE
        assert not node.was_reached
    bad_node = Node(
        cluster.transport(
            TlsUse.REQUIRE,
            TlsFiles(*_paths(authority.issue("node-1", age_days=age_days)), str(cluster.authority.ca_file)),
        )
    )
    await bad_node.server.start("127.0.0.1:0")
    with pytest.raises(ServerError) as caught:
        await ask(cluster.transport(TlsUse.REQUIRE, cluster.authority.issue("gateway")), bad_node.server.address)
    assert "certificate" in caught.value.detail
    assert not bad_node.was_reached
    await bad_node.server.close()


def _paths(files: TlsFiles) -> tuple[str, str]:
    return files.certificate, files.key


async def test_an_address_where_another_node_answers_is_not_taken_for_the_node(cluster: Cluster) -> None:
    async with cluster.node(TlsUse.REQUIRE, "node-2") as node:
        with pytest.raises(ServerError, match=r"node 1 was to answer at .*, and node 2 did"):
            await ask(cluster.transport(TlsUse.REQUIRE, cluster.authority.issue("gateway")), node.server.address)
        assert not node.was_reached


@pytest.mark.parametrize("use", [TlsUse.OFF, TlsUse.REQUIRE])
async def test_whoever_listens_on_the_link_reads_nothing(cluster: Cluster, use: TlsUse) -> None:
    secret = b"the salary of the chairman"
    gateway = cluster.transport(use, cluster.authority.issue("gateway"))
    async with cluster.node(use) as node, RecordingProxy(int(node.server.address.rpartition(":")[2])) as link:
        client = RemoteNode(
            gateway,
            link.endpoint,
            clock=SteadyClock(),
            entropy=SystemEntropy(),
            settings=RpcClientSettings(),
            expects=node_identity(1),
        )
        await client.produce(ProduceRequest("topic", 0, bytearray(secret)))
        await client.close()
        assert node.node.seen
        assert (secret in link.seen) is (use is TlsUse.OFF)


async def test_large_calls_go_through_both_ways(cluster: Cluster) -> None:
    """With pauses on both sides: more than any buffer holds."""
    batch = bytearray(range(256)) * 4096 * 8
    async with cluster.node(TlsUse.REQUIRE) as node:
        client = RemoteNode(
            cluster.transport(TlsUse.REQUIRE, cluster.authority.issue("gateway")),
            node.server.address,
            clock=SteadyClock(),
            entropy=SystemEntropy(),
            settings=RpcClientSettings(),
            expects=node_identity(1),
        )
        answers = await asyncio.gather(
            *(client.produce(ProduceRequest("topic", 0, batch)) for _ in range(8)),
            *(client.records(REQUESTS["records"]) for _ in range(50)),
        )
        assert answers == [ANSWERS["produce"]] * 8 + [ANSWERS["records"]] * 50
        assert [request.batch for name, request in node.node.seen if name == "produce"] == [batch] * 8
        await client.close()


async def test_a_certificate_that_has_ended_meanwhile_gets_no_connection_any_more(cluster: Cluster) -> None:
    async with cluster.node(TlsUse.REQUIRE) as node:
        gateway = cluster.transport(TlsUse.REQUIRE, cluster.authority.issue("gateway", days=10))
        assert await ask(gateway, node.server.address) == ANSWERS["positions"]
        cluster.now_ms = NOW_MS + 10 * DAY_MS
        with pytest.raises(ServerError) as caught:
            await ask(gateway, node.server.address)
        assert caught.value.code is ProblemCode.UNAVAILABLE
        assert cluster.refused == [OpeningFailure.HANDSHAKE]
        assert len(node.node.seen) == 1
