"""Dead letters as a person sees them."""

from typing import TYPE_CHECKING

from acklog.command.dead_letters import Origin
from acklog.command.message_view import body_cell
from acklog.command.session import Session
from acklog.command.times import ago_text
from acklog.command.views import Cell, Column, Table

if TYPE_CHECKING:
    from acklog.messages import StoredMessage


def show_letters(session: Session, letters: "list[StoredMessage]", *, empty: str, destination: str = "") -> None:
    """With where each came from, or the `destination` that it would be sent to."""
    now_ms = session.now_ms()
    rows: list[list[Cell | str]] = []
    for letter in letters:
        origin = Origin.of(letter)
        rows.append(
            [
                Cell(letter.message_id, "muted"),
                Cell(destination or origin.place(), "name"),
                origin.group,
                Cell(f"{origin.attempts}, expired" if origin.has_expired else origin.attempts, "warning"),
                ago_text(letter.append_time_ms, now_ms),
                letter.key or "",
                body_cell(letter),
            ]
        )
    columns = [
        Column("letter", may_wrap=False),
        Column("to" if destination else "from"),
        Column("group"),
        Column("attempts", align="right"),
        Column("died", may_wrap=False),
        Column("key"),
        Column("body"),
    ]
    session.output.show({"letters": letters}, Table(columns, rows, empty=empty))
