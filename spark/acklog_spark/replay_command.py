"""`acklog replay`."""

import re
from typing import TYPE_CHECKING, Annotated, cast

import typer

from acklog.command.failures import UsageError
from acklog.command.quantities import count_text, parse_numbers
from acklog.command.session import session_of
from acklog.command.times import parse_moment
from acklog.command.views import Fields
from acklog_spark.background import give_way
from acklog_spark.common_options import (
    BackgroundOption,
    GatewaysOption,
    MasterOption,
    PathArgument,
    SettingsOption,
    connection_of,
)
from acklog_spark.errors import told
from acklog_spark.sessions import open_session, parse_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pyspark_acklog.archive.replay_plan import Placing

PLACINGS = ("keep", "key")
_RELATIVE = re.compile(r"[0-9.]+(?:ms|s|m|h|d)")


TopicArgument = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic that was exported.", show_default=False)]
ToTopicOption = Annotated[
    str | None, typer.Option("--to-topic", metavar="TOPIC", help="Where to send; it has to exist [the same topic].")
]
PartitionsOption = Annotated[str | None, typer.Option("--partitions", metavar="NUMBERS", help="Only these, as 0,3,7.")]
FromOffsetOption = Annotated[
    int | None, typer.Option("--from-offset", metavar="OFFSET", min=0, help="The first offset of each partition.")
]
ToOffsetOption = Annotated[
    int | None, typer.Option("--to-offset", metavar="OFFSET", min=0, help="The offset to stop before.")
]
SinceOption = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="What was appended at 2026-11-21T12:00 or later.")
]
UntilOption = Annotated[str | None, typer.Option("--until", metavar="TIME", help="What was appended before.")]
TopicIdOption = Annotated[
    str, typer.Option("--topic-id", metavar="ID", help="Of a topic that was made anew: which [the newest].")
]
PlaceOption = Annotated[
    str | None,
    typer.Option("--place", metavar="HOW", help="keep the partition, or by key [keep, where it is possible]."),
]
NameOption = Annotated[
    str,
    typer.Option("--name", metavar="NAME", help="Tells this replay from others of the same messages."),
]


def replay(
    context: typer.Context,
    path: PathArgument,
    topic: TopicArgument,
    target: ToTopicOption = None,
    partitions: PartitionsOption = None,
    start: FromOffsetOption = None,
    end: ToOffsetOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    topic_id: TopicIdOption = "",
    placing: PlaceOption = None,
    name: NameOption = "",
    is_in_background: BackgroundOption = False,
    gateways: GatewaysOption = None,
    master: MasterOption = "",
    settings: SettingsOption = None,
) -> None:
    """Send messages of an export again, as they were.

    Body, key, headers, tags and the producer's timestamp are the same. A replay that was killed is begun again by the
    same command line, and adds nothing twice. Retention goes by the time of appending, so the messages stay as long as
    new ones.
    """
    if is_in_background:
        give_way()
    session = session_of(context)
    spark_settings = parse_settings(settings or [])
    if placing is not None and placing not in PLACINGS:
        raise UsageError(f"{placing!r} is no way to place messages", field="--place", near=PLACINGS)
    now_ms = session.now_ms()
    with told():
        from pyspark_acklog.archive.replay import NAME_PATTERN, Replay
        from pyspark_acklog.archive.replay_plan import Selection
        from pyspark_acklog.export.storages import local_path_of, storage_at

        if name and not re.fullmatch(NAME_PATTERN, name):
            raise UsageError("a name has up to 48 letters, digits, '.', '_' and '-'", field="--name")

        def spark() -> "SparkSession":
            is_quiet = not session.options.is_debug
            return open_session("acklog replay", master=master, settings=spark_settings, is_quiet=is_quiet)

        selection = Selection(
            topic=topic,
            topic_id=topic_id,
            partitions=() if partitions is None else tuple(parse_numbers(partitions, field="--partitions")),
            start=start,
            end=end,
            since_ms=_moment(since, now_ms=now_ms, field="--since"),
            until_ms=_moment(until, now_ms=now_ms, field="--until"),
        )
        storage = storage_at(path, None if local_path_of(path) is not None else spark())
        work = Replay(storage, connection_of(session, gateways), spark, now_ms=now_ms)
        with session.output.progress(f"replay {topic}"):
            done = work.run(selection, target or topic, name=name, placing=cast("Placing | None", placing))
    document = {
        "name": done.name,
        "target": done.target,
        "sent": done.sent,
        "alreadyThere": done.already_there,
        "isResumed": done.is_resumed,
    }
    rows = [("replay", done.name), ("to", done.target), ("sent", count_text(done.sent, "message"))]
    if done.is_resumed:
        rows.append(("there already", count_text(done.already_there, "message")))
    session.output.show(document, Fields(rows))


def _moment(text: str | None, *, now_ms: int, field: str) -> int:
    """-1 for none. Raises UsageError, also for one that would be another when the replay is begun again."""
    if text is None:
        return -1
    if _RELATIVE.fullmatch(text):
        hint = "Write it as 2026-11-21T12:00, so that the same command line always selects the same."
        raise UsageError(f"{text!r} is another time whenever it is read", field=field, hint=hint)
    return parse_moment(text, now_ms=now_ms, field=field)
