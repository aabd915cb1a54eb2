"""How a local cluster is shown: a table that moves, or lines for pipes and files."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from acklog.command.views import Sentence
from app.local_cluster.cluster_process import ClusterProcess
from app.local_cluster.cluster_view import change_style, change_text, cluster_table
from app.local_cluster.condition import Condition

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live


class ClusterLineDisplay:
    """Only what changes."""

    def __init__(self, write_line: Callable[[str], None]) -> None:
        self._write_line = write_line

    def changed(self, member: ClusterProcess) -> None:
        self._write_line(change_text(member))

    def refresh(self, members: Sequence[ClusterProcess], conditions: Sequence[Condition]) -> None:
        pass


class TableDisplay:
    """Changes scroll by above the table."""

    def __init__(self, live: "Live") -> None:
        self._live = live

    def changed(self, member: ClusterProcess) -> None:
        from acklog.command.rich_view import renderable

        self._live.console.print(renderable(Sentence(change_text(member), change_style(member))))

    def refresh(self, members: Sequence[ClusterProcess], conditions: Sequence[Condition]) -> None:
        from acklog.command.rich_view import renderable

        self._live.update(renderable(cluster_table(members, conditions)), refresh=True)


@contextmanager
def table_display(console: "Console") -> Iterator[TableDisplay]:
    """A table on `console` while the block runs; it stays as it was at its end."""
    from rich.live import Live

    with Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as live:
        yield TableDisplay(live)
