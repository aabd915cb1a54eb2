"""A keep-alive HTTP/1.1 connection that costs its process next to nothing: requests go out as ready-made bytes, of
the answer only the status and the length are looked at. One request at a time; answers must have a Content-Length."""

import asyncio
import ssl
from collections.abc import Callable
from typing import NamedTuple, cast

HEAD_BYTES_MAX = 64 * 1024
_END_OF_HEAD = b"\r\n\r\n"
_LENGTH = b"\r\ncontent-length:"


class Answer(NamedTuple):
    """`status` is 0 where the connection was lost first. `head` is everything before the body."""

    status: int
    body: bytes
    head: bytes = b""

    def header(self, name: str) -> str:
        """Raises KeyError."""
        for line in self.head.decode("latin-1").split("\r\n")[1:]:
            found, _, value = line.partition(":")
            if found.lower() == name.lower():
                return value.strip()
        raise KeyError(name)


LOST = Answer(0, b"")


class HttpConnection(asyncio.Protocol):
    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._on_answer: Callable[[Answer], None] | None = None
        self._parts: list[bytes] = []
        self._status = 0
        self._head = b""
        self._missing = -1  # bytes of the body that have not come; -1 within the head

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is not a subclass

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._deliver(LOST)

    def send(self, request: bytes, on_answer: Callable[[Answer], None]) -> None:
        """Call `on_answer` with the answer, or with LOST. Only when no other request is open."""
        assert self._on_answer is None
        self._on_answer = on_answer
        if self._transport is None:
            self._deliver(LOST)
        else:
            self._transport.write(request)

    async def request(self, request: bytes) -> Answer:
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.send(request, lambda answer: None if future.done() else future.set_result(answer))
        return await future

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._missing < 0:
            if self._parts:
                self._parts.append(data)
                data = b"".join(self._parts)
                self._parts = []
            end = data.find(_END_OF_HEAD)
            if end < 0:
                if len(data) > HEAD_BYTES_MAX:
                    self._fail()
                self._parts.append(data)
                return
            self._head = data[: end + 2]
            length = _content_length(self._head)
            if length < 0:
                self._fail()
                return
            self._status = int(data[9:12])
            data = data[end + 4 :]
            self._missing = length
        self._missing -= len(data)
        if self._missing > 0:
            self._parts.append(data)
            return
        if self._missing < 0:
            self._fail()
            return
        if self._parts:
            self._parts.append(data)
            data = b"".join(self._parts)
            self._parts = []
        self._missing = -1
        self._deliver(Answer(self._status, data, self._head))

    def _fail(self) -> None:
        """The answer is not one that this client understands: better no number than a wrong one."""
        if self._transport is not None:
            self._transport.abort()

    def _deliver(self, answer: Answer) -> None:
        on_answer, self._on_answer = self._on_answer, None
        if on_answer is not None:
            on_answer(answer)


async def connect(
    port: int, count: int, host: str = "127.0.0.1", *, tls: ssl.SSLContext | None = None
) -> list[HttpConnection]:
    """So many open connections."""
    loop = asyncio.get_running_loop()
    connections = []
    for _ in range(count):
        _, connection = await loop.create_connection(HttpConnection, host, port, ssl=tls)
        connections.append(connection)
    return connections


def make_request(
    method: str, target: str, body: bytes = b"", *, content_type: str = "application/json", accept: str = ""
) -> bytes:
    """A whole request as bytes."""
    lines = [f"{method} {target} HTTP/1.1", "host: localhost"]
    if body:
        lines += [f"content-type: {content_type}", f"content-length: {len(body)}"]
    if accept:
        lines.append(f"accept: {accept}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def _content_length(head: bytes) -> int:
    """-1 where there is none."""
    at = head.lower().find(_LENGTH)
    if at < 0:
        return -1
    start = at + len(_LENGTH)
    return int(head[start : head.index(b"\r\n", start)])
