"""What a server takes with a lot scheduled, by HTTP and from outside: started, filled with batches, stopped, started.

`python -m loadtests.schedule server` runs it, on two directories: one that stays empty but for the topic, and one with
everything that could be sent in the time.
"""

import asyncio
import random
import time
from dataclasses import dataclass
from pathlib import Path

from acklog.command.server_metrics import ServerMetrics
from examples.server_process import ServerProcess, acklog_command, free_port
from loadtests.bench_server import ask_once, connected, create_topic
from loadtests.disk_use import disk_use_bytes
from loadtests.http_connection import make_request
from loadtests.load import LoadFailedError
from loadtests.process_usage import MIB, usage_of

TOPIC = "later"
PARTITIONS = 4
BATCH = 1_000
CONNECTIONS = 4
DAY_MS = 24 * 3_600 * 1000
AHEAD_MS = 30 * DAY_MS
SPREAD_MS = 10 * DAY_MS
SETTLED_S = 5.0
LOOK_S = 0.05
STARTS = 2  # of each: the first one may have to read from the disk what the second finds in memory
INDEX_PATIENCE_S = 300.0
NOTE = "x" * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """How much was taken, by one server, in which time; and how long until it was all in the index."""

    messages: int
    seconds: float
    indexed_after_s: float

    def __str__(self) -> str:
        rate = self.messages / self.seconds if self.messages else 0.0
        return (
            f"{self.messages:,} were taken in {self.seconds:.0f} s ({rate:,.0f} a second), and all were in the index "
            f"{self.indexed_after_s:.1f} s later"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """Seconds until it is ready, and until it knows all that is pending; memory, settled and at most."""

    ready_s: float
    known_s: float
    pending: int
    resident_mib: int
    peak_mib: int

    def __str__(self) -> str:
        return (
            f"ready after {self.ready_s:.2f} s, all known after {self.known_s:.2f} s, {self.pending:,} pending; memory "
            f"{self.resident_mib} MiB, {self.peak_mib} MiB at most"
        )


def server_on(directory: Path) -> ServerProcess:
    port = free_port()
    return ServerProcess(
        acklog_command(port=port, data_dir=directory / "data"), port, directory / "server.log", ready_timeout_s=300
    )


async def fill(server: ServerProcess, *, messages: int, seconds: float) -> Filled:
    """Send until there are so many, or the time is over; each batch is answered before its connection sends the next.

    Raises LoadFailedError for any answer but 201.
    """
    rng = random.Random(1)
    first_ms = time.time_ns() // 1_000_000 + AHEAD_MS
    begun_s = time.monotonic()
    begun, stored = 0, 0

    async with connected(server, CONNECTIONS) as connections:

        async def send_batches(number: int) -> None:
            nonlocal begun, stored
            while begun < messages and time.monotonic() - begun_s < seconds:
                begun += BATCH
                request = make_request("POST", "/messages", _batch(rng, first_ms))
                answer = await connections[number].request(request)
                if answer.status != 201:
                    raise LoadFailedError(f"a batch was answered {answer.status}: {answer.body[:300]!r}")
                stored += BATCH

        async with asyncio.TaskGroup() as tasks:
            for number in range(CONNECTIONS):
                tasks.create_task(send_batches(number))
    taken_s = time.monotonic() - begun_s
    waited_s = await _until_known(server, stored)
    return Filled(messages=stored, seconds=taken_s, indexed_after_s=waited_s)


async def started(server: ServerProcess, *, expected: int) -> Started:
    """Raises LoadFailedError where what was scheduled is not there."""
    ready_s = await server.start()
    known_s = ready_s + await _until_known(server, expected)
    await asyncio.sleep(SETTLED_S)
    usage = usage_of(server.pid)
    return Started(
        ready_s=ready_s,
        known_s=known_s,
        pending=await pending(server),
        resident_mib=usage.resident_bytes // MIB,
        peak_mib=usage.peak_bytes // MIB,
    )


async def pending(server: ServerProcess) -> int:
    answer = await ask_once(server, make_request("GET", "/metrics", b""))
    return int(ServerMetrics(answer.body.decode()).value("acklog_scheduled_pending") or 0)


async def compare(directory: Path, *, messages: int, seconds: float) -> None:
    """Print what it takes, without and with what is scheduled. Raises LoadFailedError."""
    stored = {}
    for name in ("without", "with"):
        (directory / name).mkdir()
        server = server_on(directory / name)
        try:
            await server.start()
            await create_topic(server, TOPIC, PARTITIONS)
            filled = await fill(server, messages=messages if name == "with" else 0, seconds=seconds)
            stored[name] = filled.messages
            usage = usage_of(server.pid)
            print(f"{name}: {filled}; {disk_use_bytes(directory / name) / MIB:,.0f} MiB on the disk", flush=True)
            print(
                f"{name}: memory {usage.resident_bytes // MIB} MiB, {usage.peak_bytes // MIB} MiB at most", flush=True
            )
        finally:
            begun_s = time.monotonic()
            await server.stop()
            print(f"{name}: a stop takes {time.monotonic() - begun_s:.2f} s", flush=True)
    for name, count in [*stored.items()] * STARTS:
        server = server_on(directory / name)
        try:
            print(f"{name}: {await started(server, expected=count)}", flush=True)
        finally:
            await server.stop()


async def _until_known(server: ServerProcess, expected: int) -> float:
    """The seconds it takes. Raises LoadFailedError."""
    begun_s = time.monotonic()
    while (known := await pending(server)) != expected:
        if time.monotonic() - begun_s > INDEX_PATIENCE_S:
            raise LoadFailedError(f"{known:,} are pending, of {expected:,}")
        await asyncio.sleep(LOOK_S)
    return time.monotonic() - begun_s


def _batch(rng: random.Random, first_ms: int) -> bytes:
    texts = [
        f'{{"body":{{"order":4711,"total":"19.90","note":"{NOTE}"}},"deliverAt":{first_ms + rng.randrange(SPREAD_MS)}}}'
        for _ in range(BATCH)
    ]
    return f'{{"queue":"{TOPIC}","messages":[{",".join(texts)}]}}'.encode()
