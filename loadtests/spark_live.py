"""Whether an export disturbs who consumes live: a group's receive latency with and without one, by turns."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from time import perf_counter

import msgspec

from loadtests.bench_server import connected, create_topic
from loadtests.http_connection import HttpConnection, make_request
from loadtests.load import LoadFailedError, LoadResult
from loadtests.measurement import Measurement
from loadtests.result import Limit
from loadtests.spark_export_once import READY
from loadtests.spark_plan import Size
from loadtests.spark_scenarios import MB, SparkBench, share_of

TOPIC = "live"
RECEIVERS = 2
SENDERS = 32
RATIO_TARGET = 2.0
EXPORT_TIMEOUT_S = 120.0


class _Message(msgspec.Struct):
    receipt: str
    body: float


class _Messages(msgspec.Struct):
    messages: list[_Message]


_decode = msgspec.json.Decoder(_Messages).decode


async def live(bench: SparkBench, backlog: Size) -> None:
    """Alone; beside an export whose Spark shares the processors and their caches with server and consumers; beside one
    that gives way to them (`acklog export --background`); and beside what that export's tasks ask of the server, as if
    Spark were on machines of its own (they give way, too). Raises LoadFailedError."""
    plan = bench.plan
    await create_topic(bench.server, TOPIC, plan.partitions)
    rate = f"{plan.export_bytes_per_s // MB} MB/s"
    alone = Measurement(f"live group at {plan.live_rate}/s, sent to received, p99: alone", "ms")
    beside = Measurement(f"the same beside an export at {rate}, its Spark on the same processors", "ms")
    achieved = Measurement("that export's rate", "MB/s")
    giving_way = Measurement(f"the same beside an export at {rate} in the background", "ms")
    achieved_giving_way = Measurement("the rate of the export in the background", "MB/s")
    requested = Measurement(f"the same beside the requests of an export at {rate}", "ms")
    achieved_requests = Measurement("those requests' rate", "MB/s")
    await _phase(bench, Measurement("warm-up", "ms"))
    export = _export(bench, backlog)
    for number in range(plan.live_rounds):
        await _phase(bench, alone)
        async with _reading(_fetches(bench, backlog), achieved_requests):
            await _phase(bench, requested)
        if number < plan.live_spark_rounds:
            async with _reading(export, achieved):
                await _phase(bench, beside)
            async with _reading([[*command, "--background"] for command in export], achieved_giving_way):
                await _phase(bench, giving_way)
    bench.report(alone.result())
    result = requested.result(limits=(alone.limit("alone"),), target_text=f"≤ {RATIO_TARGET:g} × alone")
    bench.report(result.judged(result.ratio_to(alone.limit()).median <= RATIO_TARGET))
    bench.report(achieved_requests.result())
    limit = Limit(name="alone", values=tuple(alone.values[: plan.live_spark_rounds]))
    for measurement, rates in ((beside, achieved), (giving_way, achieved_giving_way)):
        bench.report(measurement.result(limits=(limit,)))
        bench.report(rates.result())


async def _phase(bench: SparkBench, measurement: Measurement) -> None:
    """Sends at a steady rate and receives at the same time; the p99 of one phase is a round's value."""
    plan = bench.plan
    async with connected(bench.server, SENDERS) as senders, connected(bench.server, RECEIVERS) as receivers:
        latencies: list[float] = []
        counted_from = perf_counter() + plan.live_warm_up_s
        receiving = [asyncio.create_task(_receive(each, latencies, counted_from)) for each in receivers]
        try:
            await _send(senders, rate=plan.live_rate, seconds=plan.live_warm_up_s + plan.live_seconds)
            await asyncio.sleep(plan.live_warm_up_s)  # the last ones come in
        finally:
            for task in receiving:
                task.cancel()
            ended = await asyncio.gather(*receiving, return_exceptions=True)
    for error in ended:
        if isinstance(error, Exception):
            raise error
    ordered = sorted(latencies)
    expected = plan.live_rate * plan.live_seconds
    if len(ordered) < 0.95 * expected:
        raise LoadFailedError(f"only {len(ordered):,} of about {expected:,.0f} messages were received")
    load = LoadResult(len(ordered), 0, plan.live_seconds, ordered)
    measurement.add(load.latency_ms(99), load)


