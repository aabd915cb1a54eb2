"""Messages per carrier, counted while they come. Ctrl-C ends it; the checkpoint lets it go on where it was.

python -m examples.spark.counts --url http://127.0.0.1:8080 --topic flights --checkpoint ./counts
"""

import argparse
from typing import TYPE_CHECKING

from examples.spark.sessions import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

TABLE = "counts"


def count(spark: "SparkSession", url: str, topic: str, checkpoint: str, *, is_once: bool = False) -> "StreamingQuery":
    """The running query; its table in memory is `counts`. With `is_once` it ends when all that is there is counted."""
    flights = (
        spark.readStream.format("acklog")
        .option("url", url)
        .option("topic", topic)
        .option("schema", "carrier string")
        .option("startingOffsets", "earliest")
        .load()
    )
    writer = (
        flights.groupBy("carrier")
        .count()
        .writeStream.format("memory")
        .queryName(TABLE)
        .outputMode("complete")
        .option("checkpointLocation", checkpoint)
    )
    return (writer.trigger(availableNow=True) if is_once else writer.trigger(processingTime="2 seconds")).start()


def main() -> None:
    parser = argparse.ArgumentParser(description="Messages per carrier, counted while they come.")
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--topic", default="flights")
    parser.add_argument("--checkpoint", required=True, help="a directory: where the query goes on after a restart")
    parser.add_argument("--once", action="store_true", help="count what is there, and end")
    arguments = parser.parse_args()
    spark = session("streaming counts")
    query = count(spark, arguments.url, arguments.topic, arguments.checkpoint, is_once=arguments.once)
    try:
        while query.isActive:
            query.awaitTermination(5)
            spark.table(TABLE).orderBy("count", ascending=False).show(5)
    except KeyboardInterrupt:
        query.stop()
    spark.stop()


if __name__ == "__main__":
    main()
