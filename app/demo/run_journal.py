"""What has happened, as it happens: for the display, and for the picture of the run in the summary."""

from collections.abc import Callable
from dataclasses import dataclass

from acklog.command.views import Style
from app.demo.timeline import Timeline
from app.demo.work import Work


@dataclass(frozen=True, slots=True)
class RunEvent:
    """`at_s` is since the run began."""

    at_s: float
    text: str
    style: Style = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """How far everything was when the server was killed."""

    sent: int
    done: dict[str, int]


class RunJournal:
    """`now_s` is a clock that goes forward; `tell` shows an event at once."""

    def __init__(self, work: Work, now_s: Callable[[], float], tell: Callable[[RunEvent], None]) -> None:
        self.work = work
        self.timeline = Timeline()
        self.marks: list[Mark] = []
        self._now_s = now_s
        self._tell = tell
        self._began_s = now_s()
        self._work_began_s = 0.0

    @property
    def elapsed_s(self) -> float:
        return self._now_s() - self._began_s

    def note(self, text: str, style: Style = "") -> None:
        self._tell(RunEvent(self.elapsed_s, text, style))

    def work_began(self) -> None:
        """The timeline begins here."""
        self._work_began_s = self.elapsed_s

    def killed(self, text: str) -> None:
        self.marks.append(Mark(self.work.sent, dict(self.work.done)))
        self.timeline.mark(self.elapsed_s - self._work_began_s)
        self.note(text, "bad")

    def came_back(self, text: str) -> None:
        self.note(text, "good")

    def sample(self) -> None:
        """Take down how far the work is now."""
        if self.work.steps < self.work.steps_total or self.timeline.count < self.work.steps_total:
            self.timeline.add(self.elapsed_s - self._work_began_s, self.work.steps)
