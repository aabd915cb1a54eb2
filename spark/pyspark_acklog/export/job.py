"""Exports from a program: what the command does, given a Spark session.

from pyspark_acklog.export import job
job.export_topics(["flights"], "hdfs:///lake/acklog", spark=spark, url="http://gateway:8080")
"""

import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark_acklog.connection import Connection
from pyspark_acklog.export.failures import ExportError, TopicsFailedError
from pyspark_acklog.export.manifest import Manifest
from pyspark_acklog.export.owner import Owner, beating
from pyspark_acklog.export.run import Run, RunSettings, Watcher
from pyspark_acklog.export.server_log import ServerLog
from pyspark_acklog.export.spark_workshop import OnPieces, SparkWorkshop
from pyspark_acklog.export.storages import storage_at
from pyspark_acklog.failures import ServerAwayError, SparkSourceError
from pyspark_acklog.options import FetchOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TARGET_FILE_BYTES = 128 * 1024 * 1024
TARGET_FILE_BYTES_MIN = 64 * 1024
TARGET_FILE_BYTES_MAX = 64 * 1024**3
TOPICS_MAX = 1_000
TOKEN_BYTES = 6
REACH_TIMEOUT_S = 10.0
"""How long a server may be away when a run begins; later the connection's own limit holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exporter:
    """Runs of several topics, one after the other. `open_spark` is called when Spark is needed for the first time."""

    path: str
    options: FetchOptions
    settings: RunSettings
    open_spark: "Callable[[], SparkSession]"
    watcher: Watcher | None = None
    on_pieces: OnPieces | None = None

    def runs(self, topics: Iterable[str]) -> Iterable[tuple[str, list[Manifest]]]:
        """Each topic with what was committed. One that cannot be exported does not keep the others from it: its error
        is raised at the end, with others as TopicsFailedError. Only a server that is away ends it at once.

        Raises SparkSourceError.
        """
        names = list(dict.fromkeys(topics))
        if not 1 <= len(names) <= TOPICS_MAX:
            raise ExportError(f"{len(names)} topics: name 1 to {TOPICS_MAX:,}")
        is_local = "://" not in self.path or self.path.startswith("file:")
        storage = storage_at(self.path, None if is_local else self.open_spark())
        owner = Owner.of_this_process(token=secrets.token_hex(TOKEN_BYTES), now_ms=time.time_ns() // 1_000_000)
        with self.options.connection.client(timeout_s=REACH_TIMEOUT_S) as client:
            ServerLog(client, self.options).reach(names[0])
        failures: dict[str, SparkSourceError] = {}
        with self.options.connection.client() as client:
            log = ServerLog(client, self.options)
            for name in names:
                workshop = SparkWorkshop(self.open_spark, storage, self.options, on_pieces=self.on_pieces)
                run = Run(storage, log, workshop, self.settings, owner, watcher=self.watcher, while_at_work=beating)
                try:
                    manifests = run.run(name)
                except ServerAwayError:
                    raise
                except SparkSourceError as error:
                    failures[name] = error
                else:
                    yield name, manifests
        if failures and len(names) == 1:
            raise failures[names[0]]
        if failures:
            raise TopicsFailedError(failures, topics=len(names))


def export_topics(
    topics: Iterable[str],
    path: str,
    *,
    spark: "SparkSession",
    url: str = "http://127.0.0.1:8080",
    token: str | None = None,
    settings: RunSettings | None = None,
) -> dict[str, list[Manifest]]:
    """What was committed by topic; nothing for one that has nothing new. Raises SparkSourceError."""
    exporter = Exporter(
        path=path,
        options=FetchOptions(connection=Connection(urls=tuple(url.split(",")), token=token)),
        settings=settings or RunSettings(target_file_bytes=TARGET_FILE_BYTES),
        open_spark=lambda: spark,
    )
    return dict(exporter.runs(topics))
