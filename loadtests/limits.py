"""The machine's limits, measured in the same run and with the same client as everything else."""

from dataclasses import dataclass, field
from pathlib import Path

from examples.latencies import percentile
from loadtests.bench_server import bare_server, connected
from loadtests.disk_limit import measure_appends
from loadtests.load import closed_loop, open_loop
from loadtests.measured import measured
from loadtests.payloads import exchange, single_sends
from loadtests.plan import Cpus, Plan
from loadtests.result import Result

FRAMEWORK = "bare FastAPI"


@dataclass(slots=True)
class Limits:
    """Rates per second of the bare FastAPI: single sends by number of connections; and p99 by open-loop rate."""

    singles: dict[int, float] = field(default_factory=dict)
    open_loop_p99_ms: dict[int, float] = field(default_factory=dict)


def measure_disk(directory: Path, plan: Plan) -> Result:
    durations = measure_appends(directory, plan.disk_appends)
    return Result(
        name="disk: append 4 KiB + fdatasync",
        value=len(durations) / sum(durations),
        unit="/s",
        p50_ms=percentile(durations, 50) * 1000,
        p99_ms=percentile(durations, 99) * 1000,
        p999_ms=percentile(durations, 99.9) * 1000,
        wall_s=sum(durations),
    )


async def measure_bare(kind: str, directory: Path, plan: Plan, cpus: Cpus, limits: Limits) -> list[Result]:
    """Single sends to a server with nothing behind it; `limits` learns those of the framework."""
    results = []
    requests = single_sends("bench")
    name = FRAMEWORK if kind == "fastapi" else "bare uvicorn, ASGI callable"
    async with bare_server(kind, directory, cpus) as server:
        for count in plan.connection_counts:
            async with connected(server, count) as connections:
                with measured(server.pid) as usage:
                    load = await closed_loop(connections, requests, seconds=plan.seconds, warm_up_s=plan.warm_up_s)
            if kind == "fastapi":
                limits.singles[count] = load.rate
            results.append(
                Result(
                    name=f"{name}, {count} connections",
                    value=load.rate,
                    unit="requests/s",
                    p50_ms=load.latency_ms(50),
                    p99_ms=load.latency_ms(99),
                    p999_ms=load.latency_ms(99.9),
                    errors=load.errors,
                    wall_s=usage.wall_s,
                    server_cpu_s=usage.server_cpu_s,
                    client_cpu_s=usage.client_cpu_s,
                    server_resident_bytes=usage.server_resident_bytes,
                )
            )
        if kind == "fastapi":
            for rate in plan.open_loop_rates:
                async with connected(server, plan.open_loop_connections) as connections:
                    load = await open_loop(
                        connections,
                        requests,
                        rate=rate,
                        seconds=plan.seconds,
                        warm_up_s=plan.warm_up_s,
                        is_spinning=cpus.is_client_alone,
                    )
                limits.open_loop_p99_ms[rate] = load.latency_ms(99)
    return results


async def exchange_rate(
    directory: Path,
    plan: Plan,
    cpus: Cpus,
    *,
    method: str,
    connections_count: int,
    request_bytes: int,
    answer_bytes: int,
) -> float:
    """How many requests/s the bare FastAPI answers when as many bytes go both ways."""
    async with bare_server("fastapi", directory, cpus) as server, connected(server, connections_count) as connections:
        load = await closed_loop(
            connections,
            [exchange(method, answer_bytes, request_bytes)],
            seconds=plan.seconds / 2,
            warm_up_s=plan.warm_up_s,
            expected_status=200,
        )
    return load.rate
