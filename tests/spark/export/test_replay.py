import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acklog import Client
from pyspark_acklog.archive.replay import Replay
from pyspark_acklog.archive.replay_plan import Selection
from pyspark_acklog.connection import Connection
from pyspark_acklog.export.failures import ExportError
from pyspark_acklog.export.job import export_topics
from pyspark_acklog.export.local_storage import LocalStorage
from tests.support.export_topic import contents, fill, stored
from tests.support.server_process import ServerProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

DEDUP_WINDOW_MS = 1_000


@pytest.fixture
def archive(spark: "SparkSession", server: ServerProcess, client: Client, tmp_path: Path) -> LocalStorage:
    if "replayed" not in [topic.name for topic in client.topics.list()]:
        client.topics.create("replayed", 3)
        fill(client, "replayed", range(3_000))
    export_topics(["replayed"], str(tmp_path), spark=spark, url=server.base_url)
    return LocalStorage(str(tmp_path))


def replay(archive: LocalStorage, server: ServerProcess, spark: "SparkSession") -> Replay:
    connection = Connection(urls=(server.base_url,))
    return Replay(archive, connection, lambda: spark, now_ms=1_800_000_000_000)


def test_messages_come_as_they_were(
    archive: LocalStorage, spark: "SparkSession", server: ServerProcess, client: Client
) -> None:
    client.topics.create("replayed-copy", 3)
    done = replay(archive, server, spark).run(Selection(topic="replayed"), "replayed-copy")
    assert (done.sent, done.is_resumed) == (3_000, False)
    # Same partitions, same order: so also the same offsets.
    before, after = stored(client, "replayed"), stored(client, "replayed-copy")
    assert before.keys() == after.keys()
    assert all(before[place] == after[place] for place in before)
    with pytest.raises(ExportError, match="is complete"):
        replay(archive, server, spark).run(Selection(topic="replayed"), "replayed-copy")


def test_other_partitions_keep_keys_together(
    archive: LocalStorage, spark: "SparkSession", server: ServerProcess, client: Client
) -> None:
    client.topics.create("narrow", 2)
    replay(archive, server, spark).run(Selection(topic="replayed"), "narrow")
    after = stored(client, "narrow")
    assert contents(after) == contents(stored(client, "replayed"))
    partitions_of: dict[str, set[int]] = {}
    for (partition, _), row in after.items():
        if row["key"] is not None:
            partitions_of.setdefault(row["key"], set()).add(partition)
    assert all(len(partitions) == 1 for partitions in partitions_of.values())


def test_begun_again_after_the_window_it_adds_what_is_missing(
    archive: LocalStorage, spark: "SparkSession", server: ServerProcess, client: Client
) -> None:
    client.topics.create("again", 3, dedup_window_ms=DEDUP_WINDOW_MS)
    work = replay(archive, server, spark)
    done = work.run(Selection(topic="replayed"), "again", name="again")
    # As if it had been killed before it was written down that all was sent.
    (Path(archive.root) / "_acklog" / "replays" / "again.done.json").unlink()
    time.sleep(3 * DEDUP_WINDOW_MS / 1000)  # the window itself: nothing tells when the server has forgotten
    again = work.run(Selection(topic="replayed"), "again", name="again")
    assert (done.sent, again.sent, again.already_there, again.is_resumed) == (3_000, 0, 3_000, True)
    assert contents(stored(client, "again")) == contents(stored(client, "replayed"))
