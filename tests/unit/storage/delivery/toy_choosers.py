"""Choosers that prove what a selection can do beside order by key: a filter by tags, both at once, and none of it.

They are for tests: each shows, in as few lines as it takes, what a real one has to hold to.
"""

from storage.delivery.candidates import CandidateRun as Run
from storage.delivery.every_message import EveryMessage
from storage.delivery.key_order import KeyOrder
from storage.delivery.seeing_selection import CandidateVerdict, Choice


class WithTag(EveryMessage):
    """What has none of the tags is passed over for good."""

    def __init__(self, tag_bits: int) -> None:
        self._tag_bits = tag_bits

    def choose(self, run: Run) -> Choice:
        return Choice(CandidateVerdict.LEASE if run.tag_bits & self._tag_bits else CandidateVerdict.PASS_OVER, run.end)


class WithTagInKeyOrder(KeyOrder):
    def __init__(self, tag_bits: int, **bounds: int) -> None:
        super().__init__(**bounds)
        self._tag_bits = tag_bits

    def choose(self, run: Run) -> Choice:
        return super().choose(run) if run.tag_bits & self._tag_bits else Choice(CandidateVerdict.PASS_OVER, run.end)


def in_key_order() -> KeyOrder:
    return KeyOrder(ranges_max=100, ranges_of_key_max=10)
