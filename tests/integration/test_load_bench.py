"""Every scenario of the benchmark once, much too short for its numbers to mean anything: what it measures, what it
compares, and that the bare servers are given and give the same bytes."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from loadtests import reading_scenarios, scenarios, sdk_scenarios
from loadtests.bench_server import Servers, all_servers, ask_once, put_answer
from loadtests.http_connection import make_request
from loadtests.load import LoadFailedError
from loadtests.payloads import batch_bodies, posts, single_bodies
from loadtests.plan import Cpus, Plan
from loadtests.result import Result
from loadtests.scenarios import Bench

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

PLAN = Plan(
    rounds=2,
    seconds=0.1,
    limit_seconds=0.1,
    warm_up_s=0.05,
    open_loop_seconds=0.2,
    codec_seconds=0.02,
    disk_appends=5,
    sequential_bytes=3_000_000,
    connection_counts=(4,),
    open_loop_rates=(200,),
    open_loop_connections=8,
    batch_messages=100,
    receive_max=50,
    stored_messages=5_000,
    records_bytes=100_000,
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def servers(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Servers]:
    async with all_servers(tmp_path_factory.mktemp("servers"), Cpus(None, None)) as started:
        yield started


async def test_every_scenario_measures_its_limits_and_its_result_in_every_round(
    servers: Servers, tmp_path: Path
) -> None:
    results: list[Result] = []
    bench = Bench(servers, tmp_path, PLAN, Cpus(None, None), results.append)
    scenarios.machine(bench)
    await scenarios.singles(bench)
    await scenarios.open_loops(bench)
    await scenarios.batches(bench)
    await reading_scenarios.fill(bench)
    await reading_scenarios.receives(bench)
    await reading_scenarios.records(bench)

    assert len({result.name for result in results}) == len(results)
    assert [result.errors for result in results] == [0] * len(results)
    assert all(len(result.values) == PLAN.rounds and min(result.values) > 0 for result in results)
    compared = {result.name: [limit.name for limit in result.limits] for result in results if result.limits}
    assert compared == {
        "durable single sends, 4 connections": [scenarios.PROTOCOL, scenarios.ASGI, scenarios.FASTAPI],
        "open loop, 200 single sends/s: p99": [f"{scenarios.PROTOCOL}, same rate", f"{scenarios.FASTAPI}, same rate"],
        "durable sends in batches of 100 × 100 B": [scenarios.PACKING, f"{scenarios.FASTAPI}, same bytes"],
        "received and acknowledged in batches of 50 (latency: receive)": [f"{scenarios.FASTAPI}, same bytes"],
        "records endpoint, raw": [f"{scenarios.FASTAPI}, same bytes"],
        "records endpoint, NDJSON": [f"{scenarios.FASTAPI}, same bytes"],
    }
    assert all(result.ratio_to(limit).median > 0 for result in results for limit in result.limits)
    for result in results:
        if result.unit == "requests/s":
            assert result.server_peak_bytes >= result.server_resident_bytes > 0
            assert result.wall_s > PLAN.rounds * PLAN.limit_seconds
    (open_loop,) = [result for result in results if result.lateness is not None]
    assert open_loop.curve
    assert [name for name, curve in open_loop.limit_curves if curve] == [scenarios.PROTOCOL, scenarios.FASTAPI]


async def test_the_sdk_is_measured_beside_ready_made_requests(servers: Servers, tmp_path: Path) -> None:
    results: list[Result] = []
    bench = Bench(servers, tmp_path, replace(PLAN, rounds=1), Cpus(None, None), results.append)
    await reading_scenarios.fill(bench)
    await sdk_scenarios.sdk(bench)
    compared = {result.name: [limit.name for limit in result.limits] for result in results if result.limits}
    assert compared == {
        "SDK, async producer": [sdk_scenarios.RAW_SENDS],
        "SDK, sync producer": [sdk_scenarios.RAW_SENDS],
        "SDK, async consumer": [sdk_scenarios.RAW_RECEIVES],
        "SDK, sync consumer": [sdk_scenarios.RAW_RECEIVES],
    }
    assert all(result.value > 0 and result.errors == 0 for result in results)
    assert all(result.is_met is not None for result in results if result.limits)


async def test_the_bare_servers_answer_a_send_with_as_many_bytes(servers: Servers) -> None:
    request = posts(single_bodies("sizes"))[0]
    await ask_once(servers.acklog, request)
    answers = [
        await ask_once(server, request) for server in (servers.acklog, servers.fastapi, servers.asgi, servers.protocol)
    ]
    assert {answer.status for answer in answers} == {201}
    lengths = [len(answer.body) for answer in answers]
    assert max(lengths) - min(lengths) <= 12
    assert max(len(answer.head) for answer in answers) - min(len(answer.head) for answer in answers) <= 80


async def test_the_bare_server_answers_what_it_was_taught(servers: Servers) -> None:
    stored = await ask_once(servers.acklog, posts(batch_bodies("sizes", 20))[0])
    await put_answer(servers.fastapi, "batch", stored.body, status=stored.status)
    again = await ask_once(servers.fastapi, posts(batch_bodies("sizes", 20), "/answers/batch")[0])
    assert (again.status, again.body) == (stored.status, stored.body)
    with pytest.raises(LoadFailedError, match="404"):
        await ask_once(servers.fastapi, make_request("GET", "/answers/nothing"))


async def test_a_server_that_answers_something_else_ends_the_benchmark(servers: Servers, tmp_path: Path) -> None:
    bench = Bench(replace(servers, acklog=servers.fastapi), tmp_path, PLAN, Cpus(None, None), lambda _: None)
    with pytest.raises(LoadFailedError, match=r"PUT /topics/batches HTTP/1.1: 404"):
        await scenarios.batches(bench)
