"""Choosers that prove what a selection can do: a filter by tags, order by key, both at once, and none of it.

They are for tests: each shows, in as few lines as it takes, what a real one has to hold to.
"""

from storage.delivery.candidates import NO_KEY
from storage.delivery.candidates import CandidateRun as Run
from storage.delivery.seeing_selection import CandidateVerdict, Choice


class EveryMessage:
    """What a shared group wants of a log that has gaps and control marks."""

    def choose(self, run: Run) -> Choice:
        return Choice(CandidateVerdict.LEASE, run.end)

    def held(self, run: Run) -> None:
        pass

    def done(self, start: int, end: int) -> None:
        pass

    def look_again(self) -> int | None:
        return None

    def looked_again(self, until: int | None) -> None:
        raise AssertionError("nothing was postponed")

    def forget(self) -> None:
        pass


class WithTag(EveryMessage):
    """What has none of the tags is passed over for good."""

    def __init__(self, tag_bits: int) -> None:
        self._tag_bits = tag_bits

    def choose(self, run: Run) -> Choice:
        return Choice(CandidateVerdict.LEASE if run.tag_bits & self._tag_bits else CandidateVerdict.PASS_OVER, run.end)


class InKeyOrder:
    """One message of a key at a time; the others of it wait. A key is held for as long as its message is not done, and
    then searched for among what was postponed, from where its next one may be."""

    def __init__(self) -> None:
        self._holders: dict[int, int] = {}
        self._keys: dict[int, int] = {}
        self._postponed_from: dict[int, int] = {}
        self._searched_from: dict[int, int] = {}

    def choose(self, run: Run) -> Choice:
        key = run.key_hash
        if key == NO_KEY:
            return Choice(CandidateVerdict.LEASE, run.end)
        if self._holders.get(key, run.start) == run.start:
            return Choice(CandidateVerdict.LEASE, run.start + 1)
        self._postponed_from[key] = min(self._postponed_from.get(key, run.start), run.start)
        return Choice(CandidateVerdict.POSTPONE, run.end)

    def held(self, run: Run) -> None:
        if run.key_hash == NO_KEY:
            return
        for offset in range(run.start, run.end):
            self._holders.setdefault(run.key_hash, offset)
            self._keys[offset] = run.key_hash
            if self._searched_from.pop(run.key_hash, None) is not None:
                self._postponed_from[run.key_hash] = offset + 1

    def done(self, start: int, end: int) -> None:
        for offset in [each for each in self._keys if start <= each < end]:
            key = self._keys.pop(offset)
            if self._holders[key] == offset:
                del self._holders[key]
                if key in self._postponed_from:
                    self._searched_from[key] = self._postponed_from.pop(key)

    def look_again(self) -> int | None:
        return min(self._searched_from.values(), default=None)

    def looked_again(self, until: int | None) -> None:
        if until is None:
            self._searched_from.clear()
        for key, start in self._searched_from.items():
            self._searched_from[key] = max(start, until or 0)

    def forget(self) -> None:
        self.__init__()  # type: ignore[misc]


class WithTagInKeyOrder(InKeyOrder):
    def __init__(self, tag_bits: int) -> None:
        super().__init__()
        self._tag_bits = tag_bits

    def choose(self, run: Run) -> Choice:
        return super().choose(run) if run.tag_bits & self._tag_bits else Choice(CandidateVerdict.PASS_OVER, run.end)

    def forget(self) -> None:
        self.__init__(self._tag_bits)  # type: ignore[misc]
