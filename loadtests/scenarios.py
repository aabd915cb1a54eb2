"""What is measured of Acklog. Each scenario gives results with the limit that belongs to them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from examples.latencies import percentile
from examples.server_process import ServerProcess
from loadtests.bench_server import connected, create_topic
from loadtests.limits import FRAMEWORK, Limits, exchange_rate
from loadtests.load import LoadResult, closed_loop, open_loop
from loadtests.measured import Usage, measured
from loadtests.payloads import batch_sends, single_sends
from loadtests.plan import Cpus, Plan
from loadtests.reading import drain, read_log
from loadtests.result import Result

MB = 1_000_000
PARTITIONS = 8
SINGLES_RATIO_TARGET = 0.5
BATCHED_RATE_TARGET = 300_000
OPEN_LOOP_P99_TARGET_MS = 10.0
BATCH_ANSWER_BYTES_PER_MESSAGE = 70
RECORD_TYPES = {"raw": "application/vnd.acklog.batches", "NDJSON": "application/x-ndjson"}


@dataclass(slots=True)
class Bench:
    """`report` is called with each result as soon as it is there."""

    server: ServerProcess
    directory: Path
    plan: Plan
    cpus: Cpus
    limits: Limits
    report: Callable[[Result], None]
    stored_in_batches: int = 0

    async def run(self) -> None:
        await self.singles()
        await self.open_loops()
        await self.batches()
        await self.receives()
        await self.records()

    async def singles(self) -> None:
        await create_topic(self.server, "singles", PARTITIONS)
        for count in self.plan.connection_counts:
            async with connected(self.server, count) as connections:
                with measured(self.server.pid) as usage:
                    load = await closed_loop(
                        connections,
                        single_sends("singles"),
                        seconds=self.plan.seconds,
                        warm_up_s=self.plan.warm_up_s,
                    )
            limit = self.limits.singles[count]
            self.report(
                _result(
                    f"durable single sends, {count} connections",
                    load,
                    usage,
                    limit=limit,
                    limit_name=f"{FRAMEWORK}, {count} connections",
                    target_text=f"≥ {SINGLES_RATIO_TARGET} × limit",
                    is_met=load.rate >= SINGLES_RATIO_TARGET * limit,
                )
            )

    async def open_loops(self) -> None:
        await create_topic(self.server, "steady", PARTITIONS)
        for rate in self.plan.open_loop_rates:
            async with connected(self.server, self.plan.open_loop_connections) as connections:
                with measured(self.server.pid) as usage:
                    load = await open_loop(
                        connections,
                        single_sends("steady"),
                        rate=rate,
                        seconds=self.plan.seconds * 2,
                        warm_up_s=self.plan.warm_up_s,
                        is_spinning=self.cpus.is_client_alone,
                    )
            self.report(
                _result(
                    f"open loop, {rate:,} single sends/s: p99",
                    load,
                    usage,
                    value=load.latency_ms(99),
                    unit="ms",
                    limit=self.limits.open_loop_p99_ms[rate],
                    limit_name=f"{FRAMEWORK}, same rate",
                    target_text=f"< {OPEN_LOOP_P99_TARGET_MS:g} ms",
                    is_met=load.latency_ms(99) < OPEN_LOOP_P99_TARGET_MS,
                )
            )

    async def batches(self) -> None:
        plan = self.plan
        await create_topic(self.server, "batches", PARTITIONS)
        requests = batch_sends("batches", plan.batch_messages)
        async with connected(self.server, plan.batch_connections) as connections:
            with measured(self.server.pid) as usage:
                load = await closed_loop(connections, requests, seconds=plan.seconds, warm_up_s=plan.warm_up_s)
        self.stored_in_batches = load.answers * plan.batch_messages
        rate = load.rate * plan.batch_messages
        limit = await exchange_rate(
            self.directory,
            plan,
            self.cpus,
            method="POST",
            connections_count=plan.batch_connections,
            request_bytes=len(requests[0]),
            answer_bytes=plan.batch_messages * BATCH_ANSWER_BYTES_PER_MESSAGE,
        )
        self.report(
            _result(
                f"durable sends in batches of {plan.batch_messages:,} × 100 B",
                load,
                usage,
                value=rate,
                unit="messages/s",
                limit=limit * plan.batch_messages,
                limit_name=f"{FRAMEWORK}, same bytes",
                target_text=f"≥ {BATCHED_RATE_TARGET:,}/s",
                is_met=rate >= BATCHED_RATE_TARGET,
            )
        )

    async def receives(self) -> None:
        plan = self.plan
        async with connected(self.server, plan.receive_connections) as connections:
            with measured(self.server.pid) as usage:
                drained = await drain(
                    connections,
                    "batches",
                    "bench",
                    messages=min(plan.receive_messages, self.stored_in_batches),
                    max_messages=plan.receive_max,
                    seconds=plan.seconds * 2,
                )
        received = await self._exchange_rate("GET", request_bytes=0, answer_bytes=drained.delivery_bytes)
        acknowledged = await self._exchange_rate(
            "POST", request_bytes=drained.ack_request_bytes, answer_bytes=drained.ack_answer_bytes
        )
        rounds = sorted(drained.receive_latencies)
        load = LoadResult(drained.messages, 0, drained.seconds, rounds)
        self.report(
            _result(
                f"received and acknowledged in batches of {plan.receive_max:,} (latency: receive)",
                load,
                usage,
                unit="messages/s",
                limit=plan.receive_max / (1 / received + 1 / acknowledged),
                limit_name=f"{FRAMEWORK}, same bytes",
            )
        )
        acks = sorted(drained.ack_latencies)
        self.report(
            Result(
                name=f"acknowledgement of {plan.receive_max:,}: p50",
                value=percentile(acks, 50) * 1000,
                unit="ms",
                p50_ms=percentile(acks, 50) * 1000,
                p99_ms=percentile(acks, 99) * 1000,
                p999_ms=percentile(acks, 99.9) * 1000,
            )
        )

    async def records(self) -> None:
        plan = self.plan
        for name, accept in RECORD_TYPES.items():
            async with connected(self.server, 1) as connections:
                with measured(self.server.pid) as usage:
                    load, size_bytes = await read_log(
                        connections[0],
                        "batches",
                        PARTITIONS,
                        accept=accept,
                        max_bytes=plan.records_bytes,
                        seconds=plan.seconds / 2,
                    )
            per_answer = size_bytes // load.answers
            limit = await exchange_rate(
                self.directory,
                plan,
                self.cpus,
                method="GET",
                connections_count=1,
                request_bytes=0,
                answer_bytes=per_answer,
            )
            self.report(
                _result(
                    f"records endpoint, {name}",
                    load,
                    usage,
                    value=size_bytes / load.seconds / MB,
                    unit="MB/s",
                    limit=limit * per_answer / MB,
                    limit_name=f"{FRAMEWORK}, same bytes",
                )
            )

    async def _exchange_rate(self, method: str, *, request_bytes: int, answer_bytes: int) -> float:
        return await exchange_rate(
            self.directory,
            self.plan,
            self.cpus,
            method=method,
            connections_count=self.plan.receive_connections,
            request_bytes=request_bytes,
            answer_bytes=answer_bytes,
        )


def _result(
    name: str,
    load: LoadResult,
    usage: Usage,
    *,
    limit: float,
    limit_name: str,
    value: float | None = None,
    unit: str = "requests/s",
    target_text: str = "",
    is_met: bool | None = None,
) -> Result:
    return Result(
        name=name,
        value=load.rate if value is None else value,
        unit=unit,
        limit=limit,
        limit_name=limit_name,
        target_text=target_text,
        is_met=is_met,
        p50_ms=load.latency_ms(50),
        p99_ms=load.latency_ms(99),
        p999_ms=load.latency_ms(99.9),
        errors=load.errors,
        wall_s=usage.wall_s,
        server_cpu_s=usage.server_cpu_s,
        client_cpu_s=usage.client_cpu_s,
        server_resident_bytes=usage.server_resident_bytes,
    )


def failures(results: Sequence[Result]) -> int:
    """Requests that were not answered as they should have been."""
    return sum(result.errors for result in results)
