"""A link that a test can cut: forwards TCP connections from a free port to another."""

import asyncio
import contextlib


class TcpProxy:
    """Use it as an async context manager. While it is cut, connections end at once and nothing gets through."""

    def __init__(self, port: int) -> None:
        self.port = 0
        self._target_port = port
        self._is_cut = False
        self._server: asyncio.Server | None = None
        self._links: dict[asyncio.Task[None], list[asyncio.StreamWriter]] = {}

    @property
    def endpoint(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def __aenter__(self) -> "TcpProxy":
        self._server = await asyncio.start_server(self._link, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        await asyncio.gather(*self._links, return_exceptions=True)

    def cut(self) -> None:
        self._is_cut = True
        for writers in self._links.values():
            for writer in writers:
                writer.transport.abort()

    def lead_to(self, port: int) -> None:
        """From the next connection on: what was started again has another port."""
        self._target_port = port

    def mend(self) -> None:
        self._is_cut = False

    async def _link(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if self._is_cut:
            writer.transport.abort()
            return
        self._links[task] = [writer]
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target_port)
            self._links[task].append(far_writer)
            await asyncio.gather(self._pump(reader, far_writer), self._pump(far_reader, writer))
        except OSError:
            pass
        finally:
            for each in self._links.pop(task):
                each.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                self.passes(data)
                writer.write(data)
                await writer.drain()
        writer.transport.abort()

    def passes(self, data: bytes) -> None:
        """In one direction or the other."""
