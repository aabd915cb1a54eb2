"""Mean delay by carrier, out of a topic as it is now, with a plot.

python -m examples.spark.delays --url http://127.0.0.1:8080 --topic flights --plot delays.png
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from examples.spark.sessions import session
from examples.spark_flights.plot import save_delays

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FLIGHT = "carrier string, dep_delay double"


def delays(spark: "SparkSession", url: str, topic: str) -> list[tuple[str, int, float]]:
    """(carrier, flights, mean delay of departure in minutes), the latest first."""
    flights = spark.read.format("acklog").option("url", url).option("topic", topic).option("schema", FLIGHT).load()
    rows = flights.groupBy("carrier").agg({"*": "count", "dep_delay": "avg"}).toDF("carrier", "flights", "delay")
    return [
        (str(row.carrier), int(row.flights), float(row.delay or 0))
        for row in rows.orderBy("delay", ascending=False).collect()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Mean delay by carrier.")
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--topic", default="flights")
    parser.add_argument("--plot", type=Path, default=Path("delays.png"))
    arguments = parser.parse_args()
    spark = session("delays by carrier")
    found = delays(spark, arguments.url, arguments.topic)
    for carrier, flights, delay in found:
        print(f"{carrier:8}{flights:>10,}{delay:>8.1f} min")
    save_delays(found, arguments.plot)
    spark.stop()


if __name__ == "__main__":
    main()
