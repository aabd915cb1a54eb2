"""The processes of a server of several, by what its log says of them."""

import json
import os
import signal
from collections.abc import Iterator
from typing import Any

from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until

WORKERS = 3
OPTIONS = ("--workers", str(WORKERS))
GATEWAYS = [f"gateway-{number}" for number in range(1, WORKERS + 1)]


def log_lines(server: ServerProcess) -> Iterator[dict[str, Any]]:
    for line in server.output().splitlines():
        if line.startswith("{"):
            try:
                yield json.loads(line)
            except json.JSONDecodeError:
                continue  # it is being written


def pids(server: ServerProcess, worker: str) -> list[int]:
    """Of all its starts."""
    return [line["pid"] for line in log_lines(server) if line["event"] == "worker_started" and line["name"] == worker]


def kill_worker(server: ServerProcess, worker: str) -> None:
    os.kill(pids(server, worker)[-1], signal.SIGKILL)


def kill_gateway(server: ServerProcess, worker: str) -> None:
    """And wait until there is another one in its place."""
    starts = len(pids(server, worker))
    kill_worker(server, worker)
    wait_until(lambda: len(pids(server, worker)) > starts, seconds=30, what=f"another {worker}")


def serving(server: ServerProcess) -> set[str]:
    """The workers that tell their metrics."""
    lines = server.request("GET", "/metrics").content.decode().splitlines()
    return {line.split('"')[1] for line in lines if line.startswith("acklog_worker_up{") and line.endswith(" 1")}


def wait_until_all_serve(server: ServerProcess) -> None:
    expected = {"storage", *GATEWAYS}

    def all_serve() -> bool:
        try:
            return serving(server) == expected
        except OSError:
            return False

    wait_until(all_serve, seconds=60, what="all workers")


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
