"""The node in the same process and behind frames; over real sockets see tests/integration."""

import random
from collections.abc import AsyncIterator
from typing import cast

import pytest

from cluster.metadata.metadata_view import MetadataView
from cluster.ports.runtime import SteadyClock
from storage.rpc.client import RemoteNode
from storage.rpc.in_process import InProcessNode
from storage.rpc.node_api import NodeApi
from storage.rpc.rpc_settings import RpcClientSettings, RpcServerSettings
from storage.rpc.server import NodeServer
from storage.rpc.traced_caller import TracedCaller
from storage.rpc.traced_node import TracedNode
from tests.contract.node_api_contract import Connect, NodeApiContract
from tests.sim.environment import SimEntropy
from tests.support.fake_node import FakeNode
from tests.support.memory_gateway import MemoryMetadata
from tests.support.memory_transport import MemoryTransport
from tests.support.recorded_spans import RecordedSpans


class TestInProcess(NodeApiContract):
    @pytest.fixture
    def connect(self) -> Connect:
        async def connect(node: FakeNode) -> NodeApi:
            return InProcessNode(node)

        return connect


class TestTraced(NodeApiContract):
    """Both ends, for a caller who traces nothing."""

    @pytest.fixture
    def connect(self) -> Connect:
        async def connect(node: FakeNode) -> NodeApi:
            tracer = RecordedSpans().tracer
            metadata = cast(MetadataView, MemoryMetadata())
            return TracedCaller(TracedNode(InProcessNode(node), tracer, metadata), tracer)

        return connect


class TestFramed(NodeApiContract):
    @pytest.fixture(params=[None, 1], ids=["whole writes", "cut anywhere"])
    async def connect(self, request: pytest.FixtureRequest) -> AsyncIterator[Connect]:
        cuts = None if request.param is None else random.Random(request.param)
        transport = MemoryTransport(cuts=cuts)
        opened: list[RemoteNode | NodeServer] = []

        async def connect(node: FakeNode) -> NodeApi:
            server = NodeServer(node, transport, settings=RpcServerSettings())
            await server.start("node")
            client = RemoteNode(
                transport, "node", clock=SteadyClock(), entropy=SimEntropy(1), settings=RpcClientSettings()
            )
            opened.extend((client, server))
            return client

        yield connect
        for each in opened:
            await each.close()
