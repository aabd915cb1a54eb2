"""Asking the same of many, some of whom may not answer: what came, and who was silent."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from acklog.command.checkup import Check, fail, names_text, warn
from acklog.command.quantities import count_text

QUESTION_S = 5.0
"""How long one answer may take."""
QUESTIONS_S = 45.0
"""How long all of them may take, before those that are left are not asked any more."""
SILENT_MAX = 2
"""So many of a kind that do not answer stand for the rest of it: else each costs its time."""
_STATUS = "See who is away: acklog cluster status. Then ask again."

Answer = TypeVar("Answer")


@dataclass(slots=True)
class Questions(Generic[Answer]):
    """`kind` is what is asked about, in the singular. `is_over`: there is no time left."""

    kind: str
    is_over: Callable[[], bool]
    answers: dict[str, Answer] = field(default_factory=dict)
    silent: list[str] = field(default_factory=list)
    left: int = 0

    def ask(self, names: Iterable[str], question: Callable[[str], Answer | None]) -> None:
        """None is for what is gone meanwhile. Raises AcklogError for what another try would not change."""
        from acklog.errors import AcklogError

        for name in names:
            if len(self.silent) >= SILENT_MAX or self.is_over():
                self.left += 1
                continue
            try:
                answer = question(name)
            except AcklogError as error:
                if not error.retriable:
                    raise
                self.silent.append(f"{name} ({error.code})")
            else:
                if answer is not None:
                    self.answers[name] = answer

    def checks(self, name: str) -> Iterator[Check]:
        """What is not known for want of an answer."""
        rest = f"; {count_text(self.left, self.kind)} not asked then" if self.left else ""
        if self.silent:
            yield fail(name, f"no answer within {QUESTION_S:g} s for {names_text(self.silent)}{rest}", _STATUS)
        elif self.left:
            yield not_looked_at(name, f"{count_text(self.left, self.kind)} of {self.left + len(self.answers):,}")


def not_looked_at(name: str, what: str) -> Check:
    """For want of time."""
    finding = f"not looked at: {what}, as the time for all questions, {QUESTIONS_S:g} s, was over"
    return warn(name, finding, "The server answers slowly: look at its load, and at the network; then ask again.")
