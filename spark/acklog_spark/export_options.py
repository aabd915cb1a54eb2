"""The options of `acklog export run`."""

from typing import Annotated

import typer

from acklog.command.topic_names import complete_topics

TARGET_FILE_SIZE = "128MiB"
READ_FROM = ("leader", "nearest")

TopicsArgument = Annotated[
    list[str],
    typer.Argument(metavar="TOPIC", help="What to export.", show_default=False, autocompletion=complete_topics),
]
ToOption = Annotated[
    str,
    typer.Option("--to", metavar="PATH", help="A directory, or a URL such as hdfs:///lake or s3a://bucket/lake."),
]
FormatOption = Annotated[
    str | None, typer.Option("--format", metavar="FORMAT", help="parquet, json, orc or delta [parquet].")
]
PartitionByOption = Annotated[
    str | None,
    typer.Option(
        "--partition-by",
        metavar="COLUMNS",
        help="date (appended), eventDate (the producer's), columns of --schema, or none [date].",
    ),
]
SchemaOption = Annotated[
    str | None, typer.Option("--schema", metavar="DDL", help="Columns of JSON bodies: 'carrier string, delay int'.")
]
BodyOption = Annotated[bool | None, typer.Option("--body/--no-body", help="Also bodies as text.")]
CompressionOption = Annotated[
    str | None, typer.Option("--compression", metavar="CODEC", help="Of the files [Spark's default].")
]
TargetFileSizeOption = Annotated[
    str, typer.Option("--target-file-size", metavar="SIZE", help="About how large files become, at most.")
]
AllowGapsOption = Annotated[
    bool, typer.Option("--allow-gaps", help="Go on where messages are gone; the gaps are recorded.")
]
CompactOption = Annotated[bool, typer.Option("--compact/--no-compact", help="Join small files of earlier runs.")]
ReadFromOption = Annotated[
    str, typer.Option("--read-from", metavar="REPLICA", help="leader, or nearest: any replica near the gateway.")
]
MaxRateOption = Annotated[
    str | None, typer.Option("--max-rate", metavar="SIZE", help="Read at most so much per second and task.")
]
