"""What a command has to show to a person, without how: tables, fields and sentences.

`output` renders them by rich on a terminal (`rich_view`) and as aligned text elsewhere (`plain_view`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Style = Literal["", "name", "number", "muted", "good", "warning", "bad", "strong"]


@dataclass(frozen=True, slots=True)
class Cell:
    """Text with a meaning; what the meaning looks like is the renderer's business."""

    text: str
    style: Style = ""


@dataclass(frozen=True, slots=True)
class Column:
    """`style` is for cells that have none. A column that `may_wrap` gets several lines where it is too narrow."""

    name: str
    style: Style = ""
    align: Literal["left", "right"] = "left"
    may_wrap: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """Rows below named columns. `empty` is said (as chatter) when there are none."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell | str]]
    title: str = ""
    empty: str = ""


@dataclass(frozen=True, slots=True)
class Fields:
    """Labels and values, below one another."""

    rows: Sequence[tuple[str, Cell | str]]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A line of prose."""

    text: str
    style: Style = ""


View = Table | Fields | Sentence


def cell(value: Cell | str) -> Cell:
    """The cell for a value that may be one already."""
    return value if isinstance(value, Cell) else Cell(value)
