"""Messages whose attempts are used up, on their way to the dead-letter topic."""

from storage.delivery.deadlines import Deadlines


class DeadLetterQueue:
    """Waiting for their (first or next) try, or handed to the host, which appends them to the dead-letter topic."""

    def __init__(self) -> None:
        self._waiting = Deadlines()
        self._handed: dict[int, None] = {}

    def __contains__(self, offset: int) -> bool:
        return offset in self._waiting or offset in self._handed

    def put(self, offset: int, try_at_ms: int) -> None:
        self._handed.pop(offset, None)
        self._waiting.set(offset, try_at_ms)

    def pop(self, now_ms: int) -> int | None:
        """Hand over the next one that is due."""
        due = self._waiting.pop_due(now_ms)
        if due is None:
            return None
        self._handed[due[1]] = None
        return due[1]

    def is_handed(self, offset: int) -> bool:
        return offset in self._handed

    def discard(self, offset: int) -> None:
        self._waiting.discard(offset)
        self._handed.pop(offset, None)

    def next_deadline(self) -> int | None:
        return self._waiting.next()

    def clear(self) -> None:
        self._waiting.clear()
        self._handed.clear()
