"""How long a scrape takes: `python -m loadtests.scrape_times` starts servers of its own with many topics and groups,
and asks `/metrics` as Prometheus does, again and again."""

import argparse
import statistics
import subprocess
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.support.server_process import ServerProcess

SCRAPES = 20
CLIENTS = 8
MANY = 100_000
LIMITS = ("--auto-groups-max", str(MANY), "--auto-groups-per-token-max", str(MANY))
"""Of groups that receives create: more than are used here."""


def fill(server: ServerProcess, pairs: list[tuple[str, str]]) -> None:
    """Each topic has one partition and a message, which each group has been given."""
    for topic in dict.fromkeys(topic for topic, _ in pairs):
        assert server.request("PUT", f"/topics/{topic}", {"partitions": 1}).status in {200, 201}
        server.send(topic, "a message", partition=0)
    with ThreadPoolExecutor(CLIENTS) as clients:
        for answered in clients.map(lambda pair: server.receive(*pair), pairs):
            assert len(answered) == 1


def scrape_s(server: ServerProcess) -> float:
    command = ["curl", "--silent", "--show-error", "--fail", "-o", "/dev/null", "-w", "%{time_total}"]
    run = subprocess.run([*command, f"{server.base_url}/metrics"], capture_output=True, text=True, check=True)
    return float(run.stdout)


def longest_wait_s(server: ServerProcess) -> float:
    """Of requests that are made one after the other beside one scrape."""
    waits: list[float] = []
    scraping = threading.Thread(target=scrape_s, args=(server,))
    scraping.start()
    while scraping.is_alive():
        waits.append(health_s(server))
    scraping.join()
    return max(waits)


def health_s(server: ServerProcess) -> float:
    command = ["curl", "--silent", "--fail", "-o", "/dev/null", "-w", "%{time_total}", f"{server.base_url}/healthz"]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def measure(name: str, pairs: list[tuple[str, str]], *, names_max: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        options = ("--metric-names-max", str(names_max), *LIMITS)
        environment = {"ACKLOG_NODE_GROUPS_PER_PARTITION_MAX": str(MANY)}
        with ServerProcess(
            Path(scratch, "data"), Path(scratch, "log"), options=options, environment=environment
        ) as server:
            fill(server, pairs)
            size_bytes = len(server.request("GET", "/metrics").content)
            taken_ms = sorted(1000 * scrape_s(server) for _ in range(SCRAPES))
            beside_ms = 1000 * statistics.median(longest_wait_s(server) for _ in range(SCRAPES))
            print(
                f"{name}, --metric-names-max {names_max}: median {statistics.median(taken_ms):.1f} ms, most "
                f"{taken_ms[-1]:.1f} ms, {size_bytes / 1024:.0f} KiB; another request beside it {beside_ms:.1f} ms",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topics", type=int, default=1_000)
    parser.add_argument("--groups", type=int, default=10_000, help="of one topic")
    arguments = parser.parse_args()
    topics = [(f"topic-{number}", f"group-{number}") for number in range(arguments.topics)]
    groups = [("orders", f"group-{number}") for number in range(arguments.groups)]
    for names_max in (100, 10_000):
        measure(f"{len(topics):,} topics with a group each", topics, names_max=names_max)
        measure(f"{len(groups):,} groups of one topic", groups, names_max=names_max)


if __name__ == "__main__":
    main()
