"""The chooser that wants every message it sees: for shared groups that look, as some of the log is not theirs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from storage.delivery.candidates import CandidateRun
from storage.delivery.seeing_selection import CandidateVerdict, Choice, SeeingSelection


class EveryMessage:
    """Keeps nothing: what came back goes first, then what follows."""

    def begin(self) -> None:
        pass

    def choose(self, run: CandidateRun) -> Choice:
        return Choice(CandidateVerdict.LEASE, run.end)

    def leased(self, run: CandidateRun) -> None:
        pass

    def met(self, run: CandidateRun) -> None:
        pass

    def done(self, start: int, end: int) -> None:
        pass

    def look_again(self) -> int | None:
        return None

    def looked_again(self, until: int | None) -> None:
        raise AssertionError("nothing was postponed")

    def forget(self) -> None:
        pass

    def behind(self, offset: int) -> Sequence[int]:
        return ()

    def before(self, offset: int) -> Sequence[int]:
        return ()

    def out(self) -> Iterable[CandidateRun]:
        return ()

    def may_revive(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class NewEveryMessage:
    """Makes selections."""

    def __call__(self) -> SeeingSelection:
        return SeeingSelection(EveryMessage())
