"""Whether a node's disk takes anything at present: a machine without I/O, fed with what the log store shows.

A disk that is full, or stands still, keeps the node's partitions from everybody while others could take them, so the
node says so in its registration (rule R36). It must not say it, and take it back, again and again: leaderships follow.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DiskHealthSettings:
    full_bytes: int = 64 * 1024
    """Below so much free space a disk is full, whatever is kept in reserve."""

    stall_ms: int = 3_000
    """How long appends may wait while no round of the journal ends, before the disk counts as standing still."""

    calm_ms: int = 30_000
    """How long all must have been well, with a quarter more than the reserve free, before the disk counts as well."""


class DiskHealth:
    """`impairment` is what is wrong with the disk, None while nothing is."""

    def __init__(self, settings: DiskHealthSettings | None = None) -> None:
        self.impairment: str | None = None
        self._settings = settings or DiskHealthSettings()
        self._rounds = -1
        self._moved_ms = 0
        self._well_since_ms: int | None = None

    def look(self, *, free_bytes: int, reserve_bytes: int, pending_bytes: int, rounds: int, now_ms: int) -> None:
        """`rounds` is how many rounds of the journal have ended, `pending_bytes` what waits for one."""
        if rounds != self._rounds or not pending_bytes:
            self._rounds, self._moved_ms = rounds, now_ms
        needed_bytes = max(reserve_bytes, self._settings.full_bytes)
        if free_bytes < needed_bytes:
            self._is_impaired(f"{free_bytes} bytes are free, of the {needed_bytes} that are kept back")
        elif now_ms - self._moved_ms >= self._settings.stall_ms:
            self._is_impaired(f"nothing was written for {self._settings.stall_ms} ms")
        elif self.impairment is None or free_bytes < needed_bytes + needed_bytes // 4:
            self._well_since_ms = None
        elif self._well_since_ms is None:
            self._well_since_ms = now_ms
        elif now_ms - self._well_since_ms >= self._settings.calm_ms:
            self.impairment = None

    def _is_impaired(self, impairment: str) -> None:
        self._well_since_ms = None
        if self.impairment is None:
            self.impairment = impairment
