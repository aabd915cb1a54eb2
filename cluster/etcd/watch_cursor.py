"""What a watch has delivered, and where it goes on after its stream broke: without gap, without duplicate. Sans-IO.

etcd sends whole revisions, in order, unless it splits a large answer (`fragment`). The cursor hands a revision over
once it is complete, and moves behind it only then; what a broken stream left incomplete is asked for again.

It asks for one revision more than it needs: etcd before 3.4.36 and 3.5.19 forgets deletions of exactly the compacted
revision and says nothing to a watch that starts there, so a start there is never relied on.
"""

from cluster.etcd import acklog_etcd_pb2 as messages
from cluster.etcd.failures import EtcdFailure, watch_failure_of
from cluster.etcd.translation import event, prefix_range
from cluster.ports.coordination import CompactedError, Event, WatchBatch

FIRST_REVISION = 1  # of an empty etcd; nothing happened in it, so nothing of it can be compacted away


class StreamBrokenError(Exception):
    """The stream is of no further use; the watch goes on with another one."""

    def __init__(self, failure: EtcdFailure, message: str) -> None:
        super().__init__(message)
        self.failure = failure


class WatchCursor:
    """Call `begin` for each stream and send what it returns, then `accept` each answer."""

    def __init__(self, prefix: str, start_revision: int) -> None:
        self._range = prefix_range(prefix)
        self._next_revision = start_revision
        self._partial: list[Event] = []
        self._partial_revision = 0

    @property
    def next_revision(self) -> int:
        """The first revision that is not handed over."""
        return self._next_revision

    def begin(self) -> messages.WatchRequest:
        """A new stream: what is incomplete from the one before is forgotten."""
        self._partial = []
        key, range_end = self._range
        return messages.WatchRequest(
            create_request=messages.WatchCreateRequest(
                key=key,
                range_end=range_end,
                start_revision=max(FIRST_REVISION, self._next_revision - 1),
                progress_notify=True,
                fragment=True,
            )
        )

    def accept(self, answer: messages.WatchResponse) -> list[WatchBatch]:
        """The revisions that are complete now. Raises CompactedError, StreamBrokenError."""
        if answer.canceled:
            if answer.compact_revision:
                raise CompactedError(answer.compact_revision + 1)
            raise StreamBrokenError(watch_failure_of(answer.cancel_reason), answer.cancel_reason or "cancelled")
        if not answer.events:
            self._note_progress(answer)
            return []
        batches: list[WatchBatch] = []
        for each in answer.events:
            revision = each.kv.mod_revision
            if revision < self._next_revision:
                continue
            if self._partial and revision != self._partial_revision:
                if revision < self._partial_revision:
                    raise StreamBrokenError(EtcdFailure.UNKNOWN, f"revision {revision} after {self._partial_revision}")
                batches.append(self._complete())
            self._partial_revision = revision
            self._partial.append(event(each))
        if self._partial and not answer.fragment:
            batches.append(self._complete())
        return batches

    def _complete(self) -> WatchBatch:
        batch = WatchBatch(self._partial_revision, tuple(self._partial))
        self._partial = []
        self._next_revision = batch.revision + 1
        return batch

    def _note_progress(self, answer: messages.WatchResponse) -> None:
        """etcd says by itself, and in order with the events, up to where the watch has seen everything; so an idle one
        does not fall behind a compaction. Answers to our own question (their watch id is -1) are no such promise in
        etcd before 3.4.25 and 3.5.8: they may overtake events."""
        if answer.created or answer.watch_id < 0 or answer.fragment or self._partial:
            return
        self._next_revision = max(self._next_revision, answer.header.revision + 1)
