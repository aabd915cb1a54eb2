"""Compaction under writes, in numbers.

    python -m loadtests.compaction run [--messages 1000000] [--keys 10000] [--kills 10]

One process after the other, with one directory on a real disk, without HTTP: a node that compacts, and a writer. Each
but the last is killed at a random moment. In the end the latest value of each key must be the one that was
acknowledged last. Said are also what is on the disk, and how long plain sends take while nothing is compacted, and
meanwhile. The figures of the wish: 10,000,000 messages, 100,000 keys, 50 kills.
"""

import asyncio
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import structlog
import typer

from acklog.wire.batch import encode_batch
from acklog.wire.compacted_batch import decode_remaining
from acklog.wire.log_page import verified
from acklog.wire.record import Record
from app.http.protocol.server import calm_garbage_collection
from app.processes.embedded import EmbeddedServer
from app.processes.process_constants import SWITCH_INTERVAL_SECONDS
from cluster.catalog.topic_admin import TopicAdmin
from cluster.model.values import CleanupPolicy, Topic, TopicConfig
from cluster.ports.runtime import SteadyClock, SystemEntropy
from loadtests.schedule import percentile, start
from storage.rpc.messages import ProduceRequest, RecordsRequest

BATCH = 1_000
PARTITIONS = 2
SEGMENT_BYTES = 8 * 1024 * 1024
PAD = "x" * 60
KILL_SECONDS = (0.5, 6.0)
PLAIN_PAUSE_S = 0.005
MIB = 1024 * 1024

cli = typer.Typer(help=__doc__)


