"""Which batches of which producers a partition holds, so that one whose answer was lost can be sent again (rule R19).

A producer is one life of a gateway. It gives each of its batches a sequence of its own, and writes both into the batch
header; a batch is sent again as the same bytes, marked as a retry. Requests are independent, so sequences may arrive in
any order. What the window must never do is to let a batch into the log twice; where it cannot tell any more, it says
so, and the caller reports an unknown outcome.

The window mirrors the log: what is appended, by whichever leader, is noted, and what is cut off is forgotten. It can
therefore be kept by a follower as well, or be made from the log when a leader begins.

What it remembers is bounded. A producer sends nothing again after `limits.PRODUCE_RETRIES_MS`, and so it may be
forgotten once it has been silent for `window_ms`, which is longer by what clocks may differ.
"""

from array import array
from bisect import bisect_left
from collections import OrderedDict
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from acklog.wire.limits import PRODUCE_RETRIES_MS

_NOTHING_FORGOTTEN = -1


@dataclass(frozen=True, slots=True)
class ProducerWindowSettings:
    window_ms: int = 300_000
    """How long a silent producer is remembered; longer than PRODUCE_RETRIES_MS by what the clocks of nodes may differ,
    as a new leader judges the age of batches by the clock of the old one."""

    entries_per_producer_max: int = 4_096
    """Batches of one producer that are remembered (24 bytes each); with one more, the oldest quarter goes. About as
    many as a gateway may have in flight to one node, so a retry is hardly ever behind the window."""

    producers_max: int = 1_000
    """Producers that are remembered. With one more, the longest silent goes before its time, and for a while no retry
    of an unknown batch is taken."""

    def __post_init__(self) -> None:
        if self.window_ms <= PRODUCE_RETRIES_MS:
            raise ValueError(f"window_ms is {self.window_ms}, it must be more than {PRODUCE_RETRIES_MS}")
        if self.entries_per_producer_max < 4 or self.producers_max < 1:
            raise ValueError("entries_per_producer_max must be at least 4, producers_max at least 1")


class BatchStanding(Enum):
    """Of a batch that is not known to be in the log."""

    ABSENT = "absent"
    """It is not in the log: append it."""

    IN_FLIGHT = "in flight"
    """It is being appended: wait for the outcome, then ask again."""

    TOO_OLD = "too old"
    """It may be in the log or not: do not append it. The outcome is unknown."""


class Known(NamedTuple):
    """Where the batch is in the log. It may not be committed yet: then wait until it is."""

    base_offset: int
    leader_epoch: int
    append_time_ms: int


class _Producer:
    """What is remembered of one producer: columns in the order of the sequences."""

    __slots__ = ("append_times_ms", "epochs", "forgotten_through", "in_flight", "last_ms", "offsets", "sequences")

    def __init__(self, now_ms: int) -> None:
        self.sequences = array("i")
        self.offsets = array("q")
        self.epochs = array("i")
        self.append_times_ms = array("q")
        self.in_flight: dict[int, None] = {}
        self.forgotten_through = _NOTHING_FORGOTTEN
        """No sequence beyond it was ever dropped to save memory."""
        self.last_ms = now_ms

    def find(self, sequence: int) -> Known | None:
        index = bisect_left(self.sequences, sequence)
        if index == len(self.sequences) or self.sequences[index] != sequence:
            return None
        return Known(self.offsets[index], self.epochs[index], self.append_times_ms[index])

    def put(self, sequence: int, place: Known) -> None:
        index = bisect_left(self.sequences, sequence)
        if index < len(self.sequences) and self.sequences[index] == sequence:
            self.offsets[index], self.epochs[index], self.append_times_ms[index] = place
        else:  # at the end, but for a few that overtook each other
            self.sequences.insert(index, sequence)
            self.offsets.insert(index, place.base_offset)
            self.epochs.insert(index, place.leader_epoch)
            self.append_times_ms.insert(index, place.append_time_ms)

    def drop_first(self, count: int) -> None:
        self.forgotten_through = max(self.forgotten_through, self.sequences[count - 1])
        del self.sequences[:count], self.offsets[:count], self.epochs[:count], self.append_times_ms[:count]

    def truncate_to(self, offset: int) -> None:
        """Those from `offset` on are not in the log any more, which is something to know, not something forgotten."""
        kept = [index for index, each in enumerate(self.offsets) if each < offset]
        if len(kept) == len(self.offsets):
            return
        self.sequences = array("i", [self.sequences[index] for index in kept])
        self.epochs = array("i", [self.epochs[index] for index in kept])
        self.append_times_ms = array("q", [self.append_times_ms[index] for index in kept])
        self.offsets = array("q", [self.offsets[index] for index in kept])


