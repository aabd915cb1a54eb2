"""The options of `acklog mirror`."""

from typing import Annotated

import typer

PORT_MAX = 65_535
RATE_MAX = 10_000_000_000
INTERVAL_S_MIN = 0.1
INTERVAL_S_MAX = 3600.0

SourceOption = Annotated[
    str,
    typer.Option(
        "--source",
        metavar="SERVER",
        help="Whence to copy: a profile's name, or a URL, to which ACKLOG_SOURCE_TOKEN is the token.",
    ),
]
NameOption = Annotated[str, typer.Option("--name", metavar="NAME", help="The mirror's name.")]
PatternsArgument = Annotated[
    list[str], typer.Argument(metavar="TOPIC...", help="Topics of the source, or patterns.", show_default=False)
]
ExcludeOption = Annotated[
    list[str] | None, typer.Option("--exclude", metavar="PATTERN", help="Not these topics; may repeat.")
]
PrefixOption = Annotated[
    str, typer.Option("--prefix", metavar="TEXT", help="What names in the target have before them.")
]
RenameOption = Annotated[
    list[str] | None, typer.Option("--rename", metavar="NAME=NAME", help="One topic's name there; may repeat.")
]
FromOption = Annotated[
    str, typer.Option("--from", metavar="PLACE", help="Where to begin at the first start: earliest or latest.")
]
OnGapOption = Annotated[
    str,
    typer.Option("--on-gap", metavar="WHAT", help="Where something is missing: stop that topic, or skip it."),
]
GroupsOption = Annotated[
    list[str] | None,
    typer.Option("--group", "-g", metavar="PATTERN", help="Move the positions of these groups; may repeat. [all]"),
]
NoGroupsOption = Annotated[bool, typer.Option("--no-groups", help="Leave positions alone.")]
RateOption = Annotated[
    int | None, typer.Option("--rate", metavar="BYTES", min=1, max=RATE_MAX, help="At most so many a second.")
]
AtOnceOption = Annotated[
    int, typer.Option("--at-once", metavar="COUNT", min=1, max=256, help="Partitions that are copied at a time.")
]
PositionIntervalOption = Annotated[
    float,
    typer.Option(
        "--position-interval",
        metavar="SECONDS",
        min=INTERVAL_S_MIN,
        max=INTERVAL_S_MAX,
        help="Between two moves of positions.",
    ),
]
CheckpointIntervalOption = Annotated[
    float,
    typer.Option(
        "--checkpoint-interval",
        metavar="SECONDS",
        min=INTERVAL_S_MIN,
        max=INTERVAL_S_MAX,
        help="Between two checkpoints.",
    ),
]
ReportIntervalOption = Annotated[
    float,
    typer.Option(
        "--interval", metavar="SECONDS", min=INTERVAL_S_MIN, max=INTERVAL_S_MAX, help="Between two lines of figures."
    ),
]
OnceOption = Annotated[bool, typer.Option("--once", help="End when all is copied that is there.")]
MetricsPortOption = Annotated[
    int | None, typer.Option("--metrics-port", metavar="PORT", min=0, max=PORT_MAX, help="Answer Prometheus there.")
]
MetricsHostOption = Annotated[
    str, typer.Option("--metrics-host", metavar="ADDRESS", help="The address to listen at for that.")
]
StatusPatternsArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[TOPIC]...", help="Topics of the source, or patterns. [all]", show_default=False),
]
StatusGroupsOption = Annotated[
    list[str] | None,
    typer.Option("--group", "-g", metavar="GROUP", help="And where this group is, at both ends; may repeat."),
]
MaxLagOption = Annotated[
    int, typer.Option("--max-lag", metavar="COUNT", min=0, help="Good is: no more messages behind than that.")
]
MaxSecondsOption = Annotated[
    float | None,
    typer.Option("--max-seconds", metavar="SECONDS", min=0, help="Good is: and none waits for longer."),
]
