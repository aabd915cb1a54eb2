"""Messages that are seen later, in numbers.

    python -m loadtests.schedule hour [--messages 1000000] [--rate 30]
    python -m loadtests.schedule pending [--messages 2000000]
    python -m loadtests.schedule due [--messages 100000] [--seconds 60]
    python -m loadtests.schedule together [--messages 100000]
    python -m loadtests.schedule server [--messages 10000000] [--seconds 540]

All but `server`: one process with an empty directory on a real disk, without HTTP: the node, and its gateway's service.
`hour` spreads messages over an hour of a clock (and an event loop) that goes so many times as fast, and says how many
were early or missing. `pending` says what a start takes with so much scheduled, and how much memory. `due` says how
late messages are at real speed, `together` what plain sends notice of as many that are due in the same second. `server`
says what `pending` says of a server that is a process of its own and gets its batches by HTTP, as many as it takes in
the time.
"""

import asyncio
import os
import random
import selectors
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any

import structlog
import typer

from acklog.wire.batch import decode_records, encode_batch, read_header
from acklog.wire.record import Record, Schedule
from app.configuration.server_settings import Settings
from app.processes.embedded import EmbeddedServer, start_embedded
from app.processes.embedded_store import open_store
from app.processes.garbage import collect_rarely, pass_over_what_is_there
from app.processes.process_constants import SWITCH_INTERVAL_SECONDS
from cluster.catalog.topic_admin import TopicAdmin
from cluster.model.values import Topic, TopicConfig
from cluster.ports.clock import Clock
from cluster.ports.runtime import SteadyClock, SystemEntropy
from loadtests.schedule_by_http import compare
from storage.disk.real_disk import RealDisk
from storage.disk.thread_executor import ThreadExecutor
from storage.node.partition.node_settings import NodeSettings
from storage.node.schedule.sqlite_schedule_indexes import SqliteScheduleIndexes
from storage.rpc.messages import ProduceRequest, RecordsRequest
from storage.schedule.schedule_index import SCHEDULES_DIRECTORY

BATCH = 1_000
BODY = b'{"order":4711,"total":"19.90","note":"%s"}' % (b"x" * 60)
PARTITIONS = 4
HOUR_S = 3_600
PLAIN_PAUSE_S = 0.005
SETTLED_S = 5.0

cli = typer.Typer(help=__doc__)
_disks: list[RealDisk] = []  # whose locks the next start in this process needs


