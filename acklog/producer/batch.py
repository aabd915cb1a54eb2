"""Messages that travel in one request, and what became of each. Without I/O."""

from collections.abc import Callable, Sequence
from threading import Lock

from acklog.errors import AcklogError
from acklog.messages import Sent

MESSAGE_OVERHEAD_BYTES = 128  # what a buffered message costs beside its bytes
Outcome = Sent | AcklogError


class Batch:
    """`parts` are the messages, encoded; they are dropped when the batch is done. `size_bytes` counts them with a comma
    behind each.

    `lock` guards what threads share: who waits, and whether there is something to wait for.
    """

    __slots__ = (
        "_lock",
        "_taken",
        "_waiters",
        "deadline_ms",
        "due_ms",
        "has_failures",
        "is_done",
        "lane",
        "outcomes",
        "parts",
        "size_bytes",
    )

    def __init__(self, lane: int, due_ms: float, deadline_ms: float, lock: Lock) -> None:
        self.lane = lane
        self.due_ms = due_ms
        self.deadline_ms = deadline_ms
        self.parts: list[bytes] = []
        self.size_bytes = 0
        self.outcomes: Sequence[Outcome | None] = []
        self.has_failures = False
        self.is_done = False
        self._lock = lock
        self._waiters: list[Callable[[], None]] = []
        self._taken: set[int] = set()

    @property
    def memory_bytes(self) -> int:
        """What its messages cost."""
        return self.size_bytes + (MESSAGE_OVERHEAD_BYTES - 1) * len(self.parts)

    def take_results(self, results: Sequence[Outcome]) -> AcklogError | None:
        """Note what is decided: successes, and failures that another try would not change. What is decided already
        stays. The first error that is worth another try; None when all is decided."""
        outcomes = list(self.outcomes) or [None] * len(results)
        undecided: AcklogError | None = None
        for index, result in enumerate(results):
            if outcomes[index] is not None:
                continue
            if isinstance(result, AcklogError) and result.retriable:
                undecided = undecided or result
                continue
            self.has_failures = self.has_failures or isinstance(result, AcklogError)
            outcomes[index] = result
        self.outcomes = outcomes
        return undecided

    def take_successes(self, results: list[Sent]) -> None:
        """As `take_results`, where all succeeded: nothing is looked at message by message."""
        if self.outcomes:
            self.take_results(results)
        else:
            self.outcomes = results

    def fail_rest(self, error: AcklogError) -> None:
        """What is not decided yet has failed with `error`."""
        outcomes = self.outcomes or [None] * len(self.parts)
        self.outcomes = [error if outcome is None else outcome for outcome in outcomes]
        self.has_failures = self.has_failures or None in outcomes

    def finish(self) -> None:
        """All is decided: whoever waits is told."""
        with self._lock:
            self.is_done = True
            self.parts = []
            waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter()

    def when_done(self, waiter: Callable[[], None]) -> None:
        """Call `waiter` once, now or when the batch is done. It must not raise."""
        with self._lock:
            if not self.is_done:
                self._waiters.append(waiter)
                return
        waiter()

    def take(self, index: int) -> Sent:
        """The result of a message of a batch that is done. Raises its error; it counts as known from then on."""
        outcome = self.outcomes[index]
        if isinstance(outcome, AcklogError):
            self._taken.add(index)
            raise outcome
        assert outcome is not None, "a batch that is done has decided on each message"
        return outcome

    def error(self, index: int) -> AcklogError | None:
        """As `take`, without raising."""
        outcome = self.outcomes[index]
        if isinstance(outcome, AcklogError):
            self._taken.add(index)
            return outcome
        return None

    def untaken_failures(self) -> list[AcklogError]:
        """Errors that nobody has asked for."""
        return [
            outcome
            for index, outcome in enumerate(self.outcomes)
            if isinstance(outcome, AcklogError) and index not in self._taken
        ]
