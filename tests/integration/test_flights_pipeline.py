"""examples/flights_pipeline: workers and the server are killed on the way, and what comes out is exactly right."""

import os
import random
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from acklog import Client, OutgoingMessage
from examples.flights_pipeline.pipeline import FLIGHTS
from tests.integration.flights_work import DELAYS, PARTITIONS, faults_of, flights, flights_counted, is_done
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


@pytest.mark.slow
@pytest.mark.faults
def test_killed_again_and_again(tmp_path: Path) -> None:
    run_pipeline(tmp_path, count=10_000, kills=10, seed=2)
