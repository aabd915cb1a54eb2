"""What becomes of a segment's batches when it is compacted.

Of each key the last message stays, at its offset. A tombstone stays, too, for a while after it was first met here, so
that who had read what it removes gets to see it. What has no key stays. Offsets, epochs and the order of append times
are as they were.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from acklog.wire.batch import BatchHeader, Buffer
from acklog.wire.compacted_batch import (
    NEVER_MS,
    StoredRecord,
    encode_compacted,
    encode_placeholder,
    is_placeholder,
    stored_records,
)
from storage.compaction.latest_offsets import LatestOffsets

PLACEHOLDER_RECORDS_MAX = 65_536
"""Of one placeholder, so that what stands for nothing costs little to whoever comes by."""


@dataclass(frozen=True, slots=True)
class CompactionTerms:
    """Of one pass, by the wall clock of this node.

    now_ms                      written into what is compacted for the first time
    tombstones_met_before_ms    those that were compacted first before this go; NEVER_MS: none do
    identities_kept_after_ms    a batch appended after this is still known when it is sent again
    """

    now_ms: int
    tombstones_met_before_ms: int
    identities_kept_after_ms: int


@dataclass(slots=True)
class CompactionFigures:
    """`oldest_tombstone_ms`: when the tombstone that is kept and was compacted first for longest was so; NEVER_MS where
    none is kept."""

    records_removed: int = 0
    records_kept: int = 0
    oldest_tombstone_ms: int = NEVER_MS


class SegmentCompaction:
    """Of one segment; its batches come in order. `has_changed`: what was returned is not what came."""

    def __init__(self, latest: LatestOffsets, terms: CompactionTerms) -> None:
        self._latest = latest
        self._terms = terms
        self._emptied: BatchHeader | None = None  # the last of the neighbours of which nothing is left
        self._emptied_from = 0
        self._placeholder: Buffer | None = None  # the one that stood there already, where it is that alone
        self.has_changed = False
        self.figures = CompactionFigures()

    def take(self, header: BatchHeader, data: Buffer) -> Sequence[Buffer]:
        """What takes the place of this batch, and of those before it that nothing was returned for. Raises ValueError
        for a batch that cannot be decoded."""
        if header.is_control or header.next_offset > self._latest.end:
            return [*self.end(), data]
        compacted_ms, stored = stored_records(data, header)
        met_ms = compacted_ms if compacted_ms != NEVER_MS else self._terms.now_ms
        kept = [each for each in stored if self._stays(each, header, compacted_ms)]
        self.figures.records_removed += len(stored) - len(kept)
        self.figures.records_kept += len(kept)
        has_tombstone = any(each.record.is_tombstone for each in kept)
        if has_tombstone:
            oldest_ms = self.figures.oldest_tombstone_ms
            self.figures.oldest_tombstone_ms = met_ms if oldest_ms == NEVER_MS else min(met_ms, oldest_ms)
        if not kept and not self._is_known_by_it(header):
            return self._emptied_too(header, data)
        if len(kept) == len(stored) and (header.is_compacted or not has_tombstone):
            return [*self.end(), data]
        self.has_changed = True
        return [*self.end(), encode_compacted(data, header, kept, compacted_ms=met_ms)]

    def end(self) -> Sequence[Buffer]:
        """What is still to be written of the batches so far."""
        emptied, self._emptied = self._emptied, None
        if emptied is None:
            return ()
        if self._placeholder is not None:
            return [self._placeholder]
        self.has_changed = True
        return [encode_placeholder(emptied, base_offset=self._emptied_from)]

    def _stays(self, stored: StoredRecord, header: BatchHeader, compacted_ms: int) -> bool:
        record = stored.record
        if record.key is None:
            return True
        if self._latest.has_later(record.key, header.base_offset + stored.index):
            return False
        if not record.is_tombstone or compacted_ms == NEVER_MS:
            return True
        return compacted_ms >= self._terms.tombstones_met_before_ms

    def _is_known_by_it(self, header: BatchHeader) -> bool:
        """Whether a batch or a message is told by it that comes again."""
        has_identity = bool(header.keys_length) or header.producer_id >= 0
        return has_identity and header.append_time_ms > self._terms.identities_kept_after_ms

    def _emptied_too(self, header: BatchHeader, data: Buffer) -> Sequence[Buffer]:
        before = self._emptied
        is_like_it = before is not None and before.leader_epoch == header.leader_epoch
        written: Sequence[Buffer] = ()
        if not is_like_it or header.next_offset - self._emptied_from > PLACEHOLDER_RECORDS_MAX:
            written = self.end()
            self._emptied_from = header.base_offset
            self._placeholder = data if is_placeholder(data, header) else None
        else:
            self._placeholder = None
        self._emptied = header
        return written
