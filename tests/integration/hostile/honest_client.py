"""A client that behaves, and notes how long it is kept waiting."""

import asyncio
import json
import time
from dataclasses import dataclass, field
from typing import Any, Self

ANSWER_SECONDS_MAX = 30.0
PAUSE_SECONDS = 0.01  # between two rounds: the client's own work must not be what is measured
ROUNDS_PER_TOPIC = 50


class RefusedError(Exception):
    """The honest client got no success."""


@dataclass
class Experience:
    """What the client met: seconds per request, and what went wrong, in words."""

    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def p99_seconds(self) -> float:
        """A failed request counts as one that took for ever."""
        waits = sorted(self.seconds + [ANSWER_SECONDS_MAX] * len(self.failures))
        assert waits, "the client made no request"
        return waits[min(len(waits) - 1, int(len(waits) * 0.99))]


class HonestClient:
    """Sends, receives and acknowledges one message after the other on one connection, and makes a new one when that
    ends. Now and then it goes on in a new topic, for which the server has to make files. Use it as an async context
    manager."""

    def __init__(self, host: str, port: int, *, token: str = "", queue: str = "honest") -> None:
        """`queue` is what the topics' names begin with."""
        self._host = host
        self._port = port
        self._queue = queue
        self._rounds = 0
        self._head = f"Host: {host}:{port}\r\n" + (f"Authorization: Bearer {token}\r\n" if token else "")
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        self.hang_up()

    def hang_up(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def work(self, seconds: float) -> Experience:
        """Round after round for so long."""
        experience = Experience()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await self.round(experience)
            await asyncio.sleep(PAUSE_SECONDS)
        return experience

    async def round(self, experience: Experience) -> None:
        """One message there and back. What fails is noted, and the rest of the round left out."""
        queue = f"{self._queue}-{self._rounds // ROUNDS_PER_TOPIC}"
        self._rounds += 1
        try:
            await self._timed(experience, "POST", "/messages", {"queue": queue, "body": "honest"})
            answer = await self._timed(experience, "GET", f"/messages?queue={queue}&group=honest&max=10", None)
            receipts = [message["receipt"] for message in answer["messages"]]
            if receipts:
                await self._timed(experience, "POST", "/ack", {"receipts": receipts})
        except (OSError, EOFError, ValueError, TimeoutError, RefusedError) as error:
            experience.failures.append(repr(error))
            self.hang_up()

    async def _timed(self, experience: Experience, method: str, target: str, document: object) -> Any:
        begin = time.monotonic()
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            answer = await self._exchange(method, target, document)
        experience.seconds.append(time.monotonic() - begin)
        return answer

    async def _exchange(self, method: str, target: str, document: object) -> Any:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        body = b"" if document is None else json.dumps(document).encode()
        head = f"{method} {target} HTTP/1.1\r\n{self._head}Content-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        answer_head = await reader.readuntil(b"\r\n\r\n")
        status_line, *header_lines = answer_head.decode().split("\r\n")
        lengths = [line.split(":")[1] for line in header_lines if line.lower().startswith("content-length:")]
        content = await reader.readexactly(int(lengths[0]))
        if int(status_line.split()[1]) >= 300:
            raise RefusedError(f"{method} {target}: {status_line} {content[:200]!r}")
        return json.loads(content)
