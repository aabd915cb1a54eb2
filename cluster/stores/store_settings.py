"""The limits of the coordination stores that live in one process (memory and SQLite)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Beyond `history_*_max` the oldest revisions are compacted; beyond the others a call is refused as unavailable."""

    history_revisions_max: int = 10_000
    """Revisions kept for watches. A watch that falls further behind gets CompactedError."""

    history_bytes_max: int = 64 * 1024 * 1024
    """Values within these revisions; the newest revision is always kept."""

    leases_max: int = 10_000

    watches_max: int = 1000

    waiting_transactions_max: int = 10_000
    """Transactions that wait for the SQLite file."""

    transactions_per_commit_max: int = 256
    """Transactions that share one sync of the SQLite file."""

    expiry_retry_ms: int = 1000
    """How long an expired lease's deletion waits after the store could not do it (a full disk)."""

    spare_interval_ms: int = 1000
    """How long after a change the copy of the SQLite file is written, at most so often."""
