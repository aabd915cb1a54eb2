"""examples/flights_pipeline: workers and the server are killed on the way, and what comes out is exactly right."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from acklog import AcklogError, Client, OutgoingMessage
from examples.flights_pipeline.pipeline import FLIGHTS, GROUP, LATE, late_flight
from tests.support.server_process import REPOSITORY, ServerProcess
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("flights-pipeline")]

PROGRAM = REPOSITORY / "examples/flights_pipeline/pipeline.py"
CARRIERS = ("AA", "DL", "UA", "WN")
PARTITIONS = 4
SESSION_S = 6
WAIT_SECONDS = 120


def flights(numbers: range) -> list[dict[str, Any]]:
    return [
        {"flight": f"{CARRIERS[number % 4]}{number}", "carrier": CARRIERS[number % 4], "delay": number * 7 % 40}
        for number in numbers
    ]


class Worker:
    """A process of the pipeline, killed at the end."""

    def __init__(self, directory: Path, url: str) -> None:
        environment = {
            **os.environ,
            "ACKLOG_URL": url,
            "DELAYS": str(directory / "delays.db"),
            "SESSION_TIMEOUT_S": str(SESSION_S),
        }
        with (directory / "workers.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(PROGRAM)], env=environment, cwd=REPOSITORY, stdout=log, stderr=log
            )

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def counted(directory: Path) -> dict[str, tuple[int, int]]:
    """Flights and minutes of each carrier."""
    path = directory / "delays.db"
    if not path.exists():
        return {}
    with closing(sqlite3.connect(path, timeout=30)) as database:
        if database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'delays'").fetchone() == (0,):
            return {}
        return {carrier: (count, minutes) for carrier, count, minutes in database.execute("SELECT * FROM delays")}


def flights_counted(directory: Path) -> int:
    return sum(count for count, _ in counted(directory).values())


def sent_on(client: Client) -> Counter[str]:
    found: Counter[str] = Counter()
    for partition in range(client.topics.get(LATE).partitions):
        page = client.records(LATE, partition, offset=0)
        while page.messages:
            found.update(message.body["flight"] for message in page.messages)
            page = client.records(LATE, partition, offset=page.next_offset)
    return found


def is_done(client: Client) -> bool:
    try:
        offsets = client.groups.offsets(GROUP, FLIGHTS)
    except AcklogError:
        return False
    return len(offsets.offsets) == PARTITIONS and offsets.lag == 0


def run_pipeline(directory: Path, *, count: int, kills: int, seed: int) -> None:
    """Half of the kills are of workers, and half of the server."""
    chosen = random.Random(seed)
    expected = flights(range(count))
    with ServerProcess(directory / "data", directory / "server.log") as server, ExitStack() as processes:
        with Client(server.base_url) as client:
            client.topics.create(FLIGHTS, PARTITIONS)
            outgoing = [OutgoingMessage(each, key=each["flight"]) for each in expected]
            client.send_many(FLIGHTS, outgoing)
        workers = [Worker(directory, server.base_url) for _ in range(2)]
        for worker in workers:
            processes.callback(worker.kill)
        for kill in range(kills):
            until = count * (kill + 1) // (kills + 2)
            wait_until(lambda: flights_counted(directory) >= until, seconds=WAIT_SECONDS, what=f"{until} flights")  # noqa: B023
            if kill % 2:
                server.kill()
                server.start()
                # It has another port: whoever works for the old one is replaced, too.
                victims = list(workers)
            else:
                victims = [chosen.choice(workers)]
            for victim in victims:
                victim.kill()
                workers[workers.index(victim)] = replacement = Worker(directory, server.base_url)
                processes.callback(replacement.kill)
        with Client(server.base_url) as client:
            wait_until(lambda: is_done(client), seconds=WAIT_SECONDS, what="all acks")
            late = Counter(each["flight"] for each in expected if late_flight(each) is not None)
            assert sent_on(client) == late
    totals = {
        carrier: (len(delays), sum(delays))
        for carrier in CARRIERS
        if (delays := [each["delay"] for each in expected if each["carrier"] == carrier])
    }
    assert counted(directory) == totals
    shutil.rmtree(directory / "data")


def test_a_worker_and_the_server_are_killed_and_every_flight_counts_once(tmp_path: Path) -> None:
    run_pipeline(tmp_path, count=800, kills=2, seed=1)


@pytest.mark.slow
@pytest.mark.faults
def test_killed_again_and_again(tmp_path: Path) -> None:
    run_pipeline(tmp_path, count=10_000, kills=10, seed=2)
