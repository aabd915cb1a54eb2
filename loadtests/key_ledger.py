"""What a key-ordered group may deliver, judged by what its consumers saw. Knows nothing of Acklog."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class KeyLedger:
    """Messages of a key are numbered from 0 on. A message that is *settled* was acknowledged, or may have been: its
    acknowledgement was under way when the server or the consumer died."""

    sent: dict[str, int]
    violations: list[str] = field(default_factory=list)
    deliveries: int = 0
    again: int = 0
    _settled: dict[str, set[int]] = field(default_factory=dict)
    _settled_below: dict[str, int] = field(default_factory=dict)
    _done_count: int = 0

    @property
    def done_count(self) -> int:
        return self._done_count

    @property
    def is_done(self) -> bool:
        return self._done_count == sum(self.sent.values())

    def delivered(self, messages: list[tuple[str, int]]) -> None:
        """An answer, in its order: before each message all of its key is settled, or in the answer."""
        in_answer: dict[str, int] = {}
        for key, number in messages:
            self.deliveries += 1
            expected = in_answer.get(key)
            if expected is None:
                expected = self._first_open(key)
                if number < expected:  # it may have been acknowledged, and was not
                    self.again += 1
                    expected = number
            if number > expected and not self._are_settled(key, expected, number):
                self.violations.append(f"{key}: {number} came before {expected} was settled")
            in_answer[key] = number + 1

    def settled(self, key: str, number: int) -> None:
        below = self._settled_below.get(key, 0)
        settled = self._settled.setdefault(key, set())
        if number < below or number in settled:
            return
        self._done_count += 1
        settled.add(number)
        while below in settled:
            settled.remove(below)
            below += 1
        self._settled_below[key] = below

    def _first_open(self, key: str) -> int:
        return self._settled_below.get(key, 0)

    def _are_settled(self, key: str, start: int, end: int) -> bool:
        below, settled = self._settled_below.get(key, 0), self._settled.get(key, set())
        return all(number < below or number in settled for number in range(start, end))
