"""How a run is watched: the port, and the one that writes lines."""

from collections.abc import Callable
from typing import Protocol

from app.demo.journal import Event, Journal

LINE_EVERY_S = 2.0


class Display(Protocol):
    """`tell` is called with each event, `refresh` a few times a second."""

    def tell(self, event: Event) -> None: ...

    def refresh(self, journal: Journal) -> None: ...


class LineDisplay:
    """Lines, for pipes and files: each event, and every two seconds how far the work is."""

    def __init__(self, write_line: Callable[[str], None]) -> None:
        self._write_line = write_line
        self._next_s = LINE_EVERY_S

    def tell(self, event: Event) -> None:
        self._write_line(f"{event.at_s:7.2f} s  {event.text}")

    def refresh(self, journal: Journal) -> None:
        if journal.elapsed_s < self._next_s:
            return
        self._next_s = journal.elapsed_s + LINE_EVERY_S
        work = journal.work
        read_back = f", {work.read_back:,} read back" if work.read_back else ""
        self.tell(Event(journal.elapsed_s, work.describe() + read_back))
