"""A call of a short way in uvicorn's bookkeeping of its connection, where a `RequestResponseCycle` stands otherwise."""

import asyncio
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app.http.answers.receive import CHUNK_BYTES
from app.http.protocol.default_head import DefaultHead
from app.http.protocol.request_head import Headers

_STATUS_LINES = {each.value: f"HTTP/1.1 {each.value} {each.phrase}".encode() for each in HTTPStatus}
_default_head = DefaultHead()


class ShortCycle:
    """`app.http.protocol.short_way.Answer`. It is its own `message_event`, which uvicorn sets when the client is gone:
    no application waits for the request's bytes."""

    __slots__ = ("_listener", "_protocol", "disconnected", "keep_alive", "more_body", "response_complete")

    def __init__(self, protocol: HttpToolsProtocol, *, keep_alive: bool) -> None:
        self._protocol = protocol
        self._listener: Callable[[], None] | None = None
        self.keep_alive = keep_alive
        self.disconnected = False
        self.more_body = False
        self.response_complete = False

    @property
    def message_event(self) -> "ShortCycle":
        return self

    def set(self) -> None:
        if self.disconnected and self._listener is not None:
            self._listener()

    @property
    def is_gone(self) -> bool:
        return self.disconnected or self._protocol.transport.is_closing()

    def on_gone(self, listener: Callable[[], None] | None) -> None:
        self._listener = listener
        if listener is not None:
            # uvicorn reads no further while requests wait behind this one, and nobody would see the client go.
            self._protocol.flow.resume_reading()

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """As uvicorn runs an application."""
        protocol = self._protocol
        task = protocol.loop.create_task(work)
        protocol.tasks.add(task)
        task.add_done_callback(protocol.tasks.discard)

    def write(self, status: int, headers: Headers, body: bytes) -> None:
        self.response_complete = True
        if not self.is_gone:
            self._protocol.transport.write(self._head_of(status, headers) + body)
            self._end()

    async def write_in_pieces(self, status: int, headers: Headers, body: bytes, *, timeout_ms: int) -> bool:
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                is_taken = await self._write_pieces(status, headers, body)
        except TimeoutError:
            is_taken = False
        if not is_taken:
            self.drop()
        return is_taken

    async def _write_pieces(self, status: int, headers: Headers, body: bytes) -> bool:
        protocol = self._protocol
        protocol.transport.write(self._head_of(status, headers))
        for start in range(0, len(body), CHUNK_BYTES):
            if protocol.flow.write_paused:
                await protocol.flow.drain()
            if self.is_gone:
                return False
            protocol.transport.write(body[start : start + CHUNK_BYTES])
        self.response_complete = True
        self._end()
        return True

    def drop(self) -> None:
        self.response_complete = True
        if not self.disconnected:
            self._protocol.transport.close()

    def _head_of(self, status: int, headers: Headers) -> bytes:
        lines = [_STATUS_LINES[status] + _default_head.lines_of(self._protocol.server_state)]
        lines += [b"%b: %b" % header for header in headers]
        if not self.keep_alive:
            lines.append(b"connection: close")
        return b"\r\n".join(lines) + b"\r\n\r\n"

    def _end(self) -> None:
        if not self.keep_alive:
            self._protocol.transport.close()
        self._protocol.on_response_complete()
