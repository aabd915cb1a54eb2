"""What a group's filter is worth where one message of ten thousand matches, and what a killed server looks at again.

    python -m loadtests.filters [--messages 500000] [--rounds 3]
    python -m loadtests.filters --seconds 20

A server with an empty directory, a topic with one partition, one consumer. Two groups read the same log by turns: one
has a filter, and is done when it has passed all of it; the other has none, so its consumer receives a thousand at a
time, looks at the tags itself, and acknowledges all of them. Rates are messages of the log per second.

With `--seconds` messages that do not match are sent all that time, while the consumer of a group with a filter waits;
then the server is killed and started again. What the group has to look at again is told in messages, and in seconds of
the log at the rate that it was written with.
"""

import asyncio
import json
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

import acklog
from loadtests.bench_server import acklog_server
from loadtests.plan import Cpus

TOPIC = "orders"
BATCH = 1_000
ONE_OF = 10_000
BODY = "x" * 98
FILTER = 'tag = "refund"'
CLIENT_SIDE_MESSAGES = 60_000
"""So many of the same log are enough to know the rate of who looks at every message."""
PAUSE_S = 0.01


async def fill(client: acklog.AsyncClient, messages: int) -> None:
    """One of so many is a refund."""
    await client.topics.create(TOPIC, partitions=1)
    for first in range(0, messages, BATCH):
        batch = [acklog.OutgoingMessage(BODY, tags=["order"])] * BATCH
        if first % ONE_OF == 0:
            batch[BATCH // 2] = acklog.OutgoingMessage(BODY, tags=["refund"])
        await client.send_many(TOPIC, batch)


async def by_the_server(client: acklog.AsyncClient, group: str, messages: int) -> float:
    """Messages of the log per second."""
    await client.groups.create(group, filter=f'tag in ("refund", "{group}")')  # groups with one filter share their work
    expected = -(-messages // ONE_OF)
    began = time.perf_counter()
    while expected:
        received = await client.receive(TOPIC, group=group, max_messages=BATCH, wait_s=1)
        expected -= len(received)
        if received:
            await client.ack([message.receipt for message in received])
    while await _progress(client, group) < messages:
        await client.receive(TOPIC, group=group, wait_s=0)
    return messages / (time.perf_counter() - began)


async def by_the_client(client: acklog.AsyncClient, group: str) -> float:
    """Messages of the log per second."""
    await client.groups.create(group)
    left = CLIENT_SIDE_MESSAGES
    began = time.perf_counter()
    while left > 0:
        received = await client.receive(TOPIC, group=group, max_messages=BATCH, wait_s=1)
        wanted = [message for message in received if "refund" in message.tags]
        assert len(wanted) <= len(received)
        await client.ack([message.receipt for message in received])
        left -= len(received)
    return CLIENT_SIDE_MESSAGES / (time.perf_counter() - began)


async def _progress(client: acklog.AsyncClient, group: str) -> int:
    offsets = (await client.groups.offsets(group, TOPIC)).offsets
    return max((each.progress or 0 for each in offsets), default=0)


async def rates(messages: int, rounds: int) -> dict[str, Any]:
    """Medians of the rounds."""
    found: dict[str, list[float]] = {"by the server": [], "by the client": []}
    with tempfile.TemporaryDirectory(prefix="acklog-filters-") as directory:
        async with acklog_server(Path(directory), Cpus(None, None)) as server, acklog.AsyncClient(server.url) as client:
            await fill(client, messages)
            for turn in range(rounds):
                found["by the server"].append(await by_the_server(client, f"server-{turn}", messages))
                found["by the client"].append(await by_the_client(client, f"client-{turn}"))
    medians = {f"{name}, messages/s": round(median(values)) for name, values in found.items()}
    return {**medians, "times as fast": round(median(found["by the server"]) / median(found["by the client"]), 1)}


async def after_a_kill(seconds: float) -> dict[str, Any]:
    """What is looked at again."""
    with tempfile.TemporaryDirectory(prefix="acklog-filters-") as directory:
        async with acklog_server(Path(directory), Cpus(None, None)) as server, acklog.AsyncClient(server.url) as client:
            await client.topics.create(TOPIC, partitions=1)
            await client.groups.create("refunds", filter=FILTER)
            receiving = asyncio.create_task(client.receive(TOPIC, group="refunds", wait_s=20))
            began, sent = time.perf_counter(), 0
            while (elapsed_s := time.perf_counter() - began) < seconds:
                await client.send_many(TOPIC, [acklog.OutgoingMessage(BODY, tags=["order"])] * BATCH)
                sent += BATCH
                if receiving.done():
                    receiving = asyncio.create_task(client.receive(TOPIC, group="refunds", wait_s=20))
                await asyncio.sleep(PAUSE_S)
            await server.kill()
            receiving.cancel()
            await asyncio.gather(receiving, return_exceptions=True)
            await server.start()
            again = sent - await _progress(client, "refunds")
    rate = sent / elapsed_s
    return {"sent": sent, "messages/s": round(rate), "looked at again": again, "seconds of log": round(again / rate, 2)}


def main(
    messages: Annotated[int, typer.Option(min=ONE_OF, help="In the log.")] = 500_000,
    rounds: Annotated[int, typer.Option(min=1, max=20)] = 3,
    seconds: Annotated[float, typer.Option(min=0, max=600, help="Kill the server after so long.")] = 0,
) -> None:
    """Prints JSON."""
    typer.echo(json.dumps(asyncio.run(after_a_kill(seconds) if seconds else rates(messages, rounds)), indent=2))


if __name__ == "__main__":
    typer.run(main)
