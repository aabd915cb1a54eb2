"""Progress by rich. Imported only where standard error is a terminal."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress
from rich.progress import Task as RichTask
from rich.text import Text


class RateColumn(TextColumn):
    """Items per second."""

    def __init__(self) -> None:
        super().__init__("")

    def render(self, task: RichTask) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f}/s", style="muted")


class BarProgress:
    """A bar with a total, or a count that grows."""

    def __init__(self, bars: RichProgress, task: TaskID) -> None:
        self._bars = bars
        self._task = task

    def advance(self, count: int = 1) -> None:
        self._bars.advance(self._task, count)

    def describe(self, text: str) -> None:
        self._bars.update(self._task, description=text)


@contextmanager
def progress_bar(console: Console, what: str, *, total: int | None) -> Iterator[BarProgress]:
    """A bar that vanishes when the block ends: what was done is said by the command."""
    amount: list[TextColumn | BarColumn | MofNCompleteColumn]
    amount = [TextColumn("{task.completed:,}")] if total is None else [BarColumn(), MofNCompleteColumn()]
    columns = [SpinnerColumn(), TextColumn("{task.description}"), *amount, RateColumn(), TimeElapsedColumn()]
    with RichProgress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as bars:
        yield BarProgress(bars, bars.add_task(what, total=total))
