"""A server in memory that many inputs go through: to make an application takes longer than a hundred of them."""

import asyncio

from app.configuration.server_settings import Settings
from app.http.application import create_server_app
from tests.support.http_protocol_client import MemoryServer
from tests.support.manual_clock import settle
from tests.support.memory_gateway import MemoryWorld

INPUTS_MAX = 200
"""Then another one is made: what inputs have created is not to pile up."""
SETTINGS = Settings(header_bytes_max=4096, url_bytes_max=1024, auto_create_topics=True, auto_create_groups=True)


class FuzzedServer:
    """Everything on one event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._world = MemoryWorld(SETTINGS)
        self._server = MemoryServer(create_server_app(self._world.gateway), SETTINGS)
        self.inputs = 0

    def close(self) -> None:
        self._loop.close()

    def answer(self, pieces: list[bytes]) -> bytes:
        """What is written to a client that sends these, one by one, and hangs up when nothing more happens."""
        self.inputs += 1
        return self._loop.run_until_complete(self._answer(pieces))

    @property
    def kept(self) -> tuple[int, int, int]:
        """Connections, requests under way and tasks that are there while nobody is."""
        return len(self._server.state.connections), len(self._server.state.tasks), len(asyncio.all_tasks(self._loop))

    async def _answer(self, pieces: list[bytes]) -> bytes:
        protocol, transport = self._server.connect()
        for piece in pieces:
            if transport.is_closing():
                break
            protocol.data_received(piece)
            await asyncio.sleep(0)
        await settle()
        protocol.eof_received()
        transport.close()
        protocol.connection_lost(None)
        await settle()
        self._forget()
        return transport.written

    def _forget(self) -> None:
        self._world.metadata.topics_by_name.clear()
        self._world.metadata.groups_by_name.clear()
        self._world.node.seen.clear()
