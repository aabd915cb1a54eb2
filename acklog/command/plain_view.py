"""Views as plain text: for pipes, files and `TERM=dumb`. Columns are two spaces apart, headings in capitals."""

from collections.abc import Sequence

from acklog.command.printable import one_line
from acklog.command.views import Fields, Sentence, Table, View, cell

GAP = "  "


def plain_text(view: View) -> str:
    """The view's lines, each with its line break; "" for a table without rows."""
    if isinstance(view, Sentence):
        return one_line(view.text) + "\n"
    if isinstance(view, Fields):
        return _fields(view)
    return _table(view)


def _fields(view: Fields) -> str:
    width = max((len(label) for label, _ in view.rows), default=0)
    title = [one_line(view.title)] if view.title else []
    lines = [f"{label:<{width}}{GAP}{one_line(cell(value).text)}".rstrip() for label, value in view.rows]
    return "".join(line + "\n" for line in (*title, *lines))


def _table(view: Table) -> str:
    if not view.rows:
        return ""
    headings = [column.name.upper() for column in view.columns]
    rows = [headings, *([one_line(cell(value).text) for value in row] for row in view.rows)]
    widths = [max(len(row[index]) for row in rows) for index in range(len(headings))]
    return "".join(_line(view, row, widths) for row in rows)


def _line(view: Table, row: Sequence[str], widths: Sequence[int]) -> str:
    parts = [
        text.rjust(width) if column.align == "right" else text.ljust(width)
        for text, width, column in zip(row, widths, view.columns, strict=True)
    ]
    return GAP.join(parts).rstrip() + "\n"
