"""What the partitions' leaders of a node count of messages that groups have done without."""

from collections import Counter
from collections.abc import KeysView
from enum import StrEnum

PAIRS_MAX = 20_000
"""Topics' groups that are told apart; the rest is counted together."""
OTHER = ("", "")


class LetterCause(StrEnum):
    """Why a message became a dead letter. UNDECODABLE: nobody can read it, so there is no letter of it either."""

    ATTEMPTS = "attempts"
    EXPIRED = "expired"
    UNDECODABLE = "undecodable"


class LossCause(StrEnum):
    """What removed a message that a group had not done: age or size, or somebody, on purpose."""

    RETENTION = "retention"
    DELETED = "deleted"


Pair = tuple[str, str]
"""A topic's name and a group's id."""


class GivenUpFigures:
    """Since the node's start, whoever leads meanwhile: what adds up a group's own totals rises and falls with each
    change of leaders, and would look as if messages had been lost at that moment."""

    def __init__(self, *, pairs_max: int = PAIRS_MAX) -> None:
        self.letters: dict[Pair, Counter[LetterCause]] = {}
        self.losses: dict[Pair, Counter[LossCause]] = {}
        self._pairs_max = pairs_max

    def note_letters(self, pair: Pair, cause: LetterCause, count: int) -> None:
        if count:
            self.letters.setdefault(self._within(self.letters.keys(), pair), Counter())[cause] += count

    def note_losses(self, pair: Pair, cause: LossCause, count: int) -> None:
        if count:
            self.losses.setdefault(self._within(self.losses.keys(), pair), Counter())[cause] += count

    def _within(self, known: KeysView[Pair], pair: Pair) -> Pair:
        return pair if pair in known or len(known) < self._pairs_max else OTHER
