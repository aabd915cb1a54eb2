"""A coordination store that another process serves, over a real Unix socket: as the gateways of a server have it."""

from pathlib import Path

from cluster.ports.coordination import CoordinationStore
from cluster.ports.runtime import SteadyClock, SystemEntropy
from storage.rpc.rpc_channel import RpcChannel
from storage.rpc.rpc_settings import RpcClientSettings, RpcServerSettings
from storage.rpc.server import NodeServer
from storage.rpc.socket_directory import SocketDirectory
from storage.rpc.unix_transport import UnixTransport
from storage.shared_store.remote_store import RemoteStore
from storage.shared_store.served_store import ServedStore, ServedStoreSettings
from tests.support.fake_node import FakeNode

ADDRESS = "storage.sock"


class ServedElsewhere:
    """`stores` are what gateways have; each has a connection of its own."""

    def __init__(self, own: CoordinationStore, server: NodeServer, directory: SocketDirectory) -> None:
        self.own = own
        self.server = server
        self._directory = directory
        self._stores: list[RemoteStore] = []

    @classmethod
    async def serve(
        cls, own: CoordinationStore, directory: Path, settings: ServedStoreSettings | None = None
    ) -> "ServedElsewhere":
        sockets = SocketDirectory.make(str(directory))
        server = NodeServer(
            FakeNode(),
            UnixTransport(sockets),
            settings=RpcServerSettings(),
            coordination=ServedStore(own, settings),
        )
        await server.start(ADDRESS)
        return cls(own, server, sockets)

    def store(self) -> RemoteStore:
        channel = RpcChannel(
            UnixTransport(self._directory),
            ADDRESS,
            clock=SteadyClock(),
            entropy=SystemEntropy(),
            settings=RpcClientSettings(),
        )
        self._stores.append(RemoteStore(channel))
        return self._stores[-1]

    async def close(self) -> None:
        for store in self._stores:
            await store.close()
        await self.server.close()
        await self.own.close()
        self._directory.close()
