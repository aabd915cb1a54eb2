"""One consumer of `loadtests.rebalance` in a process of its own, so that it can be killed, or stopped and go silent.

    python -m loadtests.rebalance_consumer URL TOPIC GROUP NAME

A line on standard output for each answer: the partitions that its messages are of.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import aiohttp

WAIT_S = 5


async def receive_and_ack(
    session: aiohttp.ClientSession, url: str, topic: str, group: str, name: str, *, note: Callable[[set[int]], None]
) -> None:
    """`note` is told of which partitions something came, before it is acknowledged."""
    query = {"queue": topic, "group": group, "mode": "exclusive", "max": "100", "waitSeconds": str(WAIT_S)}
    async with session.get(f"{url}/messages", params={**query, "consumer": name}) as answer:
        answer.raise_for_status()
        messages = (await answer.json())["messages"]
    note({message["partition"] for message in messages})
    if messages:
        receipts = {"receipts": [message["receipt"] for message in messages]}
        async with session.post(f"{url}/ack", json=receipts) as answer:
            answer.raise_for_status()


@asynccontextmanager
async def consumer_process(url: str, topic: str, group: str, name: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Killed at the end, whatever state it is in."""
    arguments = (url, topic, group, name)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "loadtests.rebalance_consumer", *arguments, stdout=asyncio.subprocess.PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _consume(url: str, topic: str, group: str, name: str) -> None:
    async with aiohttp.ClientSession() as session:
        while True:
            await receive_and_ack(
                session, url, topic, group, name, note=lambda partitions: print(*sorted(partitions), flush=True)
            )


if __name__ == "__main__":
    asyncio.run(_consume(*sys.argv[1:]))
