"""`python -m loadtests.spark_fetch_once --url URL --topic T --partition 0`: what a task of the data source does before
Spark sees any row, in a process of its own. Prints rows, bytes and times as JSON."""

from time import perf_counter
from typing import Annotated

import msgspec
import typer

from loadtests.load import LoadFailedError
from pyspark_acklog import fetch
from pyspark_acklog.options import ReadOptions, parse_read
from pyspark_acklog.plan import pin_partitions


class Fetched(msgspec.Struct, frozen=True):
    """`began` and `ended` are readings of the machine's monotonic clock, which all processes share."""

    rows: int
    size_bytes: int
    began: float
    ended: float


def fetched(options: ReadOptions, partitions: list[int]) -> Fetched:
    """Raises LoadFailedError where there is nothing in them."""
    with options.connection.client() as client:
        pinned = [each.range for each in pin_partitions(client, options) if each.range.partition in partitions]
    rows = size_bytes = 0
    began = perf_counter()
    for range_ in pinned:
        for page in fetch.pages(range_, options.fetch):
            size_bytes += page.size_bytes
            rows += page.next_offset - page.offset
    ended = perf_counter()
    if not rows:
        raise LoadFailedError(f"partitions {partitions} are empty")
    return Fetched(rows, size_bytes, began, ended)


def main(
    url: Annotated[str, typer.Option()],
    topic: Annotated[str, typer.Option()],
    partition: Annotated[list[int], typer.Option()],
) -> None:
    options = parse_read({"url": url, "topic": topic})
    typer.echo(msgspec.json.encode(fetched(options, partition)).decode())


if __name__ == "__main__":
    typer.run(main)
