"""`python -m examples.spark_flights`: flights into Parquet by Spark, exactly once, with a server that is killed.

Most flights are sent first. While the first export reads them, producers send more, and the server is killed and
started again. A second, incremental export takes what has come since. Then every row is compared with what the server
had confirmed, file sizes with the target, and delays by carrier are shown and plotted.
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from acklog import Client
from acklog_spark.sessions import open_session
from app.demo.input_file import SAMPLE, SAMPLE_MESSAGES, FlightFile
from examples.flights.__main__ import YEAR
from examples.server_process import ServerProcess, acklog_command, free_port
from examples.spark_flights.checks import Check, check_rows, check_sizes, delays_by_carrier
from examples.spark_flights.plot import save_delays
from examples.spark_flights.producers import Producers
from pyspark_acklog.connection import Connection
from pyspark_acklog.export.directory import ExportDirectory
from pyspark_acklog.export.job import Exporter
from pyspark_acklog.export.run import RunSettings
from pyspark_acklog.export.storages import storage_at
from pyspark_acklog.export.verify import Verdict, verified
from pyspark_acklog.options import FetchOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pyspark_acklog.export.manifest import Manifest

TOPIC = "flights"
PARTITIONS = 4
SENT_FIRST = 0.85
PACE_MESSAGES, PACE_S = 250, 0.1
DOWN_S = 1.0
TARGET_FILE_BYTES = 4 * 1024 * 1024
PLOT = Path("build") / "spark-demo" / "delay-by-carrier.png"


def main() -> int:
    parser = argparse.ArgumentParser(description="Flights into Parquet by Spark, exactly once.")
    parser.add_argument("--messages", type=int, default=0, help="how many flights to send [all]")
    parser.add_argument("--plot", type=Path, default=PLOT, help=f"where to save the plot [{PLOT}]")
    parser.add_argument("--master", default="local[2,4]", help="where Spark runs [local[2,4]]")
    arguments = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="acklog-spark-demo-"))
    try:
        return asyncio.run(_Demo(directory, arguments.messages, arguments.plot, arguments.master).run())
    finally:
        shutil.rmtree(directory, ignore_errors=True)


class _Demo:
    def __init__(self, directory: Path, messages: int, plot: Path, master: str) -> None:
        source = FlightFile.at(str(YEAR)) if YEAR.is_file() else FlightFile(SAMPLE)
        self._count = messages or (source.count() if YEAR.is_file() else SAMPLE_MESSAGES)
        self._flights = source.messages(self._count)
        self._plot = plot
        self._master = master
        self._path = str(directory / "lake")
        port = free_port()
        command = acklog_command(port=port, data_dir=directory / "data")
        self._server = ServerProcess(command=command, port=port, log_path=directory / "server.log")
        self._is_writing = threading.Event()

    async def run(self) -> int:
        await self._server.start()
        spark = await asyncio.to_thread(
            open_session, "acklog spark-demo", master=self._master, settings={}, is_quiet=True
        )
        try:
            with Client(self._server.url) as client:
                client.topics.create(TOPIC, PARTITIONS)
            producers = Producers(self._server.url, TOPIC, self._flights)
            try:
                return await self._tell(spark, producers)
            finally:
                await asyncio.to_thread(producers.close)
        finally:
            await self._server.stop()
            await asyncio.to_thread(spark.stop)

    async def _tell(self, spark: "SparkSession", producers: Producers) -> int:
        began_s = time.monotonic()
        sent = await asyncio.to_thread(producers.send, int(self._count * SENT_FIRST))
        _say(f"{sent:,} flights sent in {time.monotonic() - began_s:.1f} s, to {PARTITIONS} partitions")
        producers.begin(batch_messages=PACE_MESSAGES, pause_s=PACE_S)
        exporting = asyncio.create_task(asyncio.to_thread(self._export, spark))
        exporting.add_done_callback(lambda _: self._is_writing.set())  # one that fails early writes nothing
        await self._kill_in_the_middle(exporting)
        first = await exporting
        await asyncio.to_thread(producers.end)
        await asyncio.to_thread(producers.send, self._count)
        second = await asyncio.to_thread(self._export, spark)
        verdict, checks = await asyncio.to_thread(self._checked, spark, producers)
        delays = await asyncio.to_thread(delays_by_carrier, spark, self._path)
        save_delays(delays, self._plot)
        _show(first + second, verdict, checks, delays, self._plot)
        return 0 if verdict.is_ok and all(check.is_kept for check in checks) else 1

    async def _kill_in_the_middle(self, exporting: "asyncio.Task[list[Manifest]]") -> None:
        """As soon as Spark's tasks read. Raises what the export failed with, if it never came to that."""
        await asyncio.to_thread(self._is_writing.wait)
        if exporting.done():
            await exporting
        await self._server.kill()
        _say("the server was killed (SIGKILL) while Spark read")
        await asyncio.sleep(DOWN_S)
        ready_s = await self._server.start()
        _say(f"and ready again {ready_s:.1f} s after its start")

    def _export(self, spark: "SparkSession") -> "list[Manifest]":
        began_s = time.monotonic()
        exporter = Exporter(
            path=self._path,
            options=FetchOptions(connection=Connection(urls=(self._server.url,))),
            settings=RunSettings(target_file_bytes=TARGET_FILE_BYTES),
            open_spark=lambda: spark,
            on_pieces=lambda _done, _total: self._is_writing.set(),
        )
        manifests = [manifest for _, of_topic in exporter.runs([TOPIC]) for manifest in of_topic]
        rows = sum(manifest.rows_added for manifest in manifests)
        _say(f"run {manifests[-1].number}: {rows:,} rows in {time.monotonic() - began_s:.1f} s")
        return manifests

    def _checked(self, spark: "SparkSession", producers: Producers) -> tuple[Verdict, list[Check]]:
        storage = storage_at(self._path)
        verdict = verified(storage, TOPIC, lambda: spark)
        sizes = check_sizes(list(ExportDirectory(storage, TOPIC).table().files.values()), TARGET_FILE_BYTES)
        return verdict, [*check_rows(producers.confirmed, spark.read.parquet(self._path)), sizes]


def _say(text: str) -> None:
    print(text, flush=True)


def _show(
    manifests: "list[Manifest]",
    verdict: Verdict,
    checks: list[Check],
    delays: list[tuple[str, int, float]],
    plot: Path,
) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    table = Table("carrier", "flights", "mean delay", box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for carrier, flights, delay in delays:
        table.add_row(carrier, f"{flights:,}", f"{delay:.1f} min")
    console.print(table)
    rows = sum(manifest.rows_added for manifest in manifests)
    is_told = "" if verdict.is_ok else f": {verdict.faults[0]}"
    verification = Check("acklog export verify finds no fault", verdict.is_ok, f"{len(verdict.faults)} faults{is_told}")
    for check in (verification, *checks):
        console.print(f"{'kept  ' if check.is_kept else 'BROKEN'}  {check.promise} ({check.found})")
    console.print(f"{rows:,} rows in {len(manifests)} runs; the plot is {plot}")


if __name__ == "__main__":
    sys.exit(main())
