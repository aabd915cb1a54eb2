"""What is judged of topics of one name that follow each other: each for itself, and that they do not mix (rule R14).

A topic is judged until its deletion was asked for, the last one to the end.
"""

from collections import defaultdict
from collections.abc import Sequence

from msgspec.structs import replace

from tests.sim.checkers import check_all
from tests.sim.cluster.passing_topic import GROUP, Life
from tests.sim.delivery_checkers import DeadLettersAreOnce
from tests.sim.history import Delivered, Event, History, LogRead, Outcome, Sent
from tests.sim.judgement import checkers_for
from tests.sim.options import Options
from tests.sim.queue_label import PASSING

DEAD_LETTERS = f"{PASSING}.{GROUP}.dlq"
LATE_MS = 5_000
"""How much later a send may reach a topic that is created after its client gave up."""


def may_have_reached(sent: Sent, life: Life) -> bool:
    """Of a send whose topic nobody knows."""
    return sent.outcome is Outcome.UNKNOWN and sent.queue == PASSING and sent.ended_ms + LATE_MS >= life.creation_ms


class NothingOutlivesItsTopic:
    """No message that was sent to one topic of a name only is delivered, or read, from another one."""

    def __init__(self, lives: Sequence[Life]) -> None:
        self._lives = {life.label: life for life in lives}

    def check(self, history: History) -> list[str]:
        sends: dict[str, list[Sent]] = defaultdict(list)
        for sent in history.of(Sent):
            sends[sent.uid].append(sent)
        violations = []
        for event in history.events:
            if isinstance(event, Delivered | LogRead) and event.queue in self._lives:
                uids = [event.uid] if isinstance(event, Delivered) else [record.uid for record in event.records]
                violations += [
                    f"{uid} is in {event.queue}, and was never sent to it"
                    for uid in uids
                    if not self._may_be_there(sends[uid], self._lives[event.queue])
                ]
        return violations

    @staticmethod
    def _may_be_there(sends: Sequence[Sent], life: Life) -> bool:
        return any(sent.queue == life.label or may_have_reached(sent, life) for sent in sends)


def judge_passing(history: History, lives: Sequence[Life], options: Options, *, has_final_looks: bool) -> list[str]:
    """`history` is that of the name alone."""
    violations = check_all(history, [NothingOutlivesItsTopic(lives)])
    for life in lives:
        checkers = checkers_for(
            options,
            groups=[GROUP],
            dead_letter_queues={(GROUP, life.label): DEAD_LETTERS},
            has_final_looks=has_final_looks and life.deletion_ms is None,
        )
        # Letters of all the topics are in the one queue, and do not say whose they are.
        judges = [checker for checker in checkers if not isinstance(checker, DeadLettersAreOnce)]
        violations += check_all(_of(history, life), judges)
    return violations


def _of(history: History, life: Life) -> History:
    """What may concern this topic, as long as it is judged."""
    found = History()
    for event in history.events:
        if life.deletion_ms is not None and event.ended_ms >= life.deletion_ms:
            continue
        if isinstance(event, Sent) and may_have_reached(event, life):
            found.add(replace(event, queue=life.label))
        elif _queue_of(event) in {life.label, DEAD_LETTERS, None}:
            found.add(event)
    return found


def _queue_of(event: Event) -> str | None:
    """None of what concerns no queue alone."""
    return getattr(event, "queue", None)
