"""Out of a topic, through Spark, and back into another one; then compared.

python -m examples.spark.round_trip --url http://127.0.0.1:8080 --topic flights --to late-flights
"""

import argparse
from typing import TYPE_CHECKING

from acklog import Client
from examples.spark.sessions import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LATE_MINUTES = 60


def send_late_flights(spark: "SparkSession", url: str, topic: str, target: str) -> tuple[int, int]:
    """How many flights were late, and how many of them are in the target topic then.

    The write has a name: run again it adds nothing, as long as it reads the same. So the end is pinned.
    """
    with Client(url) as client:
        ends = {state.partition: state.high_watermark for state in client.topics.get(topic).partition_states}
        client.topics.create(target)
    pinned = "{" + ",".join(f'"{partition}":{end}' for partition, end in ends.items()) + "}"
    source = spark.read.format("acklog").option("url", url).option("topic", topic)
    flights = source.option("endingOffsets", pinned).option("schema", "dep_delay double").load()
    late = flights.where(f"dep_delay > {LATE_MINUTES}").select("key", "value", "tags", "timestamp")
    late.write.format("acklog").mode("append").option("url", url).option("topic", target).option(
        "writeId", f"late-{topic}-{sum(end or 0 for end in ends.values())}"
    ).save()
    back = spark.read.format("acklog").option("url", url).option("topic", target).load()
    return late.count(), back.count()


def main() -> None:
    parser = argparse.ArgumentParser(description="Late flights into a topic of their own.")
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--topic", default="flights")
    parser.add_argument("--to", default="late-flights")
    arguments = parser.parse_args()
    spark = session("round trip")
    late, there = send_late_flights(spark, arguments.url, arguments.topic, arguments.to)
    print(f"{late:,} flights were more than {LATE_MINUTES} minutes late; {arguments.to} has {there:,}")
    spark.stop()


if __name__ == "__main__":
    main()
