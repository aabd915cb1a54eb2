"""The limits of the log, each with its name."""

from dataclasses import dataclass, field

from storage.log.log_table import Space

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class LogSettings:
    """Of one log. A segment may exceed `segment_bytes` by one batch; the index has about one row per
    `index_interval_bytes`. `space` is what its appends may use."""

    segment_bytes: int = 128 * MIB
    index_interval_bytes: int = 4096
    space: Space = Space.NORMAL

    def __post_init__(self) -> None:
        if self.segment_bytes < 1 or self.index_interval_bytes < 1:
            raise ValueError("segment_bytes and index_interval_bytes must be positive")


@dataclass(frozen=True, slots=True)
class LogStoreSettings:
    """Of one data directory.

    journal_file_bytes    size of a preallocated journal file; no batch may be larger
    journal_files_max     so many files may hold entries at once; a round that needs one more waits for a sync
    journal_files_kept    so many files are kept for reuse, the one being written included
    round_bytes_max       bytes of one round of the group commit
    round_interval_ms     behind a round with several appends the next one begins no sooner than so long after it began
    pending_bytes_max     bytes waiting for a round; beyond it `append` raises OVERLOADED
    reserve_bytes         with less free only acknowledgements are taken, and down to half of it the audit log
    ballast_bytes         so much is taken by a file that goes when the disk is full, as a start needs some; 0: none
    free_check_interval_ms  how often free space is looked at, at most
    sync_interval_ms      how often segments are synced and the journal is trimmed; sooner where a journal file is full
    sync_pause_ms         pause between two files of a background sync, so that it does not crowd out the rounds
    open_files_max        segment files kept open
    write_behind_bytes_max  bytes of small segment writes that may gather in memory, over all files
    closed_indexes_max    indexes of closed segments kept in memory
    read_bytes_max        bytes that one read returns at most, unless its first batch alone is larger
    scrub_bytes_per_second  stored bytes that are verified again, to find what rots while nobody reads it; 0: none are
    scrub_interval_ms     from the beginning of one pass over all that is stored to that of the next one, at least
    scrub_min_age_ms      what was appended later than so long before a pass began is left to the next one
    scrub_step_bytes      how much is verified at a time
    scrub_checkpoint_ms   how often it is written down where a pass stands; so long after a start it goes on
    recovery_log          the settings that recovery goes by, before a log is opened with its own
    """

    journal_file_bytes: int = 64 * MIB
    journal_files_max: int = 8
    journal_files_kept: int = 3
    round_bytes_max: int = 16 * MIB
    round_interval_ms: int = 0
    pending_bytes_max: int = 64 * MIB
    reserve_bytes: int = 64 * MIB
    ballast_bytes: int = 16 * MIB
    free_check_interval_ms: int = 1000
    sync_interval_ms: int = 2000
    sync_pause_ms: int = 1
    open_files_max: int = 512
    write_behind_bytes_max: int = 16 * MIB
    closed_indexes_max: int = 64
    read_bytes_max: int = 64 * MIB
    retry_after_ms: int = 1000
    scrub_bytes_per_second: int = 2 * MIB
    scrub_interval_ms: int = 7 * 24 * 60 * 60 * 1000
    scrub_min_age_ms: int = 60 * 60 * 1000
    scrub_step_bytes: int = 256 * 1024
    scrub_checkpoint_ms: int = 60_000
    recovery_log: LogSettings = field(default_factory=LogSettings)

    def __post_init__(self) -> None:
        if self.journal_files_kept < 2 or self.journal_files_max < self.journal_files_kept:
            raise ValueError("at least two journal files are kept, and not more than journal_files_max")
        if self.journal_file_bytes % 4096 or self.journal_file_bytes < 8192:
            raise ValueError("journal_file_bytes must be a multiple of 4096, and at least two of them")
        if self.open_files_max < 1 or self.closed_indexes_max < 1:
            raise ValueError("open_files_max and closed_indexes_max must be positive")
        if self.scrub_interval_ms < 1 or self.scrub_step_bytes < 1 or self.scrub_checkpoint_ms < 1:
            raise ValueError("scrub_interval_ms, scrub_step_bytes and scrub_checkpoint_ms must be positive")
