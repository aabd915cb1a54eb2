"""What is measured of sends, beside the limits that belong to them. Limit and result take turns in every round."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from examples.server_process import ServerProcess
from loadtests.bench_server import Servers, ask_once, connected, create_topic, put_answer
from loadtests.codec_limit import measure_packing
from loadtests.disk_limit import measure_appends, measure_sequential
from loadtests.load import LoadResult, closed_loop, open_loop
from loadtests.measured import measured
from loadtests.measurement import Measurement
from loadtests.payloads import batch_bodies, posts, single_bodies
from loadtests.plan import Cpus, Plan
from loadtests.result import Result

MB = 1_000_000
PARTITIONS = 8
BATCHES_TOPIC = "batches"
SINGLES_RATIO_TARGET = 0.5
BATCHED_RATE_TARGET = 300_000
OPEN_LOOP_P99_TARGET_MS = 10.0
PROTOCOL, ASGI, FASTAPI = "bare uvloop + httptools", "bare uvicorn, ASGI callable", "bare FastAPI"
PACKING = "decode, partition, encode, CRC in one process"


@dataclass(frozen=True, slots=True)
class Bench:
    """What the scenarios have in common. `report` is called with each result as soon as it is there."""

    servers: Servers
    directory: Path
    plan: Plan
    cpus: Cpus
    report: Callable[[Result], None]


def machine(bench: Bench) -> None:
    """The disk, and the processor without any server."""
    plan = bench.plan
    appends = Measurement("disk: append 4 KiB + fdatasync", "/s")
    sequential = Measurement("disk: sequential write, 1 MiB at a time + fdatasync", "MB/s")
    packing = Measurement(_packing_name(plan), "messages/s")
    bodies = batch_bodies(BATCHES_TOPIC, plan.batch_messages)
    for _ in range(plan.rounds):
        durations = measure_appends(bench.directory, plan.disk_appends)
        total_s = sum(durations)
        appends.add(len(durations) / total_s, LoadResult(len(durations), 0, total_s, durations))
        sequential.add(measure_sequential(bench.directory, plan.sequential_bytes) / MB)
        packing.add(_pack(bodies, plan))
    for each in (appends, sequential, packing):
        bench.report(each.result())


async def singles(bench: Bench) -> None:
    """The highest rate of single sends, each durable before it is answered."""
    plan, servers = bench.plan, bench.servers
    await create_topic(servers.acklog, "singles", PARTITIONS)
    requests = posts(single_bodies("singles"))
    for count in plan.connection_counts:
        suffix = f", {count} connections"
        bare = {name: Measurement(name + suffix, "requests/s") for name in (PROTOCOL, ASGI, FASTAPI)}
        stored = Measurement(f"durable single sends{suffix}", "requests/s")
        for _ in range(plan.rounds):
            for name, limit in bare.items():
                server = _bare_server(servers, name)
                await _saturate(bench, limit, server, requests, connections=count, seconds=plan.limit_seconds)
            await _saturate(bench, stored, servers.acklog, requests, connections=count, seconds=plan.seconds)
        for limit in bare.values():
            bench.report(limit.result())
        result = stored.result(
            limits=tuple(limit.limit(name) for name, limit in bare.items()),
            target_text=f"≥ {SINGLES_RATIO_TARGET} × {FASTAPI}",
        )
        ratio = result.ratio_to(bare[FASTAPI].limit()).median
        bench.report(result.judged(ratio >= SINGLES_RATIO_TARGET, f"{ratio:.2f} × {FASTAPI}"))


def _bare_server(servers: Servers, name: str) -> ServerProcess:
    return {PROTOCOL: servers.protocol, ASGI: servers.asgi, FASTAPI: servers.fastapi}[name]


async def _saturate(
    bench: Bench,
    measurement: Measurement,
    server: ServerProcess,
    requests: Sequence[bytes],
    *,
    connections: int,
    seconds: float,
) -> None:
    """A round of a closed loop."""
    async with connected(server, connections) as opened:
        with measured(server.pid, measurement.usage):
            load = await closed_loop(
                opened,
                requests,
                seconds=seconds,
                warm_up_s=bench.plan.warm_up_s,
                answers_max=bench.plan.single_answers_max,
            )
    measurement.add(load.rate, load)


async def open_loops(bench: Bench) -> None:
    """Latencies at fixed rates, counted from when each request was due."""
    plan, servers = bench.plan, bench.servers
    await create_topic(servers.acklog, "steady", PARTITIONS)
    requests = posts(single_bodies("steady"))
    for rate in plan.open_loop_rates:
        bare = {name: Measurement(f"{name}, {rate:,}/s: p99", "ms") for name in (PROTOCOL, FASTAPI)}
        stored = Measurement(f"open loop, {rate:,} single sends/s: p99", "ms")
        for _ in range(plan.rounds):
            for name, limit in bare.items():
                server = _bare_server(servers, name)
                await _keep_to(bench, limit, server, requests, rate=rate)
            await _keep_to(bench, stored, servers.acklog, requests, rate=rate)
        result = stored.result(
            limits=tuple(limit.limit(f"{name}, same rate") for name, limit in bare.items()),
            target_text=f"< {OPEN_LOOP_P99_TARGET_MS:g} ms",
            with_curve=True,
            limit_curves=tuple((name, limit.curve()) for name, limit in bare.items()),
        )
        bench.report(result.judged(result.value < OPEN_LOOP_P99_TARGET_MS))


async def _keep_to(
    bench: Bench,
    measurement: Measurement,
    server: ServerProcess,
    requests: Sequence[bytes],
    *,
    rate: int,
) -> None:
    """A round of an open loop; as long for a limit as for a result, since a tail grows with the time."""
    async with connected(server, bench.plan.open_loop_connections) as connections:
        with measured(server.pid, measurement.usage):
            load = await open_loop(
                connections,
                requests,
                rate=rate,
                seconds=bench.plan.open_loop_seconds,
                warm_up_s=bench.plan.warm_up_s,
                is_spinning=bench.cpus.is_client_alone,
            )
    measurement.add(load.latency_ms(99), load)


async def batches(bench: Bench) -> None:
    """The highest rate of messages in batches; beside it the same bytes to and from a bare server, and the work on
    them without a server."""
    plan, servers = bench.plan, bench.servers
    await create_topic(servers.acklog, BATCHES_TOPIC, PARTITIONS)
    bodies = batch_bodies(BATCHES_TOPIC, plan.batch_messages)
    answer = await ask_once(servers.acklog, posts(bodies)[0])
    await put_answer(servers.fastapi, "batch", answer.body, status=answer.status)
    packing = Measurement(_packing_name(plan), "messages/s")
    framework = Measurement(f"{FASTAPI}, same bytes", "messages/s")
    stored = Measurement(f"durable sends in batches of {plan.batch_messages:,} × 100 B", "messages/s")
    for _ in range(plan.rounds):
        packing.add(_pack(bodies, plan))
        await saturate_with_batches(
            bench, framework, servers.fastapi, posts(bodies, "/answers/batch"), plan.limit_seconds
        )
        await saturate_with_batches(bench, stored, servers.acklog, posts(bodies), plan.seconds)
    result = stored.result(
        limits=(packing.limit(PACKING), framework.limit()), target_text=f"≥ {BATCHED_RATE_TARGET:,}/s"
    )
    bench.report(result.judged(result.value >= BATCHED_RATE_TARGET))


async def burst(bench: Bench) -> None:
    """Latencies of single sends while others send in batches whatever the server takes, 1 KB messages, so that the
    journal's files fill up many times. The rest of the server's life is calm: this is where sends meet its upkeep."""
    plan, server = bench.plan, bench.servers.acklog
    await create_topic(server, "burst", PARTITIONS)
    heavy = posts(batch_bodies("burst", plan.burst_messages, body_bytes=1000))
    beside = f"beside batches of {plan.burst_messages:,} × 1 KB"
    light = Measurement(f"{plan.burst_rate:,} single sends/s {beside}: p99", "ms")
    taken = Measurement(f"the same batches: messages of 1 KB, with {plan.burst_rate:,} single sends/s beside", "/s")
    for _ in range(plan.rounds):
        async with connected(server, plan.batch_connections) as connections, asyncio.TaskGroup() as both:
            load = both.create_task(
                closed_loop(
                    connections,
                    heavy,
                    seconds=plan.open_loop_seconds,
                    warm_up_s=plan.warm_up_s,
                    answers_max=plan.batch_answers_max,
                )
            )
            await _keep_to(bench, light, server, posts(single_bodies("burst")), rate=plan.burst_rate)
        taken.add(load.result().rate * plan.burst_messages, load.result())
    bench.report(light.result(with_curve=True))
    bench.report(taken.result())


async def saturate_with_batches(
    bench: Bench, measurement: Measurement, server: ServerProcess, requests: Sequence[bytes], seconds: float
) -> None:
    plan = bench.plan
    async with connected(server, plan.batch_connections) as connections:
        with measured(server.pid, measurement.usage):
            load = await closed_loop(
                connections, requests, seconds=seconds, warm_up_s=plan.warm_up_s, answers_max=plan.batch_answers_max
            )
    measurement.add(load.rate * plan.batch_messages, load)


def _packing_name(plan: Plan) -> str:
    return f"{PACKING}, batches of {plan.batch_messages:,} × 100 B"


def _pack(bodies: Sequence[bytes], plan: Plan) -> float:
    return measure_packing(bodies, messages=plan.batch_messages, partitions=PARTITIONS, seconds=plan.codec_seconds)
