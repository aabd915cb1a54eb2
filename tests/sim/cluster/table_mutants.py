"""Planted bugs of compaction: `tests.sim.cluster.mutants` has them all."""

from collections.abc import Callable
from typing import Any

import pytest

from acklog.wire.batch import BatchHeader
from acklog.wire.compacted_batch import StoredRecord
from storage.compaction.latest_offsets import LatestOffsets
from storage.compaction.segment_compaction import SegmentCompaction
from storage.node.replicas import served_logs


def the_last_of_each_key_goes_too(patch: pytest.MonkeyPatch) -> None:
    """A message is taken for one that came before itself."""
    patch.setattr(LatestOffsets, "has_later", lambda self, key, offset: self._offsets.get(key, -1) >= offset)


def what_is_behind_the_map_counts(patch: pytest.MonkeyPatch) -> None:
    """Batches that the map has no room for are gone through as if it had, and tombstones are met too early."""
    original = LatestOffsets.add

    def add(self: LatestOffsets, header: BatchHeader, records: Any) -> bool:
        taken = original(self, header, records)
        self.end = header.next_offset
        return taken

    patch.setattr(LatestOffsets, "add", add)


def tombstones_go_at_once(patch: pytest.MonkeyPatch) -> None:
    """Also while some replica has not heard of them, and with what they remove still there behind a full map."""
    original = SegmentCompaction._stays

    def stays(self: SegmentCompaction, stored: StoredRecord, header: BatchHeader, compacted_ms: int) -> bool:
        return not stored.record.is_tombstone and original(self, stored, header, compacted_ms)

    patch.setattr(SegmentCompaction, "_stays", stays)


def placeholders_are_given_whole(patch: pytest.MonkeyPatch) -> None:
    """A follower that ends within one cannot take it, and stays behind for ever."""
    patch.setattr(served_logs, "from_offset", lambda batches, offset: batches)


TABLE_MUTANTS: tuple[Callable[[pytest.MonkeyPatch], None], ...] = (
    the_last_of_each_key_goes_too,
    what_is_behind_the_map_counts,
    tombstones_go_at_once,
    placeholders_are_given_whole,
)
