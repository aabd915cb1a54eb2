"""The node behind real sockets on the loopback interface."""

from collections.abc import AsyncIterator

import pytest

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.ports.runtime import SteadyClock, SystemEntropy
from storage.rpc import messages
from storage.rpc.client import RemoteNode
from storage.rpc.node_api import NodeApi
from storage.rpc.rpc_settings import RpcClientSettings, RpcServerSettings
from storage.rpc.server import NodeServer
from storage.rpc.tcp_transport import TcpTransport, parse_address
from tests.contract.node_api_contract import Connect, NodeApiContract
from tests.support.fake_node import ANSWERS, REQUESTS, FakeNode

pytestmark = pytest.mark.integration


def _client(address: str) -> RemoteNode:
    return RemoteNode(
        TcpTransport(), address, clock=SteadyClock(), entropy=SystemEntropy(), settings=RpcClientSettings()
    )


class TestOverTcp(NodeApiContract):
    @pytest.fixture
    async def connect(self) -> AsyncIterator[Connect]:
        opened: list[RemoteNode | NodeServer] = []

        async def connect(node: FakeNode) -> NodeApi:
            server = NodeServer(node, TcpTransport(), settings=RpcServerSettings())
            await server.start("127.0.0.1:0")
            client = _client(server.address)
            opened.extend((client, server))
            return client

        yield connect
        for each in opened:
            await each.close()


async def test_a_large_answer_survives_the_writers_back_pressure() -> None:
    node = FakeNode()
    large = messages.RecordsResponse(bytes(range(256)) * 64 * 1024, 0, 1, 0, 1)  # 16 MiB, four write buffers
    node.behave("records", lambda request: large)
    server = NodeServer(node, TcpTransport(), settings=RpcServerSettings())
    await server.start("127.0.0.1:0")
    client = _client(server.address)
    try:
        assert (await client.records(REQUESTS["records"])).batches == large.batches
    finally:
        await client.close()
        await server.close()


async def test_a_restarted_server_is_found_again() -> None:
    node = FakeNode()
    server = NodeServer(node, TcpTransport(), settings=RpcServerSettings())
    await server.start("127.0.0.1:0")
    address = server.address
    client = _client(address)
    assert await client.seek(REQUESTS["seek"]) == ANSWERS["seek"]
    await server.close()
    with pytest.raises(ServerError) as caught:
        await client.positions(REQUESTS["positions"])
    assert caught.value.code is ProblemCode.UNAVAILABLE
    server = NodeServer(node, TcpTransport(), settings=RpcServerSettings())
    await server.start(address)
    try:
        assert await _answer_in_the_end(client) == ANSWERS["seek"]
    finally:
        await client.close()
        await server.close()


async def _answer_in_the_end(client: RemoteNode) -> messages.SeekResponse | None:
    for _ in range(100):
        try:
            return await client.seek(REQUESTS["seek"])
        except ServerError as error:
            if error.code is not ProblemCode.UNAVAILABLE:
                raise
            await SteadyClock().sleep(error.retry_after_ms or 1)
    return None


@pytest.mark.parametrize("address", ["", "host", "host:", "host:x", "host:65536", "host:-1"])
def test_what_is_not_an_address_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="host:port"):
        parse_address(address)


def test_addresses() -> None:
    assert parse_address("node-1:9000") == ("node-1", 9000)
    assert parse_address("[::1]:0") == ("::1", 0)
