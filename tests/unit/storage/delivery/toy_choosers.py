"""Choosers that prove what a selection can do beside order by key: a filter by tags, both at once, and none of it.

They are for tests: each shows, in as few lines as it takes, what a real one has to hold to.
"""

from storage.delivery.candidates import CandidateRun as Run
from storage.delivery.key_order import KeyOrder
from storage.delivery.seeing_selection import CandidateVerdict, Choice


class EveryMessage:
    """What a shared group wants of a log that has gaps and control marks."""

    def begin(self) -> None:
        pass

    def choose(self, run: Run) -> Choice:
        return Choice(CandidateVerdict.LEASE, run.end)

    def leased(self, run: Run) -> None:
        pass

    def met(self, run: Run) -> None:
        pass

    def done(self, start: int, end: int) -> None:
        pass

    def look_again(self) -> int | None:
        return None

    def looked_again(self, until: int | None) -> None:
        raise AssertionError("nothing was postponed")

    def forget(self) -> None:
        pass

    def behind(self, offset: int) -> tuple[int, ...]:
        return ()

    def before(self, offset: int) -> tuple[int, ...]:
        return ()

    def may_revive(self) -> bool:
        return True


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
