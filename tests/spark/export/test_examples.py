import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acklog import Client
from examples.spark.counts import TABLE, count
from examples.spark.delays import delays
from examples.spark.round_trip import LATE_MINUTES, send_late_flights
from tests.support.server_process import ServerProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

FLIGHTS = [("AA", 10.0), ("AA", 30.0), ("UA", 90.0), ("UA", 110.0), ("B6", 5.0)]


@pytest.fixture
def topic(client: Client) -> str:
    name = "example-flights"
    if name not in [each.name for each in client.topics.list()]:
        client.topics.create(name, 2)
        for carrier, delay in FLIGHTS:
            client.send(name, {"carrier": carrier, "dep_delay": delay}, key=carrier)
    return name


def test_delays(spark: "SparkSession", server: ServerProcess, topic: str) -> None:
    assert delays(spark, server.base_url, topic) == [("UA", 2, 100.0), ("AA", 2, 20.0), ("B6", 1, 5.0)]


def test_counts(spark: "SparkSession", server: ServerProcess, topic: str, tmp_path: Path) -> None:
    count(spark, server.base_url, topic, str(tmp_path), is_once=True).awaitTermination(120)
    assert {row.carrier: row["count"] for row in spark.table(TABLE).collect()} == {"AA": 2, "B6": 1, "UA": 2}


def test_round_trip(spark: "SparkSession", server: ServerProcess, topic: str) -> None:
    late = sum(delay > LATE_MINUTES for _, delay in FLIGHTS)
    for _ in range(2):
        assert send_late_flights(spark, server.base_url, topic, "example-late") == (late, late)


def test_the_demo(tmp_path: Path) -> None:
    """Most of it is in `examples/spark_flights`: it judges itself."""
    import subprocess

    from tests.support.server_process import REPOSITORY

    plot = tmp_path / "plot.png"
    arguments = ["--messages", "40000", "--plot", str(plot)]
    done = subprocess.run(
        [sys.executable, "-m", "examples.spark_flights", *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "every confirmed message is in the table" in done.stdout
    assert plot.read_bytes().startswith(b"\x89PNG")
