"""`python -m loadtests.spark_export_once --url URL --topic T`: a topic read at a fixed rate by a Spark of its own, over
and over, until its input ends. Prints `ready` once the first pass is done, and the bytes per second at the end."""

import sys
import threading
from time import perf_counter
from typing import Annotated

import typer
from pyspark.sql import SparkSession

from acklog_spark.background import give_way
from acklog_spark.sessions import open_session

READY = "ready"


def main(
    url: Annotated[str, typer.Option()],
    topic: Annotated[str, typer.Option()],
    tasks: Annotated[int, typer.Option()],
    bytes_per_s: Annotated[int, typer.Option()],
    pass_bytes: Annotated[int, typer.Option(help="What one pass reads.")],
    is_in_background: Annotated[bool, typer.Option("--background")] = False,
) -> None:
    if is_in_background:
        give_way()
    is_over = threading.Event()
    threading.Thread(target=wait_for_the_end, args=(is_over,), daemon=True).start()
    spark = open_session("acklog-bench-export", master=f"local[{tasks}]", settings={}, is_quiet=True)
    try:
        _read(spark, url, topic, "256m")  # Spark and its workers are warm from here on
        typer.echo(READY)
        sys.stdout.flush()
        began, passes = perf_counter(), 0
        while not is_over.is_set():
            _read(spark, url, topic, str(bytes_per_s // tasks))
            passes += 1
        typer.echo(str(passes * pass_bytes / (perf_counter() - began)))
    finally:
        spark.stop()


def _read(spark: SparkSession, url: str, topic: str, rate: str) -> None:
    table = spark.read.format("acklog").options(url=url, topic=topic, maxBytesPerSecond=rate).load()
    table.write.format("noop").mode("overwrite").save()


def wait_for_the_end(is_over: threading.Event) -> None:
    sys.stdin.read()
    is_over.set()


if __name__ == "__main__":
    typer.run(main)
