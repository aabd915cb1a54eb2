"""Real processes that really die: Spark's workers, and the driver with its JVM."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acklog import Client
from pyspark_acklog.export.job import export_topics
from pyspark_acklog.export.local_storage import LocalStorage
from pyspark_acklog.export.owner import SILENT_AFTER_MS
from pyspark_acklog.export.run import RunSettings
from pyspark_acklog.export.verify import verified
from tests.support.export_topic import exported, fill, stored
from tests.support.server_process import REPOSITORY, ServerProcess

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

ROWS = 20_000
TARGET_BYTES = 64 * 1024
KILLS = 3


def _children(pid: int) -> Iterator[int]:
    """All processes below this one."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent == pid:
            yield int(entry.name)
            yield from _children(int(entry.name))


def _python_workers() -> list[int]:
    """What runs Spark's Python tasks: forked by pyspark's daemon, below the JVM of this process."""
    found = []
    for pid in _children(os.getpid()):
        try:
            command = (Path("/proc") / str(pid) / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if b"pyspark.daemon" in command or b"pyspark.worker" in command:
            found.append(pid)
    return found


def test_workers_that_are_killed_at_random_cost_time_only(
    spark: "SparkSession", server: ServerProcess, client: Client, tmp_path: Path
) -> None:
    client.topics.create("killed-workers", 3)
    fill(client, "killed-workers", range(ROWS), batch=2_000)
    chance = random.Random(1)
    is_over = threading.Event()
    killed: list[int] = []

    def kill_now_and_then() -> None:
        # Fewer than a task has tries, whichever tasks they hit.
        while len(killed) < KILLS and not is_over.wait(chance.uniform(0.2, 1.0)):
            workers = _python_workers()
            if workers:
                pid = chance.choice(workers)
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    killer = threading.Thread(target=kill_now_and_then)
    killer.start()
    try:
        settings = RunSettings(target_file_bytes=TARGET_BYTES)
        export_topics(["killed-workers"], str(tmp_path), spark=spark, url=server.base_url, settings=settings)
    finally:
        is_over.set()
        killer.join()
    assert killed
    verdict = verified(LocalStorage(str(tmp_path)), "killed-workers", lambda: spark)
    assert (verdict.faults, verdict.rows) == ((), ROWS)


def _command(server: ServerProcess, path: Path) -> list[str]:
    export = ["export", "driver", "--to", str(path), "--target-file-size", "64KiB", "--master", "local[2,4]"]
    return [sys.executable, "-m", "acklog.command", *export, "--server", server.base_url]


def test_a_driver_that_is_killed_at_random_is_finished_by_the_next(
    spark: "SparkSession", server: ServerProcess, client: Client, tmp_path: Path
) -> None:
    """SIGKILL to the driver and its JVM, whatever they are doing; then one run that is left alone."""
    client.topics.create("driver", 3)
    fill(client, "driver", range(ROWS), batch=2_000)
    expected = stored(client, "driver")
    chance = random.Random(2)
    for _ in range(KILLS):
        process = subprocess.Popen(
            _command(server, tmp_path),
            cwd=REPOSITORY,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(chance.uniform(6.0, 20.0))  # what it is doing then is the point
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    rows = exported(_table(spark, tmp_path)) if (tmp_path / "topic=driver").exists() else {}
    assert rows.keys() <= expected.keys()
    _age(tmp_path)
    done = subprocess.run(_command(server, tmp_path), cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert exported(_table(spark, tmp_path)) == expected
    assert verified(LocalStorage(str(tmp_path)), "driver", lambda: spark).faults == ()


def _table(spark: "SparkSession", path: Path) -> "DataFrame":
    from pyspark_acklog.export.records import STORED_DDL

    reader = spark.read.schema(STORED_DDL).option("recursiveFileLookup", "true")
    return reader.parquet(str(path / "topic=driver"))


def _age(root: Path) -> None:
    """As if the killed drivers had been silent for long. (On one machine they are known to be gone; in a container
    their numbers may be those of others.)"""
    for path in root.rglob("_owner.json"):
        silent_ns = path.stat().st_mtime_ns - 2 * SILENT_AFTER_MS * 1_000_000
        os.utime(path, ns=(silent_ns, silent_ns))
