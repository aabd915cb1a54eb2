"""Whoever dials a node's port without introducing itself keeps no gateway out and takes no memory."""

import asyncio
import resource
import statistics
import sys
import time

import pytest

from cluster.ports.runtime import SteadyClock, SystemEntropy
from storage.rpc.client import RemoteNode
from storage.rpc.rpc_settings import RpcClientSettings, RpcServerSettings
from storage.rpc.server import NodeServer
from storage.rpc.tcp_transport import TcpTransport
from tests.support.fake_node import ANSWERS, REQUESTS, FakeNode
from tests.support.server_process import REPOSITORY

pytestmark = pytest.mark.integration

ATTACK_SECONDS = 2.0
CALL_SECONDS_MEDIAN_MAX = 1.0
CALL_SECONDS_MAX = 5.0
"""One call may lose its SYN to a full accept queue while the machine gives the server no processor for a moment, and
TCP sends it again after a second or three. Who is kept out does not get through at all."""
GROWTH_KIB_MAX = 100 * 1024


async def test_a_gateway_gets_through() -> None:
    settings = RpcServerSettings(gateway_connections_max=2)
    server = NodeServer(FakeNode(), TcpTransport(), settings=settings)
    await server.start("127.0.0.1:0")
    memory_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    module = "tests.integration.hostile.node_port_strangers"
    attacker = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.integration.hostile.attacker",
        module,
        *server.address.rsplit(":", 1),
        cwd=REPOSITORY,
        stdin=asyncio.subprocess.PIPE,
    )
    assert attacker.stdin is not None
    try:
        while server.connections < settings.strangers_max // 2:
            await SteadyClock().sleep(1)
        end = time.monotonic() + ATTACK_SECONDS
        seconds: list[float] = []
        while time.monotonic() < end:
            began = time.monotonic()
            await _call(server.address)
            seconds.append(time.monotonic() - began)
        assert statistics.median(seconds) <= CALL_SECONDS_MEDIAN_MAX
        assert server.connections <= settings.connections_max + 1  # one may be about to make room
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory_kib < GROWTH_KIB_MAX
    finally:
        attacker.stdin.close()
        code = await attacker.wait()
        await server.close()
    assert code == 0


async def _call(address: str) -> None:
    """From a gateway that comes anew."""
    client = RemoteNode(
        TcpTransport(), address, clock=SteadyClock(), entropy=SystemEntropy(), settings=RpcClientSettings()
    )
    try:
        async with asyncio.timeout(CALL_SECONDS_MAX):
            assert await client.seek(REQUESTS["seek"]) == ANSWERS["seek"]
    finally:
        await client.close()
