"""Views by rich, for terminals. Imported only where there is one: rich takes a tenth of a second to import."""

from typing import IO

from rich.box import ROUNDED, SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.panel import Panel
from rich.table import Table as RichTable
from rich.text import Text
from rich.theme import Theme

from acklog.command.printable import one_line
from acklog.command.views import Cell, Fields, Sentence, Table, View, cell

THEME = Theme(
    {
        "name": "cyan",
        "number": "none",
        "muted": "dim",
        "good": "green",
        "warning": "yellow",
        "bad": "bold red",
        "strong": "bold",
    }
)


def console_for(stream: IO[str], *, is_coloured: bool, width: int | None = None) -> Console:
    """A console on a terminal's stream. Nothing is guessed: no markup, no emoji codes, no highlighting of numbers.

    Without colours there are no escape codes at all, bold ones included.
    """
    return Console(
        file=stream,
        theme=THEME,
        color_system="auto" if is_coloured else None,
        force_terminal=True,
        markup=False,
        emoji=False,
        highlight=False,
        width=width,
    )


def renderable(view: View) -> RenderableType:
    """What rich draws for a view."""
    if isinstance(view, Sentence):
        return _text(Cell(view.text, view.style))
    if isinstance(view, Fields):
        return _fields(view)
    return _table(view)


def _text(value: Cell) -> Text:
    return Text(one_line(value.text), style=value.style)


def _fields(view: Fields) -> RenderableType:
    grid = RichTable.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="muted", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, value in view.rows:
        grid.add_row(label, _text(cell(value)))
    if not view.title:
        return grid
    return Panel(grid, title=Text(one_line(view.title), style="strong"), title_align="left", box=ROUNDED, expand=False)


def _table(view: Table) -> RenderableType:
    title = Text(one_line(view.title), style="strong") if view.title else None
    table = RichTable(box=SIMPLE_HEAD, title=title, title_justify="left", header_style="strong", pad_edge=False)
    for column in view.columns:
        table.add_column(
            column.name, style=column.style, justify=column.align, no_wrap=not column.may_wrap, overflow="fold"
        )
    for row in view.rows:
        table.add_row(*(_text(cell(value)) for value in row))
    return table
