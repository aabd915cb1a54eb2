"""Probes against a server that answers what it is told to."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from examples.server_process import ServerProcess
from loadtests.failover_probes import Place, Probe, write_once, write_to, write_until
from loadtests.http_connection import connect
from loadtests.load import LoadFailedError
from loadtests.process_costs import LOAD, Costs, measured_by_role
from loadtests.steady_load import SteadyLoad

HANG_UP = 0
SILENCE = -1


class Answering:
    """Answers requests with the statuses in `answers`, then with 201; HANG_UP closes the connection."""

    def __init__(self) -> None:
        self.answers: deque[int] = deque()
        self.bodies: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                self.bodies.append(await reader.readexactly(length))
                status = self.answers.popleft() if self.answers else 201
                if status == HANG_UP:
                    break
                if status == SILENCE:
                    continue
                body = b"{}" if status == 201 else b'{"code":"UNAVAILABLE"}'
                writer.write(b"HTTP/1.1 %d X\r\ncontent-length: %d\r\n\r\n%s" % (status, len(body), body))
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()


@asynccontextmanager
async def answering() -> AsyncIterator[tuple[Answering, ServerProcess]]:
    served = Answering()
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0)
    try:
        yield served, ServerProcess([], server.sockets[0].getsockname()[1], Path("unused"))
    finally:
        server.close()


def probes_of(process: ServerProcess, count: int) -> list[Probe]:
    return [Probe(process, Place("t", number), retry_pause_s=0) for number in range(count)]


async def test_a_write_names_its_partition_and_has_a_hundred_bytes() -> None:
    body = msgspec.json.decode(write_to(Place("t", 7)).partition(b"\r\n\r\n")[2])
    assert (body["queue"], body["partition"], len(msgspec.json.encode(body["body"]))) == ("t", 7, 100)


async def test_a_probe_tries_until_it_is_acknowledged_and_tells_what_failed() -> None:
    async with answering() as (served, process):
        served.answers.extend([503, HANG_UP, 500])
        [probe] = probes_of(process, 1)
        written = await probe.write(timeout_s=5)
        probe.close()
    assert written.failures == ["503 UNAVAILABLE", "0 connection lost", "500 UNAVAILABLE"]
    assert written.acknowledged_s > written.sent_s
    assert len(served.bodies) == 4


async def test_a_probe_that_is_never_acknowledged_says_which_and_why() -> None:
    async with answering() as (served, process):
        served.answers.extend([503, SILENCE])
        [probe] = probes_of(process, 1)
        with pytest.raises(LoadFailedError, match=r"partition=0.*503 UNAVAILABLE"):
            await probe.write(timeout_s=0.05)
        probe.close()


async def test_nobody_who_listens_is_a_failure_like_another() -> None:
    async with answering() as (_, process):
        pass
    [probe] = probes_of(process, 1)
    with pytest.raises(LoadFailedError, match="connection lost"):
        await probe.write(timeout_s=0.05)


async def test_all_partitions_are_written_to_once_or_until_it_is_over() -> None:
    async with answering() as (served, process):
        probes = probes_of(process, 3)
        assert len(await write_once(probes, timeout_s=5)) == 3
        every = await write_until(probes, over_after(served, 9), pause_s=0, timeout_s=5)
        for probe in probes:
            probe.close()
    assert min(len(writes) for writes in every) >= 1
    assert sum(len(writes) for writes in every) == len(served.bodies) - 3
    assert len(served.bodies) >= 9


def over_after(served: Answering, count: int) -> Callable[[], bool]:
    return lambda: len(served.bodies) >= count


async def test_a_steady_load_counts_answers_and_errors_and_what_was_never_answered() -> None:
    async with answering() as (served, process):
        served.answers.extend([503, HANG_UP, SILENCE])
        connections = await connect(process.port, 6)
        requests = [write_to(Place("t", number)) for number in range(4)]
        async with SteadyLoad(connections, requests, rate=2000, drain_timeout_s=0.05) as steady:
            while steady.answers < 20:
                await asyncio.sleep(0)
        for connection in connections:
            connection.close()
    assert steady.errors == 3
    assert steady.answers >= 20
    assert steady.p99_ms is not None
    assert {msgspec.json.decode(body)["partition"] for body in served.bodies} == {0, 1, 2, 3}


def test_costs_add_up_over_rounds_and_a_failed_round_does_not_count() -> None:
    import os

    costs = Costs()
    for rate in (100.0, 300.0):
        with measured_by_role({"us": [os.getpid()]}, costs) as this_round:
            this_round.rate = rate
    assert set(costs.cpu_s) == {"us", LOAD}
    before = costs.wall_s
    assert 0 < costs.messages < 300 * before
    with pytest.raises(ZeroDivisionError), measured_by_role({"us": [os.getpid()]}, costs):
        raise ZeroDivisionError
    assert costs.wall_s == before
    assert {cost.role: cost.processes for cost in costs.by_role()} == {"us": 1, LOAD: 1}
