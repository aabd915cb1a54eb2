"""A cluster is read as a single server is: an export goes on while the nodes that it reads from are killed."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acklog import Client
from pyspark_acklog.connection import Connection
from pyspark_acklog.export.job import Exporter
from pyspark_acklog.export.local_storage import LocalStorage
from pyspark_acklog.export.run import RunSettings
from pyspark_acklog.export.verify import verified
from pyspark_acklog.options import FetchOptions, ReadFrom
from tests.support.etcd_binary import etcd_binary
from tests.support.export_topic import exported, fill, stored
from tests.support.real_cluster import RealCluster, running_real_cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark"), pytest.mark.timeout(600)]

TOPIC = "flights"
PARTITIONS = 6
ROWS = 20_000
TARGET_BYTES = 64 * 1024
BYTES_PER_SECOND = 128 * 1024  # of a task: slow enough for something to happen meanwhile


class Export:
    """One that a test follows piece by piece."""

    def __init__(self, spark: "SparkSession", urls: tuple[str, ...], path: Path, read_from: ReadFrom) -> None:
        options = FetchOptions(
            connection=Connection(urls=urls), read_from=read_from, max_bytes_per_second=BYTES_PER_SECOND
        )
        self._exporter = Exporter(
            path=str(path),
            options=options,
            settings=RunSettings(target_file_bytes=TARGET_BYTES),
            open_spark=lambda: spark,
            on_pieces=self._told,
        )
        self._loop = asyncio.get_running_loop()
        self._pieces = asyncio.Condition()
        self._done = 0

    def _told(self, done: int, total: int) -> None:
        """From a thread of Spark's."""
        asyncio.run_coroutine_threadsafe(self._note(done), self._loop)

    async def _note(self, done: int) -> None:
        async with self._pieces:
            self._done = done
            self._pieces.notify_all()

    async def pieces(self, count: int) -> None:
        """So many more are done."""
        async with self._pieces:
            wanted = self._done + count
            await self._pieces.wait_for(lambda: self._done >= wanted)

    def run(self) -> None:
        for _, manifests in self._exporter.runs([TOPIC]):
            assert manifests


async def kill_each(cluster: RealCluster, export: Export, exporting: "asyncio.Task[None]") -> int:
    """One node after the other, each back before the next; how many while the export went on."""
    killed = 0
    for node in cluster.nodes.values():
        piece = asyncio.create_task(export.pieces(1))
        await asyncio.wait({piece, exporting}, return_when=asyncio.FIRST_COMPLETED)
        if exporting.done():
            piece.cancel()
            return killed
        await node.kill()
        killed += 1
        await node.start()
    return killed


@pytest.mark.parametrize("read_from", [ReadFrom.LEADER, ReadFrom.NEAREST])
async def test_nodes_that_are_killed_cost_an_export_time_only(
    spark: "SparkSession", tmp_path: Path, pytestconfig: pytest.Config, read_from: ReadFrom
) -> None:
    async with running_real_cluster(tmp_path / "cluster", etcd_binary(pytestconfig)) as cluster:
        urls = tuple(cluster.gateway_urls)
        with Client(urls[0]) as client:
            await asyncio.to_thread(client.topics.create, TOPIC, PARTITIONS, replication_factor=3)
            await asyncio.to_thread(fill, client, TOPIC, range(ROWS), batch=2_000)
            export = Export(spark, urls, tmp_path / "lake", read_from)
            exporting = asyncio.create_task(asyncio.to_thread(export.run))
            assert await kill_each(cluster, export, exporting)
            await exporting
            expected = await asyncio.to_thread(stored, client, TOPIC)
        verdict = await asyncio.to_thread(verified, LocalStorage(str(tmp_path / "lake")), TOPIC, lambda: spark)
        assert (verdict.faults, verdict.rows) == ((), ROWS)
        table = spark.read.parquet(str(tmp_path / "lake" / f"topic={TOPIC}"))
        assert await asyncio.to_thread(exported, table) == expected
