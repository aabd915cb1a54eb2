"""What the demo promises, compared with what is in the files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark_acklog.export.manifest import ExportedFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SIZE_TOLERANCE = 1.15
"""Files are cut by how large rows were in a sample and in earlier runs: a slice may be of larger rows."""


@dataclass(frozen=True, slots=True)
class Check:
    """One promise, and whether it held."""

    promise: str
    is_kept: bool
    found: str


def check_rows(confirmed: Mapping[tuple[int, int], bytes], table: "DataFrame") -> list[Check]:
    """Every confirmed message once, with its body to the byte."""
    rows = table.select("partition", "offset", "value").toArrow()
    partitions, offsets = rows.column("partition").to_pylist(), rows.column("offset").to_pylist()
    places = list(zip(partitions, offsets, strict=True))
    known = set(places)
    missing = len(confirmed.keys() - known)
    foreign = len(known - confirmed.keys())
    differing = sum(
        confirmed.get(place) != value
        for place, value in zip(places, rows.column("value").to_pylist(), strict=True)
        if place in confirmed
    )
    return [
        Check(
            "every confirmed message is in the table", not missing, f"{len(confirmed) - missing:,}, {missing} missing"
        ),
        Check("each of them once", len(places) == len(known), f"{len(places) - len(known)} twice"),
        Check("nothing else is", not foreign, f"{foreign} others"),
        Check("bodies are equal byte for byte", not differing, f"{differing} differ"),
    ]


def check_sizes(files: Sequence[ExportedFile], target_bytes: int) -> Check:
    """No file larger than wanted, and no more small ones than a run leaves."""
    sizes = [file.size_bytes for file in files]
    small = sum(size * 2 < target_bytes for size in sizes)
    largest = max(sizes)
    is_kept = largest <= target_bytes * SIZE_TOLERANCE and small <= 2
    found = f"{len(sizes)} files of {min(sizes) / 1024:,.0f} to {largest / 1024:,.0f} KiB, {small} small"
    return Check(f"files are {target_bytes / 1024:,.0f} KiB at most, and few are small", is_kept, found)


def delays_by_carrier(spark: "SparkSession", path: str) -> "list[tuple[str, int, float]]":
    """(carrier, flights, mean delay of departure in minutes), the latest first: out of the files alone."""
    spark.read.parquet(path).createOrReplaceTempView("exported")
    # The bodies of this input are JSON strings with JSON in them: the outer one is what the server stores.
    rows = spark.sql(
        """
        with flights as (
          select from_json(get_json_object(concat('{"body":', cast(value as string), '}'), '$.body'),
                           'carrier string, dep_delay double') as flight
          from exported)
        select flight.carrier, count(*) as flights, avg(flight.dep_delay) as delay
        from flights group by 1 order by delay desc, 1
        """
    ).collect()
    return [(str(row.carrier), int(row.flights), float(row.delay or 0)) for row in rows]
