"""`acklog export`."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from acklog.command.exit_codes import ExitCode
from acklog.command.failures import CommandError, UsageError
from acklog.command.progress import Progress
from acklog.command.quantities import count_text, parse_size_bytes, size_text
from acklog.command.session import Session, session_of
from acklog.command.times import ago_text, duration_text
from acklog.command.tree import CommandGroup
from acklog.command.views import Cell, Column, Sentence, Table
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
from acklog_spark.export_options import (
    READ_FROM,
    TARGET_FILE_SIZE,
    AllowGapsOption,
    BodyOption,
    CompactOption,
    CompressionOption,
    FormatOption,
    MaxRateOption,
    PartitionByOption,
    ReadFromOption,
    SchemaOption,
    TargetFileSizeOption,
    ToOption,
    TopicsArgument,
)
from acklog_spark.sessions import open_session, parse_settings

if TYPE_CHECKING:
    from pyspark_acklog.export.layout import FileFormat, LayoutWish
    from pyspark_acklog.export.manifest import Manifest
    from pyspark_acklog.export.plan import Plan
    from pyspark_acklog.export.run import RunSettings
    from pyspark_acklog.export.verify import Verdict


class RunByDefault(CommandGroup):
    """`acklog export flights --to DIRECTORY` is `acklog export run flights --to DIRECTORY`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        is_named = any(name in args for name in self.list_commands(ctx))
        wants_help = not args or {"--help", "-h"} & set(args)
        return super().parse_args(ctx, args if is_named or wants_help else ["run", *args])


def run(
    context: typer.Context,
    topics: TopicsArgument,
    path: ToOption,
    file_format: FormatOption = None,
    partition_by: PartitionByOption = None,
    body_schema: SchemaOption = None,
    has_body_text: BodyOption = None,
    compression: CompressionOption = None,
    target_file_size: TargetFileSizeOption = TARGET_FILE_SIZE,
    has_gaps_allowed: AllowGapsOption = False,
    is_joining: CompactOption = True,
    read_from: ReadFromOption = READ_FROM[0],
    rate: MaxRateOption = None,
    is_in_background: BackgroundOption = False,
    gateways: GatewaysOption = None,
    master: MasterOption = "",
    settings: SettingsOption = None,
) -> None:
    """Export what topics have got since the last run.

    A run that was killed is finished by the next one, with the same files. What is there now is read; what comes while
    the run goes on is left for the next. Exit code 0: all topics are exported, also where nothing was new. A topic that
    cannot be exported does not keep the others from it.
    """
    if is_in_background:
        give_way()
    session = session_of(context)
    spark_settings = parse_settings(settings or [])
    with told():
        from pyspark_acklog.export.job import Exporter
        from pyspark_acklog.failures import SparkSourceError
        from pyspark_acklog.options import FetchOptions, ReadFrom

        layout = _layout(file_format, partition_by, body_schema, has_body_text, compression)
        if read_from not in READ_FROM:
            raise UsageError(f"{read_from!r} is no replica", field="--read-from", near=READ_FROM)
        options = FetchOptions(
            connection=connection_of(session, gateways),
            read_from=ReadFrom(read_from),
            max_bytes_per_second=None if rate is None else _parse_rate(rate),
        )
        with _shown_progress(session) as watcher:
            exporter = Exporter(
                path=path,
                options=options,
                settings=_run_settings(layout, target_file_size, has_gaps_allowed, is_joining),
                open_spark=lambda: open_session(
                    "acklog export", master=master, settings=spark_settings, is_quiet=not session.options.is_debug
                ),
                watcher=watcher,
                on_pieces=watcher.pieces,
            )
            runs: list[tuple[str, Manifest]] = []
            failure: SparkSourceError | None = None
            try:
                for topic, manifests in exporter.runs(topics):
                    runs += [(topic, manifest) for manifest in manifests]
            except SparkSourceError as error:
                failure = error  # the topics that were exported are told first
        if runs or failure is None:
            _show_runs(session, runs, seconds=watcher.seconds, topics=topics)
        if failure is not None:
            raise failure