class FastClock:
    """Goes `rate` times as fast as time."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._begin_s = time.monotonic()
        self._wall_ms = time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return int((time.monotonic() - self._begin_s) * 1000 * self._rate)

    def now_ms(self) -> int:
        return self._wall_ms + self.monotonic_ms()

    async def sleep(self, duration_ms: float) -> None:
        await asyncio.sleep(duration_ms / 1000)


class FastLoop(asyncio.SelectorEventLoop):
    """Its timers go off as often as those of such a clock."""

    def __init__(self, rate: int) -> None:
        super().__init__(_FastSelector(rate))
        self._rate = rate

    def time(self) -> float:
        return time.monotonic() * self._rate


class _FastSelector(selectors.EpollSelector):
    def __init__(self, rate: int) -> None:
        super().__init__()
        self._rate = rate

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return super().select(None if timeout is None else timeout / self._rate)


async def start(directory: Path, clock: Clock) -> EmbeddedServer:
    disk = RealDisk(directory)
    _disks.append(disk)
    io, blocking = ThreadExecutor(threads=4, name="io"), ThreadExecutor(threads=1, name="sqlite")
    node_settings = NodeSettings()
    ballast_bytes = node_settings.log_store.ballast_bytes
    store = await open_store(str(directory), disk, io=io, blocking=blocking, clock=clock, ballast_bytes=ballast_bytes)
    return await start_embedded(
        store=store,
        disk=disk,
        io=io,
        clock=clock,
        entropy=SystemEntropy(),
        settings=Settings(),
        node_settings=node_settings,
        schedule_indexes=SqliteScheduleIndexes(
            f"{directory}/{SCHEDULES_DIRECTORY}", ThreadExecutor(threads=1, name="schedule")
        ),
    )


async def stop(server: EmbeddedServer) -> None:
    await server.close()
    _disks.pop().close()


async def make_topic(server: EmbeddedServer, clock: Clock) -> Topic:
    topics = TopicAdmin(server.store, server.metadata, clock=clock, entropy=SystemEntropy())
    topic = await topics.create("later", partitions=PARTITIONS, config=TopicConfig(), replication_factor=1)
    while len(server.metadata.partitions(topic.id)) < PARTITIONS:
        await asyncio.sleep(0.01)
    return topic


async def schedule(server: EmbeddedServer, topic: Topic, due_ms: list[int]) -> float:
    """How many messages a second were taken."""
    begun_s = time.monotonic()
    for first in range(0, len(due_ms), BATCH * PARTITIONS):
        calls = []
        for partition in range(PARTITIONS):
            begin = first + partition * BATCH
            records = [Record(BODY, None, schedule=Schedule(at_ms=due)) for due in due_ms[begin : begin + BATCH]]
            if records:
                request = ProduceRequest(topic.id, partition, encode_batch(records), timeout_ms=600_000)
                calls.append(server.node.schedule(request))
        await asyncio.gather(*calls)
    return len(due_ms) / (time.monotonic() - begun_s)


async def arrived(server: EmbeddedServer, topic: Topic) -> tuple[list[int], int]:
    """By how many ms each message was late, and how many messages there are under a name that was there before."""
    late: list[int] = []
    names: set[str] = set()
    for partition in range(PARTITIONS):
        offset = 0
        while True:
            page = await server.node.records(RecordsRequest(topic.id, partition, offset, max_bytes=4 * 1024 * 1024))
            if page.next_offset == offset:
                break
            offset, at = page.next_offset, 0
            while at < len(page.batches):
                header = read_header(page.batches, at)
                for record in decode_records(page.batches, header, at):
                    if record.schedule is not None:
                        late.append(header.append_time_ms - record.schedule.at_ms)
                        names.add(record.schedule.id)
                at += header.length
    return late, len(late) - len(names)


def pending(server: EmbeddedServer) -> int:
    return sum(partition.schedule.pending for partition in server.node.partitions_led())


def is_scheduled(server: EmbeddedServer) -> bool:
    """Whether something is, or may be: what was sent a moment ago is not counted as pending yet."""
    return any(partition.schedule.may_have_any for partition in server.node.partitions_led())


def resident_mib() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // (1024 * 1024)


def percentile(values: list[float] | list[int], share: float) -> float:
    ordered = sorted(values)
    return float(ordered[min(len(ordered) - 1, int(len(ordered) * share))])


def run(work: Callable[[Path], Coroutine[Any, Any, None]], loop: asyncio.AbstractEventLoop | None = None) -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    collect_rarely()
    pass_over_what_is_there()
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)  # as servers do
    loop = loop or asyncio.new_event_loop()
    with tempfile.TemporaryDirectory() as directory:
        loop.run_until_complete(work(Path(directory)))


@cli.command()
def hour(messages: Annotated[int, typer.Option()] = 1_000_000, rate: Annotated[int, typer.Option()] = 30) -> None:
    """Messages over an hour: none early, none lost, none twice."""

    async def work(directory: Path) -> None:
        clock = FastClock(rate)
        server = await start(directory, clock)
        topic = await make_topic(server, clock)
        rng = random.Random(1)
        begin_ms = clock.now_ms() + messages * rate // 20  # while they are sent, nothing is due
        due = [begin_ms + rng.randrange(HOUR_S * 1000) for _ in range(messages)]
        print(f"{await schedule(server, topic, due):,.0f} messages a second were taken", flush=True)
        while is_scheduled(server):
            await asyncio.sleep(30)
        late, twice = await arrived(server, topic)
        early = sum(each < 0 for each in late)
        print(f"{len(late):,} of {messages:,} arrived, {early} early, {twice} twice", flush=True)
        await server.close()

    run(work, FastLoop(rate))


@cli.command("pending")
def many_pending(messages: Annotated[int, typer.Option()] = 2_000_000) -> None:
    """What a start takes, and how much memory, with so much scheduled."""

    async def work(directory: Path) -> None:
        directory.mkdir()
        clock = SteadyClock()
        server = await start(directory, clock)
        topic = await make_topic(server, clock)
        far_ms = clock.now_ms() + 30 * 24 * HOUR_S * 1000
        rng = random.Random(1)
        share = BATCH * PARTITIONS * 25
        rates = [
            await schedule(server, topic, [far_ms + rng.randrange(10**9) for _ in range(share)])
            for _ in range(0, messages, share)
        ]
        while pending(server) < len(rates) * share:
            await asyncio.sleep(0.1)
        print(f"{min(rates):,.0f} to {max(rates):,.0f} messages a second were taken", flush=True)
        print(f"{pending(server):,} pending", flush=True)
        begun_s = time.monotonic()
        await stop(server)
        print(f"a stop takes {time.monotonic() - begun_s:.2f} s", flush=True)

    async def work_and_start(directory: Path) -> None:
        await work(directory / "full")
        (directory / "empty").mkdir()
        for name in ("empty", "full"):
            told = await started_anew(directory / name)
            print(f"{name}: {told}", flush=True)

    run(work_and_start)


async def started_anew(directory: Path) -> str:
    """What a process of its own says of a start: one that has scheduled all that keeps memory that a server would not
    have taken."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "loadtests.schedule", "started", str(directory), stdout=asyncio.subprocess.PIPE
    )
    told, _ = await process.communicate()
    if process.returncode:
        raise typer.Exit(process.returncode)
    return told.decode().strip()


