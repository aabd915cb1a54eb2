"""Names a new topic and a new group in every request."""

import asyncio
import itertools
import json

CONNECTIONS = 4


async def attack(host: str, port: int) -> None:
    numbers = itertools.count()
    async with asyncio.TaskGroup() as group:
        for _ in range(CONNECTIONS):
            group.create_task(_repeat(host, port, numbers))


async def _repeat(host: str, port: int, numbers: "itertools.count[int]") -> None:
    reader, writer = await asyncio.open_connection(host, port)
    while True:
        name = f"hostile-{next(numbers)}"
        body = json.dumps({"queue": name, "body": 1}).encode()
        writer.write(b"POST /messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        await _answer(reader)
        writer.write(b"GET /messages?queue=%b&group=%b HTTP/1.1\r\nHost: localhost\r\n\r\n" % (2 * (name.encode(),)))
        await _answer(reader)


async def _answer(reader: asyncio.StreamReader) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    await reader.readexactly(int(head.split(b"content-length:")[1].split(b"\r\n")[0]))
