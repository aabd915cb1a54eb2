"""When to verify which stored batches: passes over all logs of a data directory, one after the other, at a rate.

Rot that nobody reads is found by nobody, and in a cluster one replica after the other may rot until none is whole. A
pass reads what is old enough not to be in anybody's way. What is decided here knows no disk and no clock; where a pass
stands outlives the process (`ScrubPosition`).
"""

from collections import deque
from collections.abc import Iterable

import msgspec

from storage.log.keys import LogKey, parse_key

NEVER = -1


class ScrubPosition(msgspec.Struct, array_like=True):
    """What is kept of passes, positional on disk: fields are only ever added at the end. `log` is what the pass under
    way has got to, "" between passes. Times are wall milliseconds; `damaged` counts places in the pass under way,
    `last_damaged` in the last one that has ended."""

    log: str = ""
    offset: int = 0
    began_ms: int = NEVER
    ended_ms: int = NEVER
    damaged: int = 0
    last_damaged: int = 0


class ScrubSchedule:
    """`position` says where passes stand, now. One begins `interval_ms` after the one before began, or when that has
    ended, and is about what is older than `min_age_ms` then."""

    def __init__(self, position: ScrubPosition, *, interval_ms: int, min_age_ms: int, bytes_per_second: int) -> None:
        self.position = position
        self._interval_ms = interval_ms
        self._min_age_ms = min_age_ms
        self._bytes_per_second = bytes_per_second
        self._logs: deque[LogKey] = deque()

    @property
    def older_than_ms(self) -> int:
        """The pass under way is about what was appended before."""
        return self.position.began_ms - self._min_age_ms

    def due_in_ms(self, now_ms: int) -> int:
        """Until a pass is to begin or to go on; 0: now."""
        position = self.position
        if position.log or position.began_ms == NEVER or now_ms < position.began_ms:
            return 0
        return max(position.began_ms + self._interval_ms - now_ms, 0)

    def begin(self, logs: Iterable[LogKey], now_ms: int) -> None:
        """Begin a pass over these logs, in their order; or go on with the one that was under way."""
        position = self.position
        if not position.log:
            self.position = ScrubPosition(
                began_ms=now_ms, ended_ms=position.ended_ms, last_damaged=position.last_damaged
            )
            self._logs = deque(sorted(logs))
            return
        reached = _key_of(position.log)
        self._logs = deque(sorted(key for key in logs if reached is None or key >= reached))
        if not self._logs or self._logs[0] != reached:
            position.offset = 0

    def current(self, now_ms: int) -> LogKey | None:
        """The log to verify from `position.offset` on; None: the pass is over."""
        position = self.position
        if self._logs:
            position.log = str(self._logs[0])
            return self._logs[0]
        position.log, position.offset, position.ended_ms = "", 0, now_ms
        position.damaged, position.last_damaged = 0, position.damaged
        return None

    def went_on(self, next_offset: int, *, found_damage: bool) -> None:
        """The current log is verified up to `next_offset`."""
        self.position.offset = next_offset
        self.position.damaged += found_damage

    def log_done(self) -> None:
        """There is nothing more to verify in the current log."""
        self._logs.popleft()
        self.position.offset = 0

    def pause_ms(self, size_bytes: int) -> float:
        """After so many bytes, to hold the rate."""
        return size_bytes * 1000 / self._bytes_per_second


def _key_of(text: str) -> LogKey | None:
    try:
        return parse_key(text)
    except ValueError:
        return None
