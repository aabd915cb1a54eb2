"""What a node's compaction can be told."""

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class CompactionSettings:
    """Of one node: it compacts one partition at a time. Sizes are in bytes, times in milliseconds."""

    look_interval_ms: int = 15_000
    """How often it looks for partitions that are due."""

    asked_look_interval_ms: int = 500
    """The same while somebody has asked for one that cannot be compacted yet."""

    bytes_per_second: int = 8 * MIB
    """Read, whether for the keys or to be rewritten: sends and receives have the rest of the disk and of the
    processor."""

    step_bytes: int = 64 * 1024
    """How much is read, and decoded in one go, before others have their turn."""

    keys_bytes_max: int = 128 * MIB
    """Memory for the keys of one pass. Where there are more, a partition takes several passes."""

    dirty_ratio_min: float = 0.5
    """A partition is due when so much of what may be compacted has come since the last time."""

    retry_ms: int = 60_000
    """Pause before a partition is tried again that could not be compacted."""

    def __post_init__(self) -> None:
        intervals_ms = self.look_interval_ms, self.asked_look_interval_ms
        if min(*intervals_ms, self.bytes_per_second, self.step_bytes, self.keys_bytes_max) < 1:
            raise ValueError("intervals, rates and sizes of compaction must be positive")
        if not 0 <= self.dirty_ratio_min <= 1:
            raise ValueError("dirty_ratio_min is from 0 to 1")
