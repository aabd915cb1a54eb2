"""How a task cuts its rows into requests: each for one partition, and the same ones at every attempt. All pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from acklog import OutgoingMessage
from acklog.wire.partition_mapping import partition_of_hash
from acklog.wire.partitioner import hash_of_key
from pyspark_acklog.failures import WriteError
from pyspark_acklog.outgoing import OutgoingRow

BUFFERED_BYTES_MAX = 64 * 1024 * 1024
"""Of all requests of a task that are not full yet; beyond it the largest is sent as it is."""
MESSAGE_OVERHEAD_BYTES = 64


@dataclass(frozen=True, slots=True)
class Layout:
    """A topic's partitions as they were when the task began for the first time."""

    topic: str
    partitions: int
    decommissioned: frozenset[int] = frozenset()

    @property
    def active(self) -> tuple[int, ...]:
        return tuple(number for number in range(self.partitions) if number not in self.decommissioned)


@dataclass(slots=True)
class OutgoingRequest:
    """Messages for one partition, in their order; `sequence` counts the requests of the task."""

    topic: str
    partition: int
    sequence: int = -1
    messages: list[OutgoingMessage] = field(default_factory=list)
    size_bytes: int = 0


class RequestCutter:
    """What it gives depends on the rows and the settings only."""

    def __init__(self, *, task: int, messages_max: int, bytes_max: int, buffered_bytes_max: int = BUFFERED_BYTES_MAX):
        self._task = task
        self._messages_max = messages_max
        self._bytes_max = bytes_max
        self._buffered_bytes_max = buffered_bytes_max
        self._open: dict[tuple[str, int], OutgoingRequest] = {}
        self._buffered_bytes = 0
        self._sequence = 0
        self._keyless: dict[str, int] = {}

    def add(self, row: OutgoingRow, layout: Layout) -> Iterator[OutgoingRequest]:
        """Requests that are full now. Raises WriteError for a partition that is not there."""
        partition = self._partition(row.message, layout)
        size_bytes = row.size_bytes + MESSAGE_OVERHEAD_BYTES
        place = (row.topic, partition)
        request = self._open.get(place)
        if request is not None and request.size_bytes + size_bytes > self._bytes_max:
            yield self._close(place)
            request = None
        if request is None:
            request = self._open[place] = OutgoingRequest(row.topic, partition)
        request.messages.append(row.message)
        request.size_bytes += size_bytes
        self._buffered_bytes += size_bytes
        if len(request.messages) >= self._messages_max or request.size_bytes >= self._bytes_max:
            yield self._close(place)
        if self._buffered_bytes > self._buffered_bytes_max:
            yield self._close(max(self._open, key=lambda each: (self._open[each].size_bytes, each)))

    def rest(self) -> Iterator[OutgoingRequest]:
        """What is not full, at the end of the rows."""
        for place in sorted(self._open):
            yield self._close(place)

    def _close(self, place: tuple[str, int]) -> OutgoingRequest:
        request = self._open.pop(place)
        request.sequence, self._sequence = self._sequence, self._sequence + 1
        self._buffered_bytes -= request.size_bytes
        if request.messages[0].partition is None:
            # One without a key goes on with the next partition: tasks begin with different ones.
            self._keyless[place[0]] = self._keyless.get(place[0], self._task) + (request.messages[0].key is None)
        return request

    def _partition(self, message: OutgoingMessage, layout: Layout) -> int:
        if message.partition is not None:
            if not 0 <= message.partition < layout.partitions:
                raise WriteError(
                    f"a row has partition {message.partition}, topic {layout.topic!r} 0 to {layout.partitions - 1}: "
                    "without the column 'partition' the key decides"
                )
            return message.partition
        if not layout.active:
            raise WriteError(f"all partitions of topic {layout.topic!r} are decommissioned")
        if message.key is not None:
            return partition_of_hash(
                hash_of_key(message.key), partitions=layout.partitions, decommissioned=layout.decommissioned
            )
        turn = self._keyless.get(layout.topic, self._task)
        return layout.active[turn % len(layout.active)]
