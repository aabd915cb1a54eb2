"""How fast a backup reads and a restore writes, and what senders notice: `python -m loadtests.backup_rate --mib 1024`.

A server of its own is filled; then senders go on, one request after the other on each connection, without a backup and
during one. A machine that is busy with something else makes all of it worth little.
"""

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from acklog.backup.backup_run import BackupRun
from acklog.backup.backup_set import BackupSet
from acklog.backup.copy_tools import CopyTools
from acklog.backup.directory_store import DirectoryStore
from acklog.backup.pace import BackupPace
from acklog.backup.restore_plan import restore_plan
from acklog.backup.restore_run import RestoreRun
from acklog.client.client import Client
from acklog.messages import OutgoingMessage
from tests.support.server_process import ServerProcess

BODY = "x" * 1_000
BATCH = 1_000
SENDERS = 4
QUIET_SECONDS = 5
MIB = 1024 * 1024


class Figures(NamedTuple):
    size_mib: float
    backup_seconds: float
    restore_seconds: float
    quiet_p99_ms: float
    busy_p99_ms: float


def filled(client: Client, mib: int) -> None:
    client.topics.create("orders", 8)
    for _ in range(max(1, mib * MIB // (BATCH * len(BODY)))):
        client.send_many("orders", [OutgoingMessage(BODY) for _ in range(BATCH)])


class Senders:
    """Send to another topic until they are stopped, and note how long each send took."""

    def __init__(self, url: str) -> None:
        self.took_ms: list[float] = []
        self._url = url
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._send) for _ in range(SENDERS)]

    def __enter__(self) -> "Senders":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _send(self) -> None:
        with Client(self._url) as client:
            while not self._stop.is_set():
                begun = time.perf_counter()
                client.send("others", "x")
                self.took_ms.append((time.perf_counter() - begun) * 1000)

    @property
    def p99_ms(self) -> float:
        return statistics.quantiles(self.took_ms, n=100)[-1]


def seconds_of(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def measured(mib: int, directory: Path) -> Figures:
    unpaced = BackupPace(None, now_ms=lambda: 0, pause=lambda _: None)
    store = DirectoryStore(directory / "backups")
    with (
        ServerProcess(directory / "data", directory / "server.log") as server,
        Client(server.base_url) as client,
    ):
        filled(client, mib)
        client.topics.create("others", 8)
        with Senders(server.base_url) as quiet:
            time.sleep(QUIET_SECONDS)
        BackupSet(store).begin()

        def now_ms() -> int:
            return int(time.time() * 1000)

        run = BackupRun(CopyTools(client.copies, store, unpaced), server="measured", now_ms=now_ms)
        with Senders(server.base_url) as busy:
            backup_seconds = seconds_of(lambda: run.take(["orders"]))
        manifest = BackupSet(store).run()
        plans = restore_plan(manifest, names={"orders": "back"})
        restore = RestoreRun(CopyTools(client.copies, store, unpaced), now_ms=now_ms)
        restore_seconds = seconds_of(lambda: restore.restore(manifest, plans))
    size_mib = sum(size or 0 for size in manifest.content_names().values()) / MIB
    return Figures(size_mib, backup_seconds, restore_seconds, quiet.p99_ms, busy.p99_ms)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=1024, help="how much is backed up")
    with tempfile.TemporaryDirectory() as directory:
        figures = measured(parser.parse_args().mib, Path(directory))
    table = Table("what", "figure")
    table.add_row("backed up", f"{figures.size_mib:,.0f} MiB")
    table.add_row("backup", f"{figures.size_mib / figures.backup_seconds:,.0f} MiB/s")
    table.add_row("restore", f"{figures.size_mib / figures.restore_seconds:,.0f} MiB/s")
    table.add_row("p99 of sends without a backup", f"{figures.quiet_p99_ms:.1f} ms")
    table.add_row("p99 of sends during one", f"{figures.busy_p99_ms:.1f} ms")
    Console().print(table)


if __name__ == "__main__":
    main()
