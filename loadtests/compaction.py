"""Compaction under writes, in numbers.

    python -m loadtests.compaction run [--messages 1000000] [--keys 10000] [--kills 10]

One process after the other, with one directory on a real disk, without HTTP: a writer, and a node that is asked for one
pass after the other meanwhile. Each but the last is killed at a random moment. In the end the latest value of each key
must be the one that was acknowledged last.

In the last life the writer goes on at a pace after the bulk, and beside it there are plain sends, one after the other,
while passes over all partitions take turns with rests. What a send took counts as *in a pass* if one was under way when
it began or when it ended, and as *between passes* else: both are of the same minute and beside the same writes. Said is
also what was written, and what the logs and all of the directory have on the disk after the bulk and in the end (the
directory has a reserve of its own, too). The figures of the wish: 10,000,000 messages, 100,000 keys, 50 kills.
"""

import asyncio
import math
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import structlog
import typer

from acklog.wire.batch import encode_batch
from acklog.wire.compacted_batch import decode_remaining
from acklog.wire.log_page import verified
from acklog.wire.record import Record
from app.processes.embedded import EmbeddedServer
from app.processes.garbage import collect_rarely, pass_over_what_is_there
from app.processes.process_constants import SWITCH_INTERVAL_SECONDS
from cluster.catalog.topic_admin import TopicAdmin
from cluster.model.values import CleanupPolicy, Topic, TopicConfig
from cluster.ports.runtime import SteadyClock, SystemEntropy
from loadtests.disk_use import disk_use_bytes
from loadtests.schedule import percentile, start
from storage.rpc.messages import ProduceRequest, RecordsRequest

BATCH = 1_000
PARTITIONS = 2
SEGMENT_BYTES = 8 * 1024 * 1024
PAD = "x" * 60
KILL_SECONDS = (0.5, 6.0)
PLAIN_PAUSE_S = 0.005
PLAIN_KEYS = 1_000
BESIDE_BATCH = 100
BESIDE_PAUSE_S = 0.05
BESIDE_SECONDS = 60.0
REST_SECONDS_MIN = 2.0
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
    """In order within each partition, whose keys are its own. Says how far all is acknowledged, how many bytes the
    batches had, and whether a pass is under way."""
    while number < end:
        last = min(number + BATCH * PARTITIONS, end)
        batches_bytes = await write_batches(server, topic, range(number, last), keys)
        print(last, batches_bytes, int(server.node.compactor.under_way is not None), flush=True)
        number = last


async def write_batches(server: EmbeddedServer, topic: Topic, numbers: range, keys: int) -> int:
    """One for each partition. Returns their bytes."""
    parts: list[list[Record]] = [[] for _ in range(PARTITIONS)]
    for each in numbers:
        key = key_of(each, keys)
        parts[key % PARTITIONS].append(Record(body_of(each), f"key-{key}"))
    batches = [(at, encode_batch(records)) for at, records in enumerate(parts) if records]
    await asyncio.gather(
        *[server.node.produce(ProduceRequest(topic.id, at, batch, timeout_ms=600_000)) for at, batch in batches]
    )
    return sum(len(batch) for _, batch in batches)


def body_of(number: int) -> bytes:
    return b'{"n":%d,"pad":"%s"}' % (number, PAD.encode())


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


@dataclass(slots=True)
class Beside:
    """What was done and measured while passes came and went. `number` is the next one to be written. Times in ms."""

    number: int
    plain: dict[str, int] = field(default_factory=dict)
    in_a_pass_ms: list[float] = field(default_factory=list)
    between_passes_ms: list[float] = field(default_factory=list)
    passes_s: float = 0.0


async def work_beside_passes(server: EmbeddedServer, topic: Topic, end: int, keys: int) -> Beside:
    done = asyncio.Event()
    beside = Beside(end)

    async def write_at_a_pace() -> None:
        while not done.is_set():
            await write_batches(server, topic, range(beside.number, beside.number + BESIDE_BATCH), keys)
            beside.number += BESIDE_BATCH
            await asyncio.sleep(BESIDE_PAUSE_S)

    async def send_plainly() -> None:
        rng = random.Random(1)
        while not done.is_set():
            at = rng.randrange(PLAIN_KEYS)
            key, value = f"plain-{at}", beside.plain.get(f"plain-{at}", -1) + 1
            batch = encode_batch([Record(body_of(value), key)])
            is_in_a_pass = server.node.compactor.under_way is not None
            begun_s = time.perf_counter()
            await server.node.produce(ProduceRequest(topic.id, at % PARTITIONS, batch))
            taken_ms = (time.perf_counter() - begun_s) * 1000
            beside.plain[key] = value
            is_in_a_pass |= server.node.compactor.under_way is not None
            (beside.in_a_pass_ms if is_in_a_pass else beside.between_passes_ms).append(taken_ms)
            await asyncio.sleep(PLAIN_PAUSE_S)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(write_at_a_pace())
        tasks.create_task(send_plainly())
        until_s = time.monotonic() + BESIDE_SECONDS
        while time.monotonic() < until_s:
            begun_s = time.monotonic()
            await compact_all(server)
            taken_s = time.monotonic() - begun_s
            beside.passes_s += taken_s
            await asyncio.sleep(max(taken_s, REST_SECONDS_MIN))
        done.set()
    return beside