class ProducerWindow:
    """Times are monotonic milliseconds, but for append times, which are as stamped.

    A leader asks `check` before each append of a batch with a producer id, `begin`s it if it is absent, and ends it
    with `commit` once the batch is in the log (durable here; whether it is committed is the caller's to wait for) or
    `abort` if it did not get there. A batch that comes by replication or recovery is told with `note`.
    """

    def __init__(self, settings: ProducerWindowSettings) -> None:
        self._settings = settings
        self._producers: OrderedDict[int, _Producer] = OrderedDict()  # the longest silent first
        self._incomplete_until_ms: int | None = None

    @property
    def producer_count(self) -> int:
        return len(self._producers)

    @property
    def entry_count(self) -> int:
        """Batches that are remembered."""
        return sum(len(producer.sequences) for producer in self._producers.values())

    # --- appending -------------------------------------------------------------------------------------------------

    def check(self, producer_id: int, sequence: int, *, is_retry: bool, now_ms: int) -> Known | BatchStanding:
        """What is known of the batch. A first try is looked up as well: it may have been overtaken by its own retry."""
        self._expire(now_ms)
        producer = self._producers.get(producer_id)
        if producer is not None:
            if sequence in producer.in_flight:
                return BatchStanding.IN_FLIGHT
            known = producer.find(sequence)
            if known is not None:
                return known
            if sequence <= producer.forgotten_through:
                return BatchStanding.TOO_OLD
        if is_retry and self._incomplete_until_ms is not None:
            return BatchStanding.TOO_OLD
        return BatchStanding.ABSENT

    def begin(self, producer_id: int, sequence: int, *, now_ms: int) -> None:
        """The batch, which is absent, is being appended. Raises ValueError if it is in flight or known."""
        producer = self._touch(producer_id, now_ms, now_ms)
        if sequence in producer.in_flight or producer.find(sequence) is not None:
            raise ValueError(f"sequence {sequence} of producer {producer_id} is there already")
        producer.in_flight[sequence] = None

    def commit(
        self,
        producer_id: int,
        sequence: int,
        *,
        base_offset: int,
        leader_epoch: int,
        append_time_ms: int,
        now_ms: int,
    ) -> None:
        """The batch that was begun is in the log. Raises KeyError for one that was not begun."""
        producer = self._producers[producer_id]
        del producer.in_flight[sequence]
        self._touch(producer_id, now_ms, now_ms)
        self._put(producer, sequence, Known(base_offset, leader_epoch, append_time_ms))
        self._make_room(0)

    def abort(self, producer_id: int, sequence: int) -> None:
        """The batch that was begun did not get into the log. Raises KeyError for one that was not begun."""
        del self._producers[producer_id].in_flight[sequence]
        self._make_room(0)

    # --- following the log -----------------------------------------------------------------------------------------

    def note(
        self,
        producer_id: int,
        sequence: int,
        *,
        base_offset: int,
        leader_epoch: int,
        append_time_ms: int,
        age_ms: int,
        now_ms: int,
    ) -> None:
        """Learn of a batch in the log, in the order of the log.

        `age_ms` is how long ago it was appended, as far as one knows: too little is safe, and so is 0.
        """
        seen_ms = now_ms - max(age_ms, 0)
        if seen_ms + self._settings.window_ms <= now_ms:
            return
        producer = self._touch(producer_id, seen_ms, now_ms)
        self._put(producer, sequence, Known(base_offset, leader_epoch, append_time_ms))

    def truncate_to(self, offset: int) -> None:
        """The log was cut: nothing from `offset` on is in it any more. No append may be in flight."""
        for producer in self._producers.values():
            producer.truncate_to(offset)

    def forget_all(self, *, now_ms: int) -> None:
        """What the log held before may be missing here (it was replaced, or not read when the node started): for
        `window_ms` no retry of an unknown batch is taken. No append may be in flight."""
        self._producers.clear()
        self._distrust(now_ms + self._settings.window_ms)

    def note_unreadable(self, *, age_ms: int, now_ms: int) -> None:
        """A batch of the log, at least `age_ms` old, cannot be read: for as long as it is in the window no retry of an
        unknown batch is taken."""
        self._distrust(now_ms - max(age_ms, 0) + self._settings.window_ms)

    # --- bounds ----------------------------------------------------------------------------------------------------

    def check_invariants(self) -> None:
        """Raises AssertionError."""
        settings = self._settings
        for producer in self._producers.values():
            columns = (producer.sequences, producer.offsets, producer.epochs, producer.append_times_ms)
            assert len({len(column) for column in columns}) == 1
            assert len(producer.sequences) <= settings.entries_per_producer_max
            assert list(producer.sequences) == sorted(set(producer.sequences))
            assert not any(sequence in producer.in_flight for sequence in producer.sequences)
        idle = sum(not producer.in_flight for producer in self._producers.values())
        assert len(self._producers) <= settings.producers_max or not idle

    def _touch(self, producer_id: int, seen_ms: int, now_ms: int) -> _Producer:
        producer = self._producers.get(producer_id)
        if producer is None:
            self._expire(now_ms)
            self._make_room(1)
            producer = self._producers[producer_id] = _Producer(seen_ms)
        else:
            producer.last_ms = max(producer.last_ms, seen_ms)
            self._producers.move_to_end(producer_id)
        return producer

    def _put(self, producer: _Producer, sequence: int, place: Known) -> None:
        producer.put(sequence, place)
        entries_max = self._settings.entries_per_producer_max
        if len(producer.sequences) > entries_max:
            producer.drop_first(entries_max // 4)

    def _make_room(self, count: int) -> None:
        """For `count` producers more. One with appends in flight stays: those are bounded by the partition's inbox."""
        while len(self._producers) + count > self._settings.producers_max:
            idle = next((number for number, each in self._producers.items() if not each.in_flight), None)
            if idle is None:
                return
            self._distrust(self._producers.pop(idle).last_ms + self._settings.window_ms)

    def _distrust(self, until_ms: int) -> None:
        if self._incomplete_until_ms is None or until_ms > self._incomplete_until_ms:
            self._incomplete_until_ms = until_ms

    def _expire(self, now_ms: int) -> None:
        if self._incomplete_until_ms is not None and self._incomplete_until_ms <= now_ms:
            self._incomplete_until_ms = None
        window_ms = self._settings.window_ms
        while self._producers:
            producer_id, producer = next(iter(self._producers.items()))
            if producer.last_ms + window_ms > now_ms or producer.in_flight:
                return
            del self._producers[producer_id]
