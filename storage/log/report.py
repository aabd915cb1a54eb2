"""What a recovery found and did, as a value: logged at the start and asserted by tests."""

from dataclasses import dataclass, field

from storage.log.keys import LogKey


@dataclass(frozen=True, slots=True)
class TornTail:
    """Bytes behind the last valid batch that no completed append wrote, or that the journal wrote again."""

    key: LogKey
    offset: int
    size_bytes: int
    reason: str


@dataclass(frozen=True, slots=True)
class CorruptPlace:
    """Damage in what was durable: offsets from `offset` up to `next_offset` cannot be read."""

    key: LogKey
    offset: int
    next_offset: int
    reason: str


@dataclass(slots=True)
class RecoveryReport:
    """`refused` names logs that take no requests, with the reason."""

    was_clean: bool = False
    logs: int = 0
    segments_scanned: int = 0
    batches_verified: int = 0
    indexes_rebuilt: int = 0
    journal_frames: int = 0
    journal_entries: int = 0
    batches_replayed: int = 0
    duration_ms: int = 0
    torn_tails: list[TornTail] = field(default_factory=list)
    corrupt_places: list[CorruptPlace] = field(default_factory=list)
    refused: dict[LogKey, str] = field(default_factory=dict)

    @property
    def cut_bytes(self) -> int:
        return sum(tail.size_bytes for tail in self.torn_tails)
