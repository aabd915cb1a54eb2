"""A driver of its own for a stream from one topic to another: `python -m tests.spark.stream_driver URL FROM TO
CHECKPOINT`. It ends when all is copied; tests kill it before."""

import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql.functions import col

BATCH_MESSAGES = "20"
EPOCH_MESSAGES = "200"


def main(url: str, source: str, target: str, checkpoint: str) -> None:
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        os.environ[name] = sys.executable
    builder = SparkSession.builder.master("local[2,4]").appName("acklog-stream-driver")
    for name, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
    }.items():
        builder = builder.config(name, value)
    options = {"url": url, "topic": source, "startingOffsets": "earliest", "maxMessagesPerTrigger": EPOCH_MESSAGES}
    query = (
        builder.getOrCreate()
        .readStream.format("acklog")
        .options(**options)
        .load()
        .select(col("key"), col("value"))
        .writeStream.format("acklog")
        .options(url=url, topic=target, batchMessages=BATCH_MESSAGES, checkpointLocation=checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
