"""Whether an export disturbs who consumes live: a group's receive latency with and without one, by turns."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import perf_counter

import msgspec

from loadtests.bench_server import connected, create_topic
from loadtests.http_connection import HttpConnection, make_request
from loadtests.load import LoadFailedError, LoadResult
from loadtests.measurement import Measurement
from loadtests.spark_export_once import READY
from loadtests.spark_plan import Size
from loadtests.spark_scenarios import MB, SparkBench

TOPIC = "live"
RECEIVERS = 2
SENDERS = 32
RATIO_TARGET = 2.0
NICE = 10
EXPORT_TIMEOUT_S = 120.0


class _Message(msgspec.Struct):
    receipt: str
    body: float


class _Messages(msgspec.Struct):
    messages: list[_Message]


_decode = msgspec.json.Decoder(_Messages).decode


async def live(bench: SparkBench, backlog: Size) -> None:
    """Alone, beside an export with the same right to the processors, and beside one that stands back, as one on
    another machine would. Raises LoadFailedError."""
    plan = bench.plan
    await create_topic(bench.server, TOPIC, plan.partitions)
    rate = f"{plan.export_bytes_per_s // MB} MB/s"
    alone = Measurement(f"live group at {plan.live_rate}/s, sent to received, p99: alone", "ms")
    beside = Measurement(f"the same beside an export at {rate}", "ms")
    achieved = Measurement("that export's rate", "MB/s")
    behind = Measurement(f"the same beside an export at {rate} under nice", "ms")
    achieved_behind = Measurement("that export's rate, under nice", "MB/s")
    await _phase(bench, Measurement("warm-up", "ms"))
    for _ in range(plan.rounds):
        for priority, measurement, rates in ((0, beside, achieved), (NICE, behind, achieved_behind)):
            if not priority:
                await _phase(bench, alone)
            async with _export(bench, backlog, priority, rates):
                await _phase(bench, measurement)
    limit = alone.limit("alone")
    bench.report(alone.result())
    bench.report(beside.result(limits=(limit,)))
    bench.report(achieved.result())
    result = behind.result(limits=(limit,), target_text=f"≤ {RATIO_TARGET:g} × alone")
    bench.report(result.judged(result.ratio_to(limit).median <= RATIO_TARGET))
    bench.report(achieved_behind.result())


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


@asynccontextmanager
async def _export(bench: SparkBench, backlog: Size, priority: int, rates: Measurement) -> AsyncIterator[None]:
    """A process that reads the backlog at its rate meanwhile. Raises LoadFailedError."""
    plan = bench.plan
    arguments = {
        "--url": bench.server.url,
        "--topic": backlog.topic,
        "--tasks": plan.tasks,
        "--bytes-per-s": plan.export_bytes_per_s,
        "--pass-bytes": backlog.messages * backlog.body_bytes,
    }
    command = [sys.executable, "-m", "loadtests.spark_export_once"]
    command += [str(part) for pair in arguments.items() for part in pair]
    process = await asyncio.create_subprocess_exec(
        *(["nice", "-n", str(priority), *command] if priority else command),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        async with asyncio.timeout(EXPORT_TIMEOUT_S):
            told = await process.stdout.readline()
        if told.decode().strip() != READY:
            raise LoadFailedError(f"the export did not begin: {told!r}")
        yield
        process.stdin.close()
        async with asyncio.timeout(EXPORT_TIMEOUT_S):
            rates.add(float(await process.stdout.readline()) / MB)
            await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
