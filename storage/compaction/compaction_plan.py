"""Whether a partition is to be compacted now, and how far.

Only what is sealed, committed and older than the least lag is compacted: who reads at the head sees every message. What
has come since the last pass is *dirty*. A pass is due when enough is, when something dirty is older than the greatest
lag, when a tombstone has stayed for long enough, or when somebody asks for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from acklog.wire.compacted_batch import NEVER_MS

NO_LIMIT = -1


class CompactableSegment(Protocol):
    """A sealed one."""

    @property
    def base_offset(self) -> int: ...
    @property
    def end_offset(self) -> int: ...
    @property
    def size_bytes(self) -> int: ...
    @property
    def first_append_ms(self) -> int: ...
    @property
    def last_append_ms(self) -> int: ...


@dataclass(frozen=True, slots=True)
class CompactionLags:
    """Of one topic, in milliseconds after a message was appended, or a tombstone was met first. A greatest lag of
    NO_LIMIT is none."""

    min_ms: int
    max_ms: int
    tombstone_ms: int


class Compacted(NamedTuple):
    """How far a partition is: below `clean_end` each pass of before has gone. `oldest_tombstone_ms` was met first of
    those that are left there; NEVER_MS where none is."""

    clean_end: int = 0
    oldest_tombstone_ms: int = NEVER_MS


class CompactionPlan(NamedTuple):
    """A pass would go up to `end`, over `clean_bytes` that an earlier one has seen and `dirty_bytes`."""

    end: int
    clean_bytes: int
    dirty_bytes: int
    is_due: bool

    @property
    def dirty_ratio(self) -> float:
        return self.dirty_bytes / max(self.clean_bytes + self.dirty_bytes, 1)


def plan_compaction(
    segments: Sequence[CompactableSegment],
    done: Compacted,
    lags: CompactionLags,
    *,
    committed_end: int,
    now_ms: int,
    dirty_ratio_min: float,
    tombstones_may_go: bool,
) -> CompactionPlan:
    """`segments` are the sealed ones, the oldest first."""
    end = clean_bytes = dirty_bytes = 0
    oldest_dirty_ms = now_ms
    for each in segments:
        if each.end_offset > committed_end or each.last_append_ms > now_ms - lags.min_ms:
            break
        end = each.end_offset
        if end <= done.clean_end:
            clean_bytes += each.size_bytes
        else:
            dirty_bytes += each.size_bytes
            oldest_dirty_ms = min(oldest_dirty_ms, each.first_append_ms)
    plan = CompactionPlan(end, clean_bytes, dirty_bytes, is_due=False)
    is_dirty = dirty_bytes > 0 and plan.dirty_ratio >= dirty_ratio_min
    is_late = dirty_bytes > 0 and lags.max_ms != NO_LIMIT and oldest_dirty_ms < now_ms - lags.max_ms
    has_spent = (
        tombstones_may_go
        and end > 0
        and done.oldest_tombstone_ms != NEVER_MS
        and done.oldest_tombstone_ms + lags.tombstone_ms < now_ms
    )
    return plan._replace(is_due=is_dirty or is_late or has_spent)
