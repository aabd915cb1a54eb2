"""How a mirror's figures, and what is known of one from its state, are shown."""

from collections.abc import Sequence

from acklog.command.mirror_status import MirrorStatus
from acklog.command.views import Cell, Column, Sentence, Table, View
from acklog.mirror.mirror_figures import MirrorFigures


def figures_document(figures: MirrorFigures, now_ms: int) -> dict[str, object]:
    """A line with --json."""
    return {
        "time": now_ms,
        "copied": figures.copied,
        "lag": figures.lag,
        "lagMs": figures.lag_ms(now_ms),
        "gaps": figures.gap_count,
        "stopped": figures.stopped,
        "problem": figures.problem,
        "topics": [
            {
                "topic": topic.source,
                "target": topic.target,
                "copied": sum(each.copied for each in topic.partitions.values()),
                "cameBack": sum(each.came_back for each in topic.partitions.values()),
                "skipped": sum(each.skipped for each in topic.partitions.values()),
                "lag": sum(each.lag or 0 for each in topic.partitions.values()),
                "lagMs": max((each.lag_ms(now_ms) or 0 for each in topic.partitions.values()), default=0),
                "problem": topic.problem
                or next((each.problem for each in topic.partitions.values() if each.problem), ""),
            }
            for topic in figures.topics.values()
        ],
        "groups": [
            {
                "group": name,
                "moved": group.moved,
                "hasBegun": group.has_begun,
                "notKnown": group.not_known,
                "problem": group.problem,
            }
            for name, group in figures.groups.items()
        ],
    }


def figures_views(figures: MirrorFigures, now_ms: int) -> list[View]:
    """For a terminal."""
    rows: list[list[Cell | str]] = []
    for topic in figures.topics.values():
        partitions = topic.partitions.values()
        problem = topic.stopped or topic.problem or next((each.problem for each in partitions if each.problem), "")
        lag_ms = max((each.lag_ms(now_ms) or 0 for each in partitions), default=0)
        rows.append(
            [
                topic.source,
                topic.target,
                f"{sum(each.copied for each in partitions):,}",
                f"{sum(each.lag or 0 for each in partitions):,}",
                f"{lag_ms / 1000:,.1f}",
                Cell(problem, "bad"),
            ]
        )
    table = Table(_columns("copied"), rows, empty="No topic is meant yet.")
    views: list[View] = [table]
    if figures.problem:
        views.append(Sentence(figures.problem, "bad"))
    return views


def status_document(status: MirrorStatus) -> dict[str, object]:
    """For --json."""
    return {
        "mirror": status.name,
        "alive": status.is_alive,
        "seenMsAgo": status.seen_ms_ago,
        "lag": status.lag,
        "lagMs": status.lag_ms,
        "good": status.is_good,
        "stopped": [{"topic": each.topic, "reason": each.reason} for each in status.stopped],
        "partitions": [
            {
                "topic": each.topic,
                "target": each.target,
                "partition": each.partition,
                "nextOffset": each.next_offset,
                "highWatermark": each.high_watermark,
                "lag": each.lag,
                "lagMs": each.lag_ms,
                "problem": each.problem,
            }
            for each in status.partitions
        ],
        "groups": [
            {
                "group": each.group,
                "topic": each.topic,
                "target": each.target,
                "partition": each.partition,
                "progress": each.progress,
                "translated": each.translated,
                "targetProgress": each.target_progress,
                "again": each.again,
                "state": each.state,
            }
            for each in status.groups
        ],
    }


def status_views(status: MirrorStatus) -> list[View]:
    """For people."""
    seen = "was never seen" if status.seen_ms_ago is None else f"was seen {status.seen_ms_ago / 1000:,.1f} s ago"
    views: list[View] = [Sentence(f"The mirror {status.name} {seen}.", "good" if status.is_alive else "bad")]
    rows: list[list[Cell | str]] = [
        [
            f"{each.topic}/{each.partition}",
            each.target,
            _number(each.next_offset),
            _number(each.lag),
            "" if each.lag_ms is None else f"{each.lag_ms / 1000:,.1f}",
            Cell(each.problem, "bad"),
        ]
        for each in status.partitions
    ]
    views.append(Table(_columns("copied up to"), rows, empty="Nothing is copied yet."))
    if status.groups:
        views.append(_groups_table(status))
    views += [Sentence(f"{each.topic} is stopped: {each.reason}", "bad") for each in status.stopped]
    return views


def _groups_table(status: MirrorStatus) -> Table:
    columns = [
        Column("group", style="strong"),
        Column("topic"),
        Column("here", align="right"),
        Column("translated", align="right"),
        Column("in the target", align="right"),
        Column("comes again", align="right"),
        Column("state"),
    ]
    rows: list[list[Cell | str]] = [
        [
            each.group,
            f"{each.topic}/{each.partition}",
            _number(each.progress),
            _number(each.translated),
            _number(each.target_progress),
            _number(each.again),
            each.state,
        ]
        for each in status.groups
    ]
    return Table(columns, rows, empty="")


def _columns(third: str) -> Sequence[Column]:
    return [
        Column("topic", style="strong"),
        Column("target"),
        Column(third, align="right"),
        Column("lag", align="right"),
        Column("lag s", align="right"),
        Column("problem"),
    ]


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