def verify(
    context: typer.Context,
    path: PathArgument,
    topics: Annotated[
        list[str] | None, typer.Argument(metavar="[TOPIC]...", help="Only these.", show_default=False)
    ] = None,
    master: MasterOption = "",
    settings: SettingsOption = None,
) -> None:
    """Read an export, and prove that each row is there once.

    No gap that no manifest explains, no overlap, the right counts and checksums, and no file that no run has written.
    Exit code 0: it is so, 1: it is not.
    """
    session = session_of(context)
    spark_settings = parse_settings(settings or [])
    with told():
        from pyspark_acklog.export.storages import local_path_of, storage_at
        from pyspark_acklog.export.verify import topics_in, verified

        opened: list[Any] = []

        def spark() -> Any:
            if not opened:
                is_quiet = not session.options.is_debug
                opened.append(
                    open_session("acklog export verify", master=master, settings=spark_settings, is_quiet=is_quiet)
                )
            return opened[0]

        storage = storage_at(path, None if local_path_of(path) is not None else spark())
        names = topics or topics_in(storage)
        verdicts = [verified(storage, name, spark) for name in names]
    if not verdicts or not any(verdict.runs for verdict in verdicts):
        raise CommandError(f"there is no export at {path}", exit_code=ExitCode.NOT_FOUND)
    _show_verdicts(session, verdicts)


def history(
    context: typer.Context,
    path: PathArgument,
    topics: Annotated[
        list[str] | None, typer.Argument(metavar="[TOPIC]...", help="Only these.", show_default=False)
    ] = None,
    master: MasterOption = "",
    settings: SettingsOption = None,
) -> None:
    """List the runs of an export."""
    session = session_of(context)
    spark_settings = parse_settings(settings or [])
    with told():
        from pyspark_acklog.export.history import history_of
        from pyspark_acklog.export.storages import local_path_of, storage_at
        from pyspark_acklog.export.verify import topics_in

        spark = None
        if local_path_of(path) is None:
            is_quiet = not session.options.is_debug
            spark = open_session("acklog export history", master=master, settings=spark_settings, is_quiet=is_quiet)
        storage = storage_at(path, spark)
        entries = [entry for name in topics or topics_in(storage) for entry in history_of(storage, name)]
    now_ms = session.now_ms()
    columns = [
        Column("topic", style="name"),
        *(Column(name, align="right") for name in ("run", "rows", "files", "size", "joined", "gaps")),
        Column("planned", may_wrap=False),
    ]
    rows: list[list[Cell | str]] = [
        [
            entry.topic,
            f"{entry.number:,}",
            f"{entry.rows:,}",
            f"{entry.files:,}",
            size_text(entry.bytes_written),
            f"{entry.files_joined:,}",
            Cell(f"{entry.gap_offsets:,}", "warning" if entry.gap_offsets else ""),
            ago_text(entry.planned_at_ms, now_ms),
        ]
        for entry in entries
    ]
    session.output.show({"runs": entries}, Table(columns, rows, empty=f"There is no export at {path}."))


# --- options ---------------------------------------------------------------------------------------------------------


def _parse_rate(text: str) -> int:
    """Raises UsageError."""
    from pyspark_acklog.options import BYTES_PER_SECOND_MIN

    rate = parse_size_bytes(text, field="--max-rate")
    if rate < BYTES_PER_SECOND_MIN:
        raise UsageError(f"{text!r} is too little to get anywhere", field="--max-rate", hint="At least 64KiB.")
    return rate


def _layout(
    file_format: str | None,
    partition_by: str | None,
    body_schema: str | None,
    has_body_text: bool | None,
    compression: str | None,
) -> "LayoutWish":
    """Raises UsageError, and SparkSourceError."""
    from pyspark_acklog.export.delta import require_delta
    from pyspark_acklog.export.layout import FORMATS, LayoutWish, columns_of

    if file_format is not None and file_format not in FORMATS:
        raise UsageError(f"{file_format!r} is no format", field="--format", near=FORMATS)
    if file_format == "delta":
        require_delta()
    return LayoutWish(
        format=cast("FileFormat | None", file_format),
        partition_by=None if partition_by is None else columns_of(partition_by),
        body_schema=body_schema,
        has_body_text=has_body_text,
        compression=compression,
    )


def _run_settings(
    layout: "LayoutWish", target_file_size: str, has_gaps_allowed: bool, is_joining: bool
) -> "RunSettings":
    from pyspark_acklog.export.job import TARGET_FILE_BYTES_MAX, TARGET_FILE_BYTES_MIN
    from pyspark_acklog.export.run import RunSettings

    target_bytes = parse_size_bytes(target_file_size, field="--target-file-size")
    if not TARGET_FILE_BYTES_MIN <= target_bytes <= TARGET_FILE_BYTES_MAX:
        limits = f"{size_text(TARGET_FILE_BYTES_MIN)} to {size_text(TARGET_FILE_BYTES_MAX)}"
        raise UsageError(f"files of {size_text(target_bytes)} are not possible: {limits}", field="--target-file-size")
    return RunSettings(
        layout=layout, target_file_bytes=target_bytes, has_gaps_allowed=has_gaps_allowed, is_joining=is_joining
    )