async def _send(connections: list[HttpConnection], *, rate: int, seconds: float) -> None:
    """One message after the other by the clock, each with the time at which it was due; connections take turns."""
    began = perf_counter()
    running: list[asyncio.Task[None]] = [asyncio.create_task(asyncio.sleep(0))] * len(connections)
    for number in range(int(rate * seconds)):
        due = began + number / rate
        if (early := due - perf_counter()) > 0:
            await asyncio.sleep(early)
        at = number % len(connections)
        await running[at]  # a connection has one request at a time; waiting for it counts, as the message was due
        running[at] = asyncio.create_task(_send_one(connections[at], due))
    await asyncio.gather(*running)


async def _send_one(connection: HttpConnection, due: float) -> None:
    body = msgspec.json.encode({"queue": TOPIC, "key": f"{due}", "body": due})
    answer = await connection.request(make_request("POST", "/messages", body))
    if answer.status != 201:
        raise LoadFailedError(f"send: {answer.status} {answer.body[:300]!r}")


async def _receive(connection: HttpConnection, latencies: list[float], counted_from: float) -> None:
    target = f"/messages?queue={TOPIC}&group=live&max=10&waitSeconds=5"
    while True:
        answer = await connection.request(make_request("GET", target))
        now = perf_counter()
        if answer.status != 200:
            raise LoadFailedError(f"receive: {answer.status} {answer.body[:300]!r}")
        messages = _decode(answer.body).messages
        latencies += [now - each.body for each in messages if each.body >= counted_from]
        if messages:
            receipts = msgspec.json.encode({"receipts": [each.receipt for each in messages]})
            answer = await connection.request(make_request("POST", "/ack", receipts))
            if answer.status != 200:
                raise LoadFailedError(f"ack: {answer.status} {answer.body[:300]!r}")


def _export(bench: SparkBench, backlog: Size) -> list[list[object]]:
    """The command of an export of the backlog."""
    plan = bench.plan
    size: list[object] = ["--pass-bytes", backlog.messages * backlog.body_bytes, "--tasks", plan.tasks]
    source: list[object] = ["--url", bench.server.url, "--topic", backlog.topic]
    return [["loadtests.spark_export_once", *source, *size, "--bytes-per-s", plan.export_bytes_per_s]]


def _fetches(bench: SparkBench, backlog: Size) -> list[list[object]]:
    """A command for each of its tasks, with the task's share of partitions and rate."""
    plan = bench.plan
    source: list[object] = ["--url", bench.server.url, "--topic", backlog.topic]
    return [
        [
            "loadtests.spark_fetches_once",
            *source,
            *(argument for partition in share_of(plan, task) for argument in ("--partition", partition)),
            "--bytes-per-s",
            plan.export_bytes_per_s // plan.tasks,
        ]
        for task in range(plan.tasks)
    ]


@asynccontextmanager
async def _reading(commands: list[list[object]], rates: Measurement) -> AsyncIterator[None]:
    """Processes that read the backlog at their rates meanwhile. Raises LoadFailedError."""
    async with AsyncExitStack() as stack:
        processes = [await stack.enter_async_context(_reader(command)) for command in commands]
        yield
        for process in processes:
            assert process.stdin is not None
            process.stdin.close()
        bytes_per_s = 0.0
        async with asyncio.timeout(EXPORT_TIMEOUT_S):
            for process in processes:
                assert process.stdout is not None
                bytes_per_s += float(await process.stdout.readline())
                await process.wait()
        rates.add(bytes_per_s / MB)


@asynccontextmanager
async def _reader(command: list[object]) -> AsyncIterator[asyncio.subprocess.Process]:
    """One that has begun. Raises LoadFailedError."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        *map(str, command),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(EXPORT_TIMEOUT_S):
            told = await process.stdout.readline()
        if told.decode().strip() != READY:
            raise LoadFailedError(f"a reader of the backlog did not begin: {told!r}")
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
