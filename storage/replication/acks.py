"""Appends that wait until enough replicas hold them durably."""

from collections import deque
from typing import NamedTuple

ACKS_ALL = -1


class _Waiting(NamedTuple):
    next_offset: int
    token: int


class WaitingAcks:
    """Of one log. `token` is the host's name for an append; they come in the order of their offsets, but for those that
    are sent again."""

    __slots__ = ("_count", "_queues")

    def __init__(self) -> None:
        self._queues: dict[int, deque[_Waiting]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def levels(self) -> list[int]:
        """What is waited for: ACKS_ALL, or a number of replicas."""
        return [level for level, queue in self._queues.items() if queue]

    def add(self, level: int, next_offset: int, token: int) -> None:
        queue = self._queues.setdefault(level, deque())
        at = len(queue)
        while at and queue[at - 1].next_offset > next_offset:
            at -= 1
        queue.insert(at, _Waiting(next_offset, token))
        self._count += 1

    def take(self, level: int, end: int) -> list[int]:
        """The tokens of what ends at or below `end`."""
        queue = self._queues.get(level)
        taken = []
        while queue and queue[0].next_offset <= end:
            taken.append(queue.popleft().token)
        self._count -= len(taken)
        return taken

    def has_reached(self, level: int, end: int) -> bool:
        queue = self._queues.get(level)
        return queue is not None and len(queue) > 0 and queue[0].next_offset <= end

    def take_all(self) -> list[int]:
        tokens = [waiting.token for queue in self._queues.values() for waiting in queue]
        self._queues.clear()
        self._count = 0
        return tokens
