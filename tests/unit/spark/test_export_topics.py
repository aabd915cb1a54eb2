"""Several topics: one that cannot be exported does not keep the others from it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest

from acklog.errors import CannotConnect, TopicNotFound
from pyspark_acklog.connection import Connection
from pyspark_acklog.export import job
from pyspark_acklog.export.failures import ExportError, TopicsFailedError
from pyspark_acklog.export.manifest import Manifest
from pyspark_acklog.export.run import RunSettings
from pyspark_acklog.failures import ServerAwayError
from pyspark_acklog.options import FetchOptions


class FakeTopics:
    def __init__(self, error: Exception | None) -> None:
        self._error = error

    def get(self, name: str) -> None:
        if self._error is not None:
            raise self._error


class FakeClient:
    def __init__(self, error: Exception | None) -> None:
        self.topics = FakeTopics(error)


class FakeConnection:
    urls = ("http://queue:8080",)
    timeout_s = 1.0

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    @contextmanager
    def client(self, *, timeout_s: float = 1.0) -> Iterator[FakeClient]:
        yield FakeClient(self._error)


class FakeRun:
    """A run of a topic by its name."""

    begun: ClassVar[list[str]] = []

    def __init__(self, *_arguments: object, **_options: object) -> None:
        pass

    def run(self, topic: str) -> list[Manifest]:
        self.begun.append(topic)
        if topic.startswith("bad"):
            raise ExportError(f"{topic} cannot be read")
        if topic == "away":
            raise ServerAwayError("no server can be reached")
        return []


@pytest.fixture(autouse=True)
def fake_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "Run", FakeRun)
    monkeypatch.setattr(FakeRun, "begun", [])


def exporter(path: Path, connection: FakeConnection) -> job.Exporter:
    def no_spark() -> Any:
        raise AssertionError("nothing is to be read")

    options = FetchOptions(connection=cast("Connection", connection))
    settings = RunSettings(target_file_bytes=job.TARGET_FILE_BYTES)
    return job.Exporter(path=str(path), options=options, settings=settings, open_spark=no_spark)


def test_the_others_are_exported_and_the_failures_are_told_at_the_end(tmp_path: Path) -> None:
    done: list[str] = []
    with pytest.raises(TopicsFailedError) as caught:
        done.extend(name for name, _ in exporter(tmp_path, FakeConnection()).runs(["bad-1", "a", "bad-2", "b"]))
    assert done == ["a", "b"]
    assert caught.value.line == (
        "2 of 4 topics were not exported: bad-1: bad-1 cannot be read; bad-2: bad-2 cannot be read"
    )


def test_of_one_topic_its_own_error_is_raised(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="bad cannot be read"):
        list(exporter(tmp_path, FakeConnection(TopicNotFound("no"))).runs(["bad"]))


def test_a_server_that_is_away_ends_it_at_once(tmp_path: Path) -> None:
    with pytest.raises(ServerAwayError, match="http://queue:8080"):
        list(exporter(tmp_path, FakeConnection(CannotConnect("no"))).runs(["a", "b"]))
    assert FakeRun.begun == []
    with pytest.raises(ServerAwayError):
        list(exporter(tmp_path, FakeConnection()).runs(["away", "b"]))
    assert FakeRun.begun == ["away"]
