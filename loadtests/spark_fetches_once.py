"""`python -m loadtests.spark_fetches_once --url URL --topic T --partition 0`: what a task of an export asks of the
server, at a fixed rate, over and over, until its input ends; no Spark makes rows of it.

It stands for a task on another machine, so it runs while nothing else wants a processor: what the server does for such
tasks is to be seen, and not what they take from it here. Prints `ready` before it begins, and the bytes per second at
the end."""

import sys
import threading
from collections.abc import Iterator
from time import perf_counter
from typing import Annotated

import typer

from acklog_spark.background import give_way
from loadtests.spark_export_once import READY, wait_for_the_end
from pyspark_acklog import fetch
from pyspark_acklog.fetch import Page
from pyspark_acklog.options import ReadOptions, parse_read
from pyspark_acklog.plan import pin_partitions


def main(
    url: Annotated[str, typer.Option()],
    topic: Annotated[str, typer.Option()],
    partition: Annotated[list[int], typer.Option()],
    bytes_per_s: Annotated[int, typer.Option()],
) -> None:
    give_way()
    is_over = threading.Event()
    threading.Thread(target=wait_for_the_end, args=(is_over,), daemon=True).start()
    options = parse_read({"url": url, "topic": topic, "maxBytesPerSecond": str(bytes_per_s)})
    typer.echo(READY)
    sys.stdout.flush()
    began, size_bytes = perf_counter(), 0
    for page in _pages(options, partition):
        size_bytes += page.size_bytes
        if is_over.is_set():
            break
    typer.echo(str(size_bytes / (perf_counter() - began)))


def _pages(options: ReadOptions, partitions: list[int]) -> Iterator[Page]:
    """Without an end, as long as there is anything in the partitions."""
    with options.connection.client() as client:
        pinned = [each.range for each in pin_partitions(client, options) if each.range.partition in partitions]
    while any(each.start < each.end for each in pinned):
        for range_ in pinned:
            yield from fetch.pages(range_, options.fetch)


if __name__ == "__main__":
    typer.run(main)
