"""A follower's side of the fetch session with one leader's node, in one of the two modes (KIP-227, adapted).

One fetch waits at the leader for whatever partition gets news first. When positions have changed meanwhile, a second
one brings them and ends the wait of the first. Both carry only what changed since. Behind an answer that brought
records the next fetch waits a moment for them to be durable, because it would only be ended by the one that says so.
Whatever goes wrong (a lost answer, a broken connection, a leader that restarted) is answered by a new session that
names every partition again, so the session needs no correctness of its own: an answer says which position it is for.
"""

from collections import deque
from typing import NamedTuple

from storage.replication.assignment import ReplicaIdentity
from storage.replication.follower_events import Answered
from storage.replication.messages import FetchAnswer, FetchMode, FetchRequest, PartitionFetch, PartitionId
from storage.replication.replication_settings import ReplicationSettings


class _Sent(NamedTuple):
    sequence: int
    overdue_ms: int


class FetchClient:
    """The host offers partitions as they become ready to fetch, sends what `next_request` gives, and hands in what
    comes back. Offering a partition again replaces its position."""

    def __init__(self, me: ReplicaIdentity, mode: FetchMode, settings: ReplicationSettings) -> None:
        self.mode = mode
        self.sessions_begun = 1
        self._me = me
        self._settings = settings
        self._offered: dict[PartitionId, PartitionFetch] = {}
        self._unsent: dict[PartitionId, None] = {}
        self._forgotten: dict[PartitionId, None] = {}
        self._sent: deque[_Sent] = deque()
        self._next_sequence = 0
        self._not_before_ms = 0
        self._gather_until_ms = 0

    def __len__(self) -> int:
        return len(self._offered)

    def offer(self, fetch: PartitionFetch) -> None:
        """The partition is to be fetched from there until it is answered or withdrawn."""
        self._offered[fetch.id] = fetch
        self._unsent[fetch.id] = None
        self._forgotten.pop(fetch.id, None)

    def withdraw(self, partition: PartitionId) -> None:
        """The partition is not to be fetched in this session any more."""
        self._offered.pop(partition, None)
        self._unsent.pop(partition, None)
        if self._next_sequence:
            self._forgotten[partition] = None

    def next_request(self, now_ms: int) -> FetchRequest | None:
        """What is to be sent now, if anything."""
        if not self._may_send(now_ms):
            return None
        partitions: list[PartitionFetch] = []
        while self._unsent and len(partitions) < self._settings.fetch_partitions_max:
            partition = next(iter(self._unsent))
            del self._unsent[partition]
            partitions.append(self._offered[partition])
        forgotten = list(self._forgotten)[: self._settings.fetch_partitions_max]
        for partition in forgotten:
            del self._forgotten[partition]
        sequence = self._next_sequence
        self._next_sequence += 1
        overdue_ms = now_ms + self._settings.fetch_wait_ms + self._settings.fetch_answer_timeout_ms
        self._sent.append(_Sent(sequence, overdue_ms))
        return FetchRequest(
            self._me,
            self.mode,
            self.sessions_begun,
            sequence,
            partitions,
            forgotten,
            self._settings.fetch_bytes_max,
            self._settings.fetch_wait_ms,
        )

    def next_deadline(self) -> int | None:
        """When `next_request` or `expire` is to be called again, if nothing happens before."""
        deadlines = [self._sent[0].overdue_ms] if self._sent else []
        if self._wants_to_send() and self._sends_from_ms():
            deadlines.append(self._sends_from_ms())
        return min(deadlines, default=None)

    def answered(self, answer: FetchAnswer, now_ms: int) -> list[Answered]:
        """What the answer says, per partition. One that does not belong to this session, or to no fetch that waits for
        one, is nothing."""
        if (answer.incarnation, answer.session) != (self._me.incarnation, self.sessions_begun):
            return []
        if all(sent.sequence != answer.sequence for sent in self._sent):
            return []
        if answer.is_unknown:
            self.begin_anew()
            self._not_before_ms = now_ms + self._settings.retry_ms
            return []
        if self._sent.popleft().sequence != answer.sequence:
            self.begin_anew()  # answers come in order, so an earlier one is lost, with the work that it brought
        self._throttle(len(answer.batches), now_ms)
        if answer.batches:
            self._gather_until_ms = now_ms + self._settings.fetch_gather_ms
        return self._split(answer)

    def expire(self, now_ms: int) -> None:
        """Begin a new session if an answer is overdue."""
        if self._sent and self._sent[0].overdue_ms <= now_ms:
            self.begin_anew()

    def begin_anew(self) -> None:
        """The connection is broken, or may be: every partition is named again."""
        self.sessions_begun += 1
        self._next_sequence = 0
        self._sent.clear()
        self._forgotten.clear()
        self._unsent = dict.fromkeys(self._offered)

    def check_invariants(self) -> None:
        """Raises AssertionError."""
        assert len(self._sent) <= self._settings.fetches_in_flight_max
        assert self._unsent.keys() <= self._offered.keys()
        assert not self._forgotten.keys() & self._offered.keys()

    # --- pieces ------------------------------------------------------------------------------------------------------

    def _wants_to_send(self) -> bool:
        if self._unsent or self._forgotten:
            return len(self._sent) < self._settings.fetches_in_flight_max
        return bool(self._offered) and not self._sent

    def _sends_from_ms(self) -> int:
        """Without anything to say, not before what was given to be written may be durable."""
        has_something_to_say = self._unsent or self._forgotten
        return self._not_before_ms if has_something_to_say else max(self._not_before_ms, self._gather_until_ms)

    def _may_send(self, now_ms: int) -> bool:
        return now_ms >= self._sends_from_ms() and self._wants_to_send()

    def _throttle(self, size_bytes: int, now_ms: int) -> None:
        if self.mode is FetchMode.CATCH_UP and size_bytes:
            pause_ms = size_bytes * 1000 // self._settings.catch_up_bytes_per_second
            self._not_before_ms = max(self._not_before_ms, now_ms) + pause_ms

    def _split(self, answer: FetchAnswer) -> list[Answered]:
        """An answered partition has left the session when it has work to do; it comes back with its new position."""
        answered = []
        data = memoryview(answer.batches)
        at = 0
        for partition in answer.partitions:
            batches = []
            for log in partition.logs:
                batches.append(data[at : at + log.size_bytes])
                at += log.size_bytes
            if partition.is_work:
                self._offered.pop(partition.id, None)
                self._unsent.pop(partition.id, None)
            answered.append(Answered(partition, tuple(batches)))
        return answered