@cli.command()
def started(directory: Annotated[Path, typer.Argument()]) -> None:
    """What a start takes on a directory that is there, and how much memory."""

    async def work(_empty: Path) -> None:
        clock = SteadyClock()
        begun_s = time.monotonic()
        server = await start(directory, clock)
        started_s = time.monotonic() - begun_s
        if not server.metadata.topics():
            await make_topic(server, clock)
        for partition in server.node.partitions_led():
            await partition.schedule.wait_ready()
        ready_s = time.monotonic() - begun_s
        await asyncio.sleep(SETTLED_S)
        print(
            f"a start takes {started_s:.2f} s, the schedule {ready_s:.2f} s; {pending(server):,} pending, memory "
            f"{resident_mib()} MiB",
            flush=True,
        )
        await stop(server)

    run(work)


@cli.command()
def due(messages: Annotated[int, typer.Option()] = 100_000, seconds: Annotated[int, typer.Option()] = 60) -> None:
    """How late messages are at real speed."""

    async def work(directory: Path) -> None:
        clock = SteadyClock()
        server = await start(directory, clock)
        topic = await make_topic(server, clock)
        rng = random.Random(1)
        begin_ms = clock.now_ms() + messages // 10
        await schedule(server, topic, [begin_ms + rng.randrange(seconds * 1000) for _ in range(messages)])
        while is_scheduled(server):
            await asyncio.sleep(0.5)
        late, twice = await arrived(server, topic)
        print(
            f"{len(late):,} arrived in {seconds} s, {sum(each < 0 for each in late)} early, {twice} twice; late by "
            f"{percentile(late, 0.5):.0f} ms (median), {percentile(late, 0.99):.0f} ms (p99), {max(late)} ms (max)",
            flush=True,
        )
        await server.close()

    run(work)


@cli.command()
def together(messages: Annotated[int, typer.Option()] = 100_000) -> None:
    """What plain sends notice of messages that are due in the same second."""

    async def work(directory: Path) -> None:
        clock = SteadyClock()
        server = await start(directory, clock)
        topic = await make_topic(server, clock)
        rng = random.Random(1)
        begin_ms = clock.now_ms() + max(15_000, messages // 5)
        await schedule(server, topic, [begin_ms + rng.randrange(1000) for _ in range(messages)])

        async def plain(until: Callable[[], bool]) -> list[float]:
            taken_ms = []
            while not until():
                begun_s = time.perf_counter()
                batch = encode_batch([Record(BODY)])
                await server.node.produce(ProduceRequest(topic.id, rng.randrange(PARTITIONS), batch))
                taken_ms.append((time.perf_counter() - begun_s) * 1000)
                await asyncio.sleep(PLAIN_PAUSE_S)
            return taken_ms

        alone = await plain(lambda: clock.now_ms() >= begin_ms)
        beside = await plain(lambda: not is_scheduled(server))
        drained_s = (clock.now_ms() - begin_ms) / 1000
        late, _ = await arrived(server, topic)
        print(
            f"{len(late):,} that were due within a second were there after {drained_s:.1f} s; a plain send takes "
            f"{percentile(alone, 0.99):.1f} ms (p99) before and {percentile(beside, 0.99):.1f} ms (p99) meanwhile",
            flush=True,
        )
        await server.close()

    run(work)


@cli.command("server")
def real_server(
    messages: Annotated[int, typer.Option()] = 10_000_000, seconds: Annotated[int, typer.Option()] = 540
) -> None:
    """What a start of a server takes, and how much memory, with so much sent to it by HTTP."""
    run(lambda directory: compare(directory, messages=messages, seconds=seconds))


if __name__ == "__main__":
    cli()
