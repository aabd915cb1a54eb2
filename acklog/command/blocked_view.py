"""Messages that wait for a person's decision, for people."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from acklog.command.times import ago_text
from acklog.command.views import Cell, Column, Table, View

if TYPE_CHECKING:
    from acklog.catalog import BlockedMessage, BlockedMessages

SHOWN_MAX = 10
"""Beside other things about a group."""


def blocked_view(found: "BlockedMessages | None", *, now_ms: int) -> list[View]:
    """The first ones; nothing where nothing waits."""
    if found is None or not found.keys:
        return []
    shown = found.keys[:SHOWN_MAX]
    title = f"{found.count:,} blocked; decide: acklog keys release, acklog keys skip"
    if len(shown) < found.count:
        title += f"; all: acklog keys list {found.group}"
    return [blocked_table(shown, now_ms=now_ms, title=title)]


def blocked_table(messages: "Sequence[BlockedMessage]", *, now_ms: int, title: str = "", empty: str = "") -> Table:
    columns = [
        Column("topic", style="name"),
        Column("partition", align="right"),
        Column("offset", align="right"),
        Column("key"),
        Column("attempts", align="right"),
        Column("blocked", may_wrap=False),
        Column("message", style="muted"),
    ]
    rows: list[list[Cell | str]] = [
        [
            each.topic,
            str(each.partition),
            str(each.offset),
            each.key or "",
            f"{each.attempts:,}",
            ago_text(each.since_ms, now_ms),
            each.message_id or "",
        ]
        for each in messages
    ]
    return Table(columns, rows, title=title, empty=empty)