# --- progress and results --------------------------------------------------------------------------------------------


class RunProgress:
    """A bar of rows, with bytes and what is left to the pinned end in the words before it."""

    def __init__(self, session: Session, progress: Progress) -> None:
        self._session = session
        self._progress = progress
        self._plan: Plan | None = None
        self._rows = 0
        self._began_s = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began_s

    def planned(self, plan: "Plan", *, is_resumed: bool) -> None:
        self._plan, self._rows = plan, 0
        if is_resumed:
            self._session.output.note(f"Finishing run {plan.number} of {plan.topic}, which was never committed.")
        joins = f", {count_text(len(plan.joins), 'join')} of small files" if plan.joins else ""
        self._session.output.note(
            f"{plan.topic}: {count_text(plan.rows, 'message')} to the pinned end, in"
            f" {count_text(len(plan.pieces), 'piece')}{joins}"
        )
        self._describe("planned")

    def step(self, name: str) -> None:
        if self._plan is not None:
            if name == "read back":
                self.pieces(1, 1)
            self._describe(name)

    def pieces(self, done: int, total: int) -> None:
        """So many of the plan's pieces are written."""
        if self._plan is None or not total:
            return
        rows = self._plan.rows * done // total
        self._progress.advance(max(0, rows - self._rows))
        self._rows = max(rows, self._rows)
        self._describe("write")

    def _describe(self, what: str) -> None:
        if self._plan is not None:
            written = size_text(round(self._rows * self._plan.row_bytes))
            lag = max(0, self._plan.rows - self._rows)
            self._progress.describe(f"{self._plan.topic}: {what}, about {written}, lag {lag:,}")


@contextmanager
def _shown_progress(session: Session) -> Iterator[RunProgress]:
    with session.output.progress("export") as progress:
        yield RunProgress(session, progress)


def _show_runs(
    session: Session, runs: "Sequence[tuple[str, Manifest]]", *, seconds: float, topics: Sequence[str]
) -> None:
    columns = [
        Column("topic", style="name"),
        *(Column(name, align="right") for name in ("run", "rows", "files", "size", "joined", "gaps")),
    ]
    rows = [
        [
            topic,
            f"{manifest.number:,}",
            f"{manifest.rows_added:,}",
            f"{len(manifest.files):,}",
            size_text(manifest.size_bytes),
            f"{len(manifest.replaced):,}",
            f"{sum(gap.span.length for gap in manifest.gaps):,}",
        ]
        for topic, manifest in runs
    ]
    document = {
        "seconds": round(seconds, 3),
        "runs": [
            {
                "topic": topic,
                "number": manifest.number,
                "rows": manifest.rows_added,
                "files": len(manifest.files),
                "bytes": manifest.size_bytes,
                "filesJoined": len(manifest.replaced),
                "gapOffsets": sum(gap.span.length for gap in manifest.gaps),
            }
            for topic, manifest in runs
        ],
    }
    empty = f"Nothing new in {', '.join(topics)}."
    session.output.show(document, Table(columns, rows, empty=empty))
    if rows:
        session.output.note(f"Done in {duration_text(round(seconds * 1000))}.")


def _show_verdicts(session: Session, verdicts: "Sequence[Verdict]") -> None:
    columns = [
        Column("topic", style="name"),
        *(Column(name, align="right") for name in ("runs", "partitions", "rows", "files", "size", "gaps")),
        Column("verdict"),
    ]
    rows: list[list[Cell | str]] = [
        [
            verdict.topic,
            f"{verdict.runs:,}",
            f"{verdict.partitions:,}",
            f"{verdict.rows:,}",
            f"{verdict.files:,}",
            size_text(verdict.size_bytes),
            f"{verdict.gap_offsets:,}",
            Cell("every row once", "good") if verdict.is_ok else Cell(count_text(len(verdict.faults), "fault"), "bad"),
        ]
        for verdict in verdicts
    ]
    faults = [Sentence(f"{verdict.topic}: {fault}", "bad") for verdict in verdicts for fault in verdict.faults]
    session.output.show({"topics": verdicts}, Table(columns, rows), *faults)
    if faults:
        raise typer.Exit(ExitCode.FAILED)