def key_of(number: int, keys: int) -> int:
    """Some keys are written much more often than others."""
    mixed = (number * 2_654_435_761) % (1 << 32)
    return (mixed >> 4) % (keys if mixed & 8 else max(keys // 10, 1))


async def make_topic(server: EmbeddedServer) -> Topic:
    topics = TopicAdmin(server.store, server.metadata, clock=SteadyClock(), entropy=SystemEntropy())
    config = TopicConfig(
        cleanup_policy=CleanupPolicy.COMPACT,
        segment_bytes=SEGMENT_BYTES,
        max_compaction_lag_ms=5_000,
        dedup_window_ms=0,
    )
    topic = await topics.get_or_create("table", partitions=PARTITIONS, config=config, replication_factor=1)
    while len(server.node.partitions_led()) < PARTITIONS:
        await asyncio.sleep(0.01)
    return topic


async def write(server: EmbeddedServer, topic: Topic, number: int, end: int, keys: int) -> None:
    """In order within each partition, whose keys are its own. Says how far all is acknowledged."""
    while number < end:
        last = min(number + BATCH * PARTITIONS, end)
        parts: list[list[Record]] = [[] for _ in range(PARTITIONS)]
        for each in range(number, last):
            key = key_of(each, keys)
            parts[key % PARTITIONS].append(Record(b'{"n":%d,"pad":"%s"}' % (each, PAD.encode()), f"key-{key}"))
        batches = [(at, encode_batch(records)) for at, records in enumerate(parts) if records]
        await asyncio.gather(
            *[server.node.produce(ProduceRequest(topic.id, at, batch, timeout_ms=600_000)) for at, batch in batches]
        )
        number = last
        print(number, flush=True)


async def table(server: EmbeddedServer, topic: Topic) -> tuple[dict[str, int], int]:
    """The latest number of each key, and how many messages are left."""
    found: dict[str, int] = {}
    left = 0
    for partition in range(PARTITIONS):
        offset = 0
        while True:
            page = await server.node.records(RecordsRequest(topic.id, partition, offset, max_bytes=4 * MIB))
            if page.next_offset == offset:
                break
            offset = page.next_offset
            for at, header in verified(page.batches):
                for record in decode_remaining(page.batches, header, at):
                    if record is not None and record.key is not None:
                        found[record.key] = int(record.body[5 : record.body.index(b",")])
                        left += 1
    return found, left


async def plain_sends(server: EmbeddedServer, topic: Topic, seconds: float, keys: int) -> list[float]:
    """What each took, in ms. Their values are those that the keys have by then, so that nothing changes."""
    latest, _ = await table(server, topic)
    some = sorted(latest)[: keys // 10] or sorted(latest)
    rng = random.Random(1)
    taken_ms = []
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        key = rng.choice(some)
        batch = encode_batch([Record(b'{"n":%d,"pad":"%s"}' % (latest[key], PAD.encode()), key)])
        begun_s = time.perf_counter()
        await server.node.produce(ProduceRequest(topic.id, int(key[4:]) % PARTITIONS, batch))
        taken_ms.append((time.perf_counter() - begun_s) * 1000)
        await asyncio.sleep(PLAIN_PAUSE_S)
    return taken_ms


def size_bytes(server: EmbeddedServer) -> int:
    return sum(partition.host.log.size_bytes for partition in server.node.partitions_led())


async def compact_all(server: EmbeddedServer) -> None:
    for replica in server.node.replicas():
        server.node.compactor.ask(replica)
    while any(server.node.compactor.is_asked(replica.id) for replica in server.node.replicas()):
        await asyncio.sleep(0.05)


async def live(directory: Path, number: int, end: int, keys: int) -> None:
    """One process's life; the last one judges."""
    clock = SteadyClock()
    server = await start(directory, clock)
    topic = await make_topic(server)
    await write(server, topic, number, end, keys)
    before_bytes = size_bytes(server)
    beside = asyncio.create_task(compact_all(server))
    meanwhile = await plain_sends(server, topic, 10, keys)
    await beside
    alone = await plain_sends(server, topic, 10, keys)
    await compact_all(server)
    expected = {f"key-{key_of(each, keys)}": each for each in range(end)}
    found, left = await table(server, topic)
    wrong = sum(found.get(key) != each for key, each in expected.items()) + len(found.keys() - expected.keys())
    figures = server.node.compactor.figures
    print(
        f"= {wrong} of {len(expected):,} keys are wrong; {left:,} messages are left of {end:,}; "
        f"{before_bytes / MIB:.1f} MiB before the last passes, {size_bytes(server) / MIB:.1f} MiB now; "
        "plain sends took "
        f"{percentile(alone, 0.5):.1f}/{percentile(alone, 0.99):.1f} ms (median/p99), and "
        f"{percentile(meanwhile, 0.5):.1f}/{percentile(meanwhile, 0.99):.1f} ms beside compaction; "
        f"{figures.passes} passes in the last life, {figures.failures} failed",
        flush=True,
    )
    await server.close()
    sys.exit(1 if wrong else 0)


@cli.command(hidden=True)
def life(directory: Path, number: int, end: int, keys: int) -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    calm_garbage_collection()
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)  # as servers do
    asyncio.run(live(directory, number, end, keys))


@cli.command()
def run(
    messages: Annotated[int, typer.Option()] = 1_000_000,
    keys: Annotated[int, typer.Option()] = 10_000,
    kills: Annotated[int, typer.Option()] = 10,
    seed: Annotated[int, typer.Option()] = 1,
) -> None:
    """Write and compact, and be killed so often."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as directory:
        number, begun_s = 0, time.monotonic()
        for kill in range(kills + 1):
            # What is left to be written is spread over the lives, so that each has something to do when it is killed.
            end = messages if kill == kills else number + max((messages - number) // (kills + 1 - kill), 1)
            arguments = [
                sys.executable,
                "-m",
                "loadtests.compaction",
                "life",
                directory,
                str(number),
                str(end),
                str(keys),
            ]
            with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None
                killed_at_s = time.monotonic() + rng.uniform(*KILL_SECONDS)
                for line in process.stdout:
                    if line.startswith("="):
                        print(line[2:].strip(), flush=True)
                    else:
                        number = int(line)
                    if kill < kills and (time.monotonic() >= killed_at_s or number == end):
                        time.sleep(max(0.0, killed_at_s - time.monotonic()))
                        process.send_signal(signal.SIGKILL)
                        break
                code = process.wait()
            if kill == kills:
                print(f"{kills} kills, {time.monotonic() - begun_s:.0f} s in all", flush=True)
                raise typer.Exit(code)


if __name__ == "__main__":
    cli()
