"""Messages that were received and wait to be worked on, and how many more to ask for. Without I/O.

The inbox learns how fast its messages are taken and asks for as many as are taken in `prefetch_s`: a thousand where the
work takes microseconds, one where it takes seconds. What lies here is leased, and no other consumer gets it. Who may
take which of them is up to its lanes.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec import UNSET

from acklog.consumer.consumer_settings import RECEIVED_AT_ONCE_MAX, ConsumerSettings
from acklog.consumer.lanes import Lanes, Line, Worker
from acklog.messages import Message

FIRST_TARGET = 10
GROWTH_MAX = 4
MESSAGE_OVERHEAD_BYTES = 512  # what a received message costs beside its body


class _Arrival(NamedTuple):
    """Messages that came in one answer: the last of them is the `last`th that ever came."""

    last: int
    messages: int
    size_bytes: int
    at_ms: float


class Inbox:
    """Times are in milliseconds. Not for several threads at once."""

    def __init__(self, settings: ConsumerSettings, lanes: Line | Lanes | None = None) -> None:
        self.target = min(FIRST_TARGET, settings.prefetch_messages_max)
        """How many messages to have here."""
        self.size_bytes = 0
        self._settings = settings
        self.lanes = Line() if lanes is None else lanes
        # Where there is no order most is taken: from the line itself, without a call for each message.
        self._line = self.lanes.messages if isinstance(self.lanes, Line) else None
        self._arrivals: deque[_Arrival] = deque()
        self._received = 0
        self._taken = 0
        self._last_of_first_arrival = -1
        self._first_arrival_begun_ms = 0.0

    def add(self, messages: Sequence[Message], now_ms: float, *, serial: int = 0) -> list[Message]:
        """What the receive with that number brought; those of it that nobody here may work on any more."""
        messages, dropped = self.lanes.add(messages, serial)
        if not messages:
            return dropped
        size_bytes = sum(_size_bytes(message) for message in messages)
        self._received += len(messages)
        self.size_bytes += size_bytes
        self._arrivals.append(_Arrival(self._received, len(messages), size_bytes, now_ms))
        if len(self._arrivals) == 1:
            self._begin_arrival(now_ms)
        return dropped

    def take(self, now_ms: Callable[[], float], worker: Worker = None) -> Message | None:
        """The message that waits longest of those that this worker may have."""
        line = self._line
        if line is None:
            message = self.lanes.take(worker)
        else:
            message = line.popleft() if line else None
        if message is not None:
            self._taken = taken = self._taken + 1
            if taken == self._last_of_first_arrival:
                self._end_arrival(now_ms())
        return message

    def dropped(self, messages: Sequence[Message], now_ms: Callable[[], float]) -> None:
        """The lanes have let these go."""
        for _ in messages:
            self._count_out(now_ms)

    def wanted_messages(self) -> int:
        """How many to ask for now; 0: none. Asks when half of what should be here is."""
        settings = self._settings
        held = len(self.lanes)
        if held * 2 > self.target or self.size_bytes >= settings.prefetch_bytes_max:
            return 0
        return min(max(1, self.target - held), RECEIVED_AT_ONCE_MAX)

    def wanted_bytes(self) -> int:
        """How many bytes of messages to ask for at most."""
        return self._settings.prefetch_bytes_max - self.size_bytes

    def empty(self) -> int:
        """Everything that is here, taken out: how many."""
        self._arrivals.clear()
        self._taken = self._received
        self.size_bytes = 0
        return self.lanes.empty()

    def _count_out(self, now_ms: Callable[[], float]) -> None:
        self._taken += 1
        if self._taken == self._last_of_first_arrival:
            self._end_arrival(now_ms())

    def _begin_arrival(self, now_ms: float) -> None:
        self._last_of_first_arrival = self._arrivals[0].last
        self._first_arrival_begun_ms = now_ms

    def _end_arrival(self, now_ms: float) -> None:
        """All messages of the oldest answer are taken: how long that took says how many to have."""
        arrival = self._arrivals.popleft()
        self.size_bytes -= arrival.size_bytes
        taken_s = max(now_ms - self._first_arrival_begun_ms, 0.001) / 1000
        speed = arrival.messages / taken_s
        target = min(int(speed * self._settings.prefetch_s), self.target * GROWTH_MAX)
        self.target = max(1, min(target, self._settings.prefetch_messages_max))
        if self._arrivals:
            self._begin_arrival(now_ms)


def _size_bytes(message: Message) -> int:
    body = message.json_body
    return MESSAGE_OVERHEAD_BYTES + (len(message.base64_body or "") if body is UNSET else len(memoryview(body)))
