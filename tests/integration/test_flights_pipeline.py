"""examples/flights_pipeline: workers and the server are killed on the way, and what comes out is exactly right."""

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import msgspec
import pytest

from acklog import Client, OutgoingMessage
from acklog.messages import Message
from examples.flights_pipeline import pipeline
from examples.flights_pipeline.pipeline import FLIGHTS, late_flight
from tests.integration.flights_work import (
    DELAYS,
    PARTITIONS,
    counted,
    faults_of,
    flights,
    flights_counted,
    is_done,
    totals_of,
)
from tests.support.server_process import REPOSITORY, ServerProcess
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("flights-pipeline")]

PROGRAM = REPOSITORY / "examples/flights_pipeline/pipeline.py"
SESSION_S = 6
WAIT_SECONDS = 120


class Worker:
    """A process of the pipeline, killed at the end."""

    def __init__(self, directory: Path, url: str) -> None:
        environment = {
            **os.environ,
            "ACKLOG_URL": url,
            "DELAYS": str(directory / DELAYS),
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
            assert faults_of(client, directory, expected) == []
    shutil.rmtree(directory / "data")


def test_a_worker_and_the_server_are_killed_and_every_flight_counts_once(tmp_path: Path) -> None:
    run_pipeline(tmp_path, count=800, kills=2, seed=1)


def test_threads_share_a_connection_in_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one each, SQLite's locks are lost where one is closed while another one writes; unless they take turns,
    what one has begun is committed by another."""
    monkeypatch.setenv("DELAYS", str(tmp_path / DELAYS))
    expected = [each for each in flights(range(4_000)) if late_flight(each) is None]
    turn, placed = threading.Lock(), list(enumerate(expected))
    with closing(pipeline.connect()) as database, Client() as client, ThreadPoolExecutor(8) as threads:
        database.executescript(pipeline.SCHEMA)

        def handle_all(part: int) -> None:
            for offset, flight in placed[part::8]:
                fields = {"messageId": f"m-{part}-{offset}", "queue": FLIGHTS, "partition": part, "offset": offset}
                encoded = msgspec.json.encode({**fields, "body": flight, "timestamp": 0, "appendTime": 0})
                message = msgspec.json.decode(encoded, type=Message)
                pipeline.handle(client, database, turn, message)

        for done in [threads.submit(handle_all, part) for part in range(8)]:
            done.result()
    assert counted(tmp_path) == totals_of(expected)


@pytest.mark.slow
@pytest.mark.faults
def test_killed_again_and_again(tmp_path: Path) -> None:
    run_pipeline(tmp_path, count=10_000, kills=10, seed=2)
