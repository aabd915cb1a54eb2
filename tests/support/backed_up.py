"""What the tests of backups compare: topics as their readers and groups find them, and calls that end a process."""

from collections.abc import Callable
from typing import Any

from acklog.client.call import Call, Result
from acklog.client.client import Client
from acklog.client.copies import Copies

Message = tuple[int, int, str | None, Any]


class ProcessKilled(BaseException):
    """Nothing that is meant for failures catches it: so ends a process that is killed."""


class KilledCopies(Copies):
    """Performs so many calls, and is killed at the next one: before it, or (`is_late`) when the server has done it."""

    def __init__(self, copies: Copies, calls: int, *, is_late: bool = False) -> None:
        self._copies = copies
        self._left = calls
        self._is_late = is_late

    def perform(self, call: Call[Result]) -> Result:
        self._left -= 1
        if self._left < 0 and not self._is_late:
            raise ProcessKilled
        result = self._copies.perform(call)
        if self._left < 0:
            raise ProcessKilled
        return result


class InterruptedCopies(Copies):
    """Something happens before the first call whose target has `part` in it."""

    def __init__(self, copies: Copies, part: str, happen: Callable[[], object]) -> None:
        self._copies = copies
        self._part = part
        self._happen: Callable[[], object] | None = happen

    def perform(self, call: Call[Result]) -> Result:
        if self._happen is not None and self._part in call.request.target:
            happen, self._happen = self._happen, None
            happen()
        return self._copies.perform(call)


class KilledStore:
    """A store whose process is killed at its write number `writes`."""

    def __init__(self, store: Any, writes: int) -> None:
        self._store = store
        self._left = writes

    def put_new(self, name: str, content: bytes) -> bool:
        self._left -= 1
        if self._left < 0:
            raise ProcessKilled
        return bool(self._store.put_new(name, content))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def messages_of(client: Client, topic: str) -> list[Message]:
    """(partition, offset, key, body) of all that readers get."""
    found: list[Message] = []
    for partition in range(client.topics.get(topic).partitions):
        offset: int | None = None
        while True:
            page = client.records(topic, partition, offset=offset)
            found += [(partition, each.offset, each.key, each.body) for each in page.messages]
            if page.next_offset >= page.high_watermark:
                break
            offset = page.next_offset
    return found


def positions_of(client: Client, group: str, topic: str) -> dict[int, tuple[int, int]]:
    """(progress, how many are done above it) by partition."""
    return {each.partition: (each.progress, each.done_above) for each in client.groups.offsets(group, topic).offsets}


def until_not_killed(run: Callable[[int], Any], *, limit: int = 500) -> tuple[Any, int]:
    """Kill it at its first step, then at its second one, and so on, until it gets to its end. What came of that, and
    how often it was killed."""
    for step in range(limit):
        try:
            return run(step), step
        except ProcessKilled:
            continue
    raise AssertionError(f"{limit} steps, and no end")
