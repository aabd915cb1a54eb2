"""What is measured of receives, acknowledgements and reads of the log, beside the limits that belong to them."""

from collections.abc import Callable

from acklog.wire.log_page import MEDIA_TYPE
from examples.latencies import percentile
from examples.server_process import ServerProcess
from loadtests.bench_server import ask_once, connected, create_topic, put_answer
from loadtests.http_connection import make_request
from loadtests.load import LoadFailedError, LoadResult, closed_loop
from loadtests.measured import measured
from loadtests.measurement import Measurement
from loadtests.payloads import batch_bodies, posts
from loadtests.plan import Plan
from loadtests.reading import ack_body, drain, read_log
from loadtests.scenarios import BATCHES_TOPIC, FASTAPI, MB, PARTITIONS, Bench

FILL_SECONDS_MAX = 30.0
PROBE_GROUP = "probe"
RECORD_TYPES = {"raw": MEDIA_TYPE, "NDJSON": "application/x-ndjson"}


async def fill(bench: Bench) -> None:
    """So that there is enough to read, whichever scenarios ran before. Not measured. Raises LoadFailedError."""
    plan = bench.plan
    await create_topic(bench.servers.acklog, BATCHES_TOPIC, PARTITIONS)
    requests = posts(batch_bodies(BATCHES_TOPIC, plan.batch_messages))
    async with connected(bench.servers.acklog, plan.batch_connections) as connections:
        load = await closed_loop(
            connections,
            requests,
            seconds=FILL_SECONDS_MAX,
            warm_up_s=0,
            answers_max=plan.stored_messages // plan.batch_messages,
        )
    if load.errors or load.answers < plan.stored_messages // plan.batch_messages:
        raise LoadFailedError(f"only {load.answers:,} batches were stored before reading them, {load.errors} failed")


async def receives(bench: Bench) -> None:
    """Receive and acknowledge, over and over; the bare server answers the same bytes to the same client."""
    plan, servers = bench.plan, bench.servers
    await _teach_deliveries(bench)
    framework = Measurement(f"{FASTAPI}, same bytes", "messages/s")
    name = f"received and acknowledged in batches of {plan.receive_max:,} (latency: receive)"
    done = Measurement(name, "messages/s")
    acks = Measurement(f"acknowledgement of {plan.receive_max:,}: p50", "ms")
    for number in range(plan.rounds):
        await drain_round(
            bench, framework, None, servers.fastapi, "/answers/deliveries", "/answers/settled", plan.limit_seconds
        )
        group = f"bench-{number}"  # one of its own starts at the earliest message
        await drain_round(bench, done, acks, servers.acklog, receive_target(plan, group), "/ack", plan.seconds)
    bench.report(done.result(limits=(framework.limit(),)))
    bench.report(acks.result())


async def _teach_deliveries(bench: Bench) -> None:
    """The bare server learns what Acklog answers to a receive and to an acknowledgement."""
    servers = bench.servers
    delivery = await ask_once(servers.acklog, make_request("GET", receive_target(bench.plan, PROBE_GROUP)))
    acks = ack_body(delivery.body)
    if acks is None:
        raise LoadFailedError(f"nothing came to be acknowledged: {delivery.body[:300]!r}")
    settled = await ask_once(servers.acklog, make_request("POST", "/ack", acks.body))
    await put_answer(servers.fastapi, "deliveries", delivery.body)
    await put_answer(servers.fastapi, "settled", settled.body)


async def drain_round(
    bench: Bench,
    measurement: Measurement,
    acks: Measurement | None,
    server: ServerProcess,
    receive_target: str,
    ack_target: str,
    seconds: float,
) -> None:
    """A round. Its warm-up takes at most a quarter of what is stored and the rest at most half, so that the topic's
    end, with its waiting, is never reached."""
    plan = bench.plan
    async with connected(server, plan.receive_connections) as connections:
        await drain(
            connections,
            receive_target=receive_target,
            ack_target=ack_target,
            messages=plan.stored_messages // 4,
            seconds=plan.warm_up_s,
        )
        with measured(server.pid, measurement.usage):
            drained = await drain(
                connections,
                receive_target=receive_target,
                ack_target=ack_target,
                messages=plan.stored_messages // 2,
                seconds=seconds,
            )
    receive_load = LoadResult(drained.messages, 0, drained.seconds, drained.receive_latencies)
    measurement.add(drained.rate, receive_load)
    if acks is not None:
        ordered = sorted(drained.ack_latencies)
        acks.add(percentile(ordered, 50) * 1000, LoadResult(len(ordered), 0, drained.seconds, ordered))


def receive_target(plan: Plan, group: str) -> str:
    return f"/messages?queue={BATCHES_TOPIC}&group={group}&max={plan.receive_max}&maxBytes=16777216&waitSeconds=1"


async def records(bench: Bench) -> None:
    """The log as it is, read from start to end, one request after the other on one connection."""
    plan, servers = bench.plan, bench.servers

    def target_of(partition: int, offset: int) -> str:
        where = f"/topics/{BATCHES_TOPIC}/partitions/{partition}/records"
        return f"{where}?offset={offset}&maxBytes={plan.records_bytes}"

    for name, accept in RECORD_TYPES.items():
        probe = await ask_once(servers.acklog, make_request("GET", target_of(0, 0), accept=accept))
        await put_answer(servers.fastapi, name, probe.body)
        framework = Measurement(f"{FASTAPI}, same bytes", "MB/s")
        read = Measurement(f"records endpoint, {name}", "MB/s")
        for _ in range(plan.rounds):
            await _read(bench, framework, servers.fastapi, _always(f"/answers/{name}"), accept)
            await _read(bench, read, servers.acklog, target_of, accept)
        bench.report(read.result(limits=(framework.limit(),)))


def _always(target: str) -> Callable[[int, int], str]:
    return lambda _partition, _offset: target


async def _read(
    bench: Bench, measurement: Measurement, server: ServerProcess, target_of: Callable[[int, int], str], accept: str
) -> None:
    plan = bench.plan
    async with connected(server, 1) as connections:
        await read_log(connections[0], target_of, PARTITIONS, accept=accept, seconds=plan.warm_up_s)
        with measured(server.pid, measurement.usage):
            log = await read_log(connections[0], target_of, PARTITIONS, accept=accept, seconds=plan.limit_seconds)
    measurement.add(log.bytes_per_s / MB, log.load)
