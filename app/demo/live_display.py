"""Bars that move, with the kills marked where they came. Imported only where there is a terminal."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from app.demo.run_journal import RunEvent, RunJournal
from app.demo.timeline import MARK

BAR_CELLS = 40
RATE_OVER_S = 1.0
_DONE, _OPEN = "━", "─"


@dataclass(slots=True)
class Bar:
    """One row: a name, how much of how much, and where the kills came."""

    name: str
    began_s: float = 0.0
    ended_s: float = 0.0
    seen: list[tuple[float, int]] = field(default_factory=list)

    def observe(self, at_s: float, count: int, total: int) -> None:
        """So much is done at this time."""
        if not count:
            self.began_s = at_s
        if count >= total and not self.ended_s:
            self.ended_s = at_s
        self.seen.append((at_s, count))
        while self.seen[0][0] < at_s - RATE_OVER_S:
            del self.seen[0]

    @property
    def rate(self) -> float:
        """Per second: lately, or over all where it has ended."""
        last_s, last = self.seen[-1]
        first_s, first = (self.began_s, 0) if self.ended_s else self.seen[0]
        duration_s = (self.ended_s or last_s) - first_s
        return (last - first) / duration_s if duration_s > 0 else 0.0


def bar_text(count: int, total: int, marks: Sequence[int]) -> Text:
    """`count` of `total` as a bar. `marks` are counts at which something happened."""
    filled = BAR_CELLS * count // total
    text = Text(_DONE * filled + _OPEN * (BAR_CELLS - filled))
    text.stylize("good" if count >= total else "name", 0, filled)
    text.stylize("muted", filled)
    return _marked(text, [min(BAR_CELLS * mark // total, BAR_CELLS - 1) for mark in marks])


def _marked(text: Text, places: Sequence[int]) -> Text:
    characters = list(text.plain)
    for place in places:
        characters[place] = MARK
        text.stylize("bad", place, place + 1)
    text.plain = "".join(characters)
    return text


class LiveDisplay:
    """Events scroll by above the bars."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._bars: dict[str, Bar] = {}

    def tell(self, event: RunEvent) -> None:
        line = Text()
        line.append(f"{event.at_s:7.2f} s  ", "muted")
        line.append(event.text, event.style)
        self._live.console.print(line)

    def refresh(self, journal: RunJournal) -> None:
        work, marks = journal.work, journal.marks
        rows = Table.grid(padding=(0, 2, 0, 0))
        for _ in range(5):
            rows.add_column(no_wrap=True)
        self._add(rows, journal, "sent and durable", work.sent, [mark.sent for mark in marks])
        for group, count in work.done.items():
            self._add(rows, journal, f"done by {group}", count, [mark.done[group] for mark in marks])
        self._add(rows, journal, "read back", work.read_back, [])
        rows.add_row(Text("messages/s", "muted"), _timeline_text(journal))
        self._live.update(rows, refresh=True)

    def _add(self, rows: Table, journal: RunJournal, name: str, count: int, marks: Sequence[int]) -> None:
        total = journal.work.total
        bar = self._bars.setdefault(name, Bar(name))
        bar.observe(journal.elapsed_s, count, total)
        rows.add_row(
            Text(name, "strong" if count else "muted"),
            bar_text(count, total, marks),
            Text(f"{100 * count // total:3d} %"),
            Text(f"{count:,}".rjust(len(f"{total:,}"))),
            Text(f"{bar.rate:,.0f}/s".rjust(10) if count else "", "muted"),
        )


def _timeline_text(journal: RunJournal) -> Text:
    drawn = journal.timeline.text()
    return _marked(Text(drawn, "name"), [place for place, character in enumerate(drawn) if character == MARK])


@contextmanager
def live_display(console: Console) -> Iterator[LiveDisplay]:
    """Bars on `console` while the block runs; they stay as they were at its end."""
    with Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as live:
        yield LiveDisplay(live)
