"""What it costs to be watched: `python -m loadtests.events_watchers --watchers 1000`.

Starts a server of its own with a given number of topics, lets that many watchers listen, sends messages meanwhile, and
says how much of a core and how much memory the server took, beside what it took without watchers. Needs Linux.
"""

import argparse
import asyncio
import os
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tests.support.server_process import ServerProcess

OPENED_AT_ONCE = 50
CHUNK_BYTES = 64 * 1024
_HEAD = b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Use(NamedTuple):
    """Of the server, over some seconds; `heard_bytes` of all watchers."""

    core_percent: float
    resident_mib: float
    heard_bytes: int


class Crowd:
    """Watchers that read all that they are told, and keep nothing."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._tasks: list[asyncio.Task[None]] = []
        self.heard_bytes = 0

    async def grow_to(self, count: int) -> None:
        while len(self._tasks) < count:
            room = min(OPENED_AT_ONCE, count - len(self._tasks))
            opened = await asyncio.gather(*(asyncio.open_connection("127.0.0.1", self._port) for _ in range(room)))
            for reader, writer in opened:
                writer.write(_HEAD)
                self._tasks.append(asyncio.get_running_loop().create_task(self._listen(reader, writer)))

    async def _listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(CHUNK_BYTES):
                self.heard_bytes += len(data)
        finally:
            writer.close()

    async def close(self) -> None:
        """Raises AssertionError where a watcher was cut."""
        assert not any(task.done() for task in self._tasks), "the server has ended streams"
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def processor_seconds(pid: int) -> float:
    """Of user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measured(server: ServerProcess, crowd: Crowd, *, seconds: float, busy_topics: int) -> Use:
    """What the server takes while a message a second goes to each of so many topics."""
    heard, used, began = crowd.heard_bytes, processor_seconds(server.pid), time.perf_counter()
    while time.perf_counter() - began < seconds:
        await asyncio.to_thread(_send_to_each, server, busy_topics)
        await asyncio.sleep(1)
    took = time.perf_counter() - began
    percent = (processor_seconds(server.pid) - used) / took * 100
    return Use(percent, server.resident_bytes() / 2**20, crowd.heard_bytes - heard)


def _send_to_each(server: ServerProcess, count: int) -> None:
    for number in range(count):
        server.send(f"topic-{number}", number)


async def compare(server: ServerProcess, options: argparse.Namespace) -> None:
    """Without watchers, with one, with all."""
    for number in range(options.topics):
        server.request("PUT", f"/topics/topic-{number}", {"partitions": 1})
    crowd = Crowd(server.port)
    for watchers in (0, 1, options.watchers):
        await crowd.grow_to(watchers)
        await asyncio.sleep(3)  # what each is told at first is another matter
        use = await measured(server, crowd, seconds=options.seconds, busy_topics=options.busy_topics)
        print(
            f"{watchers:5} watchers: {use.core_percent:5.1f} % of a core, {use.resident_mib:6.1f} MiB, "
            f"{use.heard_bytes / max(1, watchers) / options.seconds:8.0f} bytes/s each",
            flush=True,
        )
    await crowd.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--watchers", type=int, default=1_000)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--busy-topics", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        limit = ("--events-watchers-max", str(options.watchers))
        with ServerProcess(Path(directory) / "data", Path(directory) / "log", options=limit) as server:
            asyncio.run(compare(server, options))


if __name__ == "__main__":
    main()
