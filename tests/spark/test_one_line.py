"""Whatever goes wrong is told in one line, by the command and by Spark's own API: no stack trace of Java or Python."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import acklog
from acklog.messages import OutgoingMessage
from pyspark_acklog.failures import one_line
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.spark

TOPIC = "told"
COUNT = 60
AWAY = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def topic(server: ServerProcess) -> str:
    with acklog.Client(server.base_url) as client:
        client.topics.create(TOPIC, 2)
        client.send_many(TOPIC, [OutgoingMessage({"n": n}, key=f"k{n}") for n in range(COUNT)])
    return TOPIC


@pytest.fixture(scope="module")
def exported(server: ServerProcess, topic: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("exported")
    code, told = command(["export", topic, "--to", str(directory), "--server", server.base_url])
    assert code == 0, told
    return directory


def command(arguments: Sequence[str], **environment: str) -> tuple[int, list[str]]:
    """Its exit code, and the lines of its standard error but for its progress, as a process of its own: Java writes
    there by itself."""
    done = subprocess.run(
        [sys.executable, "-m", "acklog.command", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=240,
        check=False,
    )
    return done.returncode, [line for line in done.stderr.splitlines() if not line.startswith(f"{TOPIC}: ")]


def assert_one_line(code: int, lines: list[str], told: str) -> None:
    """A hint may follow, nothing else."""
    assert code not in {0, 70}, lines
    assert told in lines[0], lines
    assert len(lines) <= 2, lines


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["export", "tolt"], "there is no topic 'tolt'; similar: told"),
        (["export", TOPIC, "--schema", "n bigint, when"], "--schema"),
    ],
)
def test_exports(server: ServerProcess, topic: str, tmp_path: Path, arguments: list[str], told: str) -> None:
    assert_one_line(*command([*arguments, "--to", str(tmp_path / "out"), "--server", server.base_url]), told)
    assert list(tmp_path.rglob("*.parquet")) == []


def test_an_export_to_where_nothing_can_be_written(server: ServerProcess, topic: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    code, lines = command(["export", topic, "--to", str(tmp_path / "file" / "out"), "--server", server.base_url])
    assert_one_line(code, lines, str(tmp_path / "file"))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--to-topic", "tolt"], "there is no topic 'tolt'"),
        (["--server", AWAY, "--timeout", "1"], f"no server can be reached at {AWAY}"),
        (["--from-offset", "1000"], "nothing"),
    ],
)
def test_replays(server: ServerProcess, exported: Path, arguments: list[str], told: str) -> None:
    assert_one_line(*command(["replay", str(exported), TOPIC, "--server", server.base_url, *arguments]), told)


@pytest.mark.parametrize("subcommand", ["export", "replay", "verify"])
def test_without_java(server: ServerProcess, exported: Path, tmp_path: Path, subcommand: str) -> None:
    arguments = {
        "export": ["export", TOPIC, "--to", str(tmp_path), "--server", server.base_url],
        "replay": ["replay", str(exported), TOPIC, "--server", server.base_url],
        "verify": ["export", "verify", str(exported)],
    }[subcommand]
    code, lines = command(arguments, JAVA_HOME="", PATH=str(tmp_path))
    assert_one_line(code, lines, "Java was not found, and Spark needs Java 17 or newer")


# --- Spark's own API -------------------------------------------------------------------------------------------------


def told_by(call: Callable[[], Any]) -> str:
    with pytest.raises(Exception) as caught:
        call()
    told = one_line(caught.value)
    assert "\n" not in told
    return told


def options_of(server: ServerProcess, **more: str) -> Mapping[str, str]:
    return {"url": server.base_url, "topic": TOPIC, "timeoutSeconds": "1", **more}


def streamed(
    spark: SparkSession, tmp_path: Path, source: Mapping[str, str], sink: Mapping[str, str]
) -> Callable[[], Any]:
    def run() -> None:
        query = (
            spark.readStream.format("acklog")
            .options(**source)
            .load()
            .select("key", "value")
            .writeStream.format("acklog")
            .options(checkpointLocation=str(tmp_path / "checkpoint"), **sink)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(120)

    return run


@pytest.mark.parametrize(
    ("source", "sink", "told"),
    [
        ({"topic": "tolt"}, {}, "there is no topic 'tolt'; similar: told"),
        ({"url": AWAY}, {}, f"no server can be reached at {AWAY}"),
        ({"startingOffset": "1"}, {}, "option 'startingoffset': there is no such option"),
        ({"startingOffsets": '{"0": 1000, "1": 0}'}, {}, "1000"),
        ({}, {"topic": "tolt"}, "there is no topic 'tolt'"),
        ({}, {"url": AWAY}, f"no server can be reached at {AWAY}"),
    ],
)
def test_streams(
    spark: SparkSession,
    server: ServerProcess,
    topic: str,
    tmp_path: Path,
    source: dict[str, str],
    sink: dict[str, str],
    told: str,
) -> None:
    run = streamed(
        spark,
        tmp_path,
        options_of(server, startingOffsets="earliest") | source,
        {"url": server.base_url, "topic": TOPIC, "timeoutSeconds": "1"} | sink,
    )
    assert told in told_by(run)


@pytest.mark.parametrize(
    ("sink", "told"),
    [
        ({"topic": "tolt"}, "there is no topic 'tolt'"),
        ({"url": AWAY}, f"no server can be reached at {AWAY}"),
        ({"writeID": "a b"}, "option 'writeId'"),
    ],
)
def test_writes(spark: SparkSession, server: ServerProcess, topic: str, sink: dict[str, str], told: str) -> None:
    table = spark.createDataFrame([("k", b"1")], "key string, value binary")
    writer = table.write.format("acklog").mode("append").options(**(options_of(server) | sink))
    assert told in told_by(writer.save)


def test_a_table_that_cannot_be_sent(spark: SparkSession, server: ServerProcess, topic: str) -> None:
    table = spark.createDataFrame([(1, 2)], "a int, b int")
    told = told_by(table.write.format("acklog").mode("append").options(**options_of(server)).save)
    assert "value" in told


def test_offsets_that_retention_has_removed(spark: SparkSession, server: ServerProcess) -> None:
    with acklog.Client(server.base_url) as client:
        client.topics.create("gone", 1)
        client.send_many("gone", [OutgoingMessage({"n": n}) for n in range(COUNT)])
    reader = spark.read.format("acklog").options(**options_of(server, topic="gone", startingOffsets='{"0": 100}'))
    assert "100" in told_by(lambda: reader.load().collect())
