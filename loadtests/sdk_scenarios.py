"""What is measured of the SDK, beside what ready-made requests do with the same server in the same round."""

import asyncio
import sys

import msgspec

from loadtests.load import LoadFailedError
from loadtests.measurement import Measurement
from loadtests.payloads import batch_bodies, posts
from loadtests.process_usage import usage_of
from loadtests.reading_scenarios import drain_round, receive_target
from loadtests.scenarios import BATCHES_TOPIC, Bench, saturate_with_batches
from loadtests.sdk_rates import Rate

PRODUCERS = {"async-producer": 150_000, "sync-producer": 100_000}  # messages/s that are aimed at
CONSUMERS = {"async-consumer": 50_000, "sync-consumer": 50_000}
ROUND_TIMEOUT_S = 90.0
RAW_SENDS, RAW_RECEIVES = "ready-made batches to the same server", "ready-made receives and acks"


async def sdk(bench: Bench) -> None:
    """Everything with default settings. There is no warm-up: the time is that from the first message to the last
    confirmation."""
    plan, acklog = bench.plan, bench.servers.acklog
    requests = posts(batch_bodies(BATCHES_TOPIC, plan.batch_messages))
    sends, receives = Measurement(RAW_SENDS, "messages/s"), Measurement(RAW_RECEIVES, "messages/s")
    runs = {name: Measurement(f"SDK, {name.replace('-', ' ')}", "messages/s") for name in PRODUCERS | CONSUMERS}
    for number in range(plan.rounds):
        await saturate_with_batches(bench, sends, acklog, requests, plan.limit_seconds)
        for name in PRODUCERS:
            await _run_once(bench, name, runs[name])
        target = receive_target(plan, f"sdk-limit-{number}")
        await drain_round(bench, receives, None, acklog, target, "/ack", plan.limit_seconds)
        for name in CONSUMERS:
            await _run_once(bench, name, runs[name])
    for aims, limit in ((PRODUCERS, sends), (CONSUMERS, receives)):
        bench.report(limit.result())
        for name, aim in aims.items():
            result = runs[name].result(limits=(limit.limit(),), target_text=f"≥ {aim:,}/s")
            bench.report(result.judged(result.value >= aim))


async def _run_once(bench: Bench, name: str, measurement: Measurement) -> None:
    """A round, in a process of its own, on the load's processor. Raises LoadFailedError."""
    server = bench.servers.acklog
    arguments = ["--url", server.url, "--seconds", str(bench.plan.seconds)]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "loadtests.sdk_once",
        name,
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(ROUND_TIMEOUT_S):
            output, errors = await process.communicate()
    except TimeoutError:
        raise LoadFailedError(f"the SDK's {name} did not end within {ROUND_TIMEOUT_S:.0f} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise LoadFailedError(f"the SDK's {name} failed: {errors.decode(errors='replace')[-600:]}")
    rate = msgspec.json.decode(output, type=Rate)
    measurement.add(rate.per_second)
    usage, now = measurement.usage, usage_of(server.pid)
    usage.wall_s += rate.seconds
    usage.client_cpu_s += rate.cpu_seconds
    usage.server_resident_bytes, usage.server_peak_bytes = now.resident_bytes, now.peak_bytes
