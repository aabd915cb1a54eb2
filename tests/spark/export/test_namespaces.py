"""A topic in a namespace, read by the data source, exported, verified, and read back by Spark under its whole name."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acklog import Client
from pyspark_acklog.archive.table import load
from pyspark_acklog.export.job import export_topics
from pyspark_acklog.export.local_storage import LocalStorage
from pyspark_acklog.export.verify import topics_in, verified
from tests.support.export_topic import exported, fill, stored
from tests.support.server_process import ServerProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def test_a_topic_in_a_namespace(spark: "SparkSession", server: ServerProcess, client: Client, tmp_path: Path) -> None:
    topic = "lake/flights"
    client.namespaces.create("lake")
    client.topics.create(topic, 2)
    fill(client, topic, range(300))
    source = spark.read.format("acklog").option("url", server.base_url).option("topic", topic).load()
    assert source.count() == 300
    found = export_topics([topic], str(tmp_path), spark=spark, url=server.base_url)[topic]
    assert [each.rows_added for each in found] == [300]
    assert topics_in(LocalStorage(str(tmp_path))) == [topic]
    table = spark.read.parquet(str(tmp_path))
    assert [row.topic for row in table.select("topic").distinct().collect()] == [topic]
    assert exported(table) == stored(client, topic)
    verdict = verified(LocalStorage(str(tmp_path)), topic, lambda: spark)
    assert (verdict.faults, verdict.rows) == ((), 300)
    assert load(spark, str(tmp_path), topic).count() == 300
