"""How a run is watched: the port, and the one that writes lines."""

from collections.abc import Callable
from typing import Protocol

from app.demo.run_journal import RunEvent, RunJournal

LINE_EVERY_S = 2.0


class RunDisplay(Protocol):
    """`tell` is called with each event, `refresh` a few times a second."""

    def tell(self, event: RunEvent) -> None: ...

    def refresh(self, journal: RunJournal) -> None: ...


class RunLineDisplay:
    """Lines, for pipes and files: each event, and every two seconds how far the work is."""

    def __init__(self, write_line: Callable[[str], None]) -> None:
        self._write_line = write_line
        self._next_s = LINE_EVERY_S

    def tell(self, event: RunEvent) -> None:
        self._write_line(f"{event.at_s:7.2f} s  {event.text}")

    def refresh(self, journal: RunJournal) -> None:
        if journal.elapsed_s < self._next_s:
            return
        self._next_s = journal.elapsed_s + LINE_EVERY_S
        work = journal.work
        read_back = f", {work.read_back:,} read back" if work.read_back else ""
        self.tell(RunEvent(journal.elapsed_s, work.describe() + read_back))