def log_bytes(server: EmbeddedServer) -> int:
    return sum(partition.host.log.size_bytes for partition in server.node.partitions_led())


async def compact_all(server: EmbeddedServer) -> None:
    for replica in server.node.replicas():
        server.node.compactor.ask(replica)
    while any(server.node.compactor.is_asked(replica.id) for replica in server.node.replicas()):
        await asyncio.sleep(0.05)


async def compact_again_and_again(server: EmbeddedServer) -> None:
    """By itself a node would begin with a pass when most of these processes are dead."""
    while True:
        await compact_all(server)


async def live(directory: Path, number: int, end: int, keys: int) -> None:
    """One process's life; the last one judges."""
    clock = SteadyClock()
    server = await start(directory, clock)
    topic = await make_topic(server)
    passes = asyncio.create_task(compact_again_and_again(server))
    await write(server, topic, number, end, keys)
    passes.cancel()
    await asyncio.gather(passes, return_exceptions=True)
    logs_before, disk_before = log_bytes(server), disk_use_bytes(directory)
    beside = await work_beside_passes(server, topic, end, keys)
    await compact_all(server)
    expected = {f"key-{key_of(each, keys)}": each for each in range(beside.number)} | beside.plain
    found, left = await table(server, topic)
    wrong = sum(found.get(key) != each for key, each in expected.items()) + len(found.keys() - expected.keys())
    figures = server.node.compactor.figures
    inside, between = beside.in_a_pass_ms, beside.between_passes_ms
    sent = beside.number + len(inside) + len(between)
    p99_ratio = percentile(inside, 0.99) / percentile(between, 0.99)
    print(
        f"= {wrong} of {len(expected):,} keys are wrong; {left:,} messages are left of {sent:,}\n"
        f"= logs of {logs_before / MIB:.1f} MiB after the bulk, {log_bytes(server) / MIB:.1f} MiB now; all of the "
        f"directory {disk_before / MIB:.1f} MiB, {disk_use_bytes(directory) / MIB:.1f} MiB now\n"
        f"= plain sends beside {beside.number - end:,} messages in {BESIDE_SECONDS:.0f} s (median/p99): "
        f"{told(between)} between passes, {told(inside)} in a pass: {p99_ratio:.2f} times the p99\n"
        f"= passes took {beside.passes_s:.1f} s of it; {figures.passes} passes in the last life, {figures.failures} "
        "failed",
        flush=True,
    )
    await server.close()
    sys.exit(1 if wrong else 0)


def told(taken_ms: list[float]) -> str:
    return f"{percentile(taken_ms, 0.5):.1f}/{percentile(taken_ms, 0.99):.1f} ms of {len(taken_ms):,}"


@cli.command(hidden=True)
def life(directory: Path, number: int, end: int, keys: int) -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    collect_rarely()
    pass_over_what_is_there()
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
        number, written_bytes, kills_in_a_pass, begun_s = 0, 0, 0, time.monotonic()
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
            after_s = rng.uniform(*KILL_SECONDS)
            with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None
                killed_at_s = math.inf
                for line in process.stdout:
                    # From its first write on, however long its start took: kills are to fall into writes and passes.
                    killed_at_s = min(killed_at_s, time.monotonic() + after_s)
                    if line.startswith("="):
                        print(line[2:].strip(), flush=True)
                    else:
                        number, batch_bytes, is_in_a_pass = map(int, line.split())
                        written_bytes += batch_bytes
                    if kill < kills and (time.monotonic() >= killed_at_s or number == end):
                        time.sleep(max(0.0, killed_at_s - time.monotonic()))
                        process.send_signal(signal.SIGKILL)
                        kills_in_a_pass += is_in_a_pass
                        print(f"kill {kill + 1} after {number:,} messages", file=sys.stderr, flush=True)
                        break
                code = process.wait()
            if kill == kills:
                print(
                    f"{written_bytes / MIB:.1f} MiB of batches were written in bulk, {kills} kills, "
                    f"{kills_in_a_pass} of them in a pass, {time.monotonic() - begun_s:.0f} s in all",
                    flush=True,
                )
                raise typer.Exit(code)


if __name__ == "__main__":
    cli()
