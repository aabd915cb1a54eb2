"""Messages that travel in one request, and what became of each. Without I/O."""

from collections.abc import Callable
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
        "failed",
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
        self.outcomes: list[Outcome | None] = []
        self.failed = 0
        self.is_done = False
        self._lock = lock
        self._waiters: list[Callable[[], None]] = []
        self._taken: set[int] = set()

    @property
    def memory_bytes(self) -> int:
        """What its messages cost."""
        return self.size_bytes + (MESSAGE_OVERHEAD_BYTES - 1) * len(self.parts)

    def take_results(self, results: list[Outcome] | list[Sent]) -> AcklogError | None:
        """Note what is decided: successes, and failures that another try would not change. What is decided already
        stays. The first error that is worth another try; None when all is decided."""
        if not self.outcomes:
            self.outcomes = [None] * len(results)
        undecided: AcklogError | None = None
        for index, result in enumerate(results):
            if self.outcomes[index] is not None:
                continue
            if isinstance(result, AcklogError) and result.retriable:
                undecided = undecided or result
            else:
                self.outcomes[index] = result
        return undecided

    def fail_rest(self, error: AcklogError) -> None:
        """What is not decided yet has failed with `error`."""
        if not self.outcomes:
            self.outcomes = [None] * len(self.parts)
        self.outcomes = [error if outcome is None else outcome for outcome in self.outcomes]

    def finish(self) -> None:
        """All is decided: whoever waits is told."""
        self.failed = sum(isinstance(outcome, AcklogError) for outcome in self.outcomes)
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
