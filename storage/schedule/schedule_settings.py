"""What a partition's schedule can be told."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScheduleSettings:
    """Of one partition. Sizes are in bytes, times in milliseconds."""

    near_messages_max: int = 4_000
    near_bytes_max: int = 4 * 1024 * 1024
    """Messages in memory since they are due soon; all others are on disk only."""

    near_window_ms: int = 10_000
    """What is due later than this from now is not in memory."""

    look_ahead_ms: int = 5_000
    """How long before it is due a message is read."""

    due_messages_max: int = 125
    due_bytes_max: int = 1024 * 1024
    """Messages that are due together go into the log in batches of this size, one at a time for each partition: what is
    due leaves the rest of the partition's inbox to those who send."""

    append_loop_percent: int = 8
    append_rest_max_ms: int = 20
    read_loop_percent: int = 10
    read_rest_max_ms: int = 200
    """How much of the event loop's time all schedules of a node take at most to append what is due, and to read what
    will be, in turns; and how long they rest after a turn at most. The remainder is for those who send and receive."""

    unrecorded_batches_max: int = 16
    """Such batches that are appended and not recorded in the schedule log yet; beyond it the next one waits."""

    read_bytes_max: int = 1024 * 1024
    """How much of the schedule log is read at once."""

    retry_pause_ms: int = 500
    """Pause after something could not be appended (the disk is full, say), or not be read."""

    hand_over_timeout_ms: int = 10_000
    """How long another partition's leader may take to take over what belongs there, before it is asked again."""

    quota_wait_ms_max: int = 10_000
    """After so long at the latest it is asked again whether a quota has room for what recurring schedules send."""

    unnoted_messages_max: int = 100_000
    """After so many messages of the partition it is noted in the schedule log up to where nothing is unrecorded: a new
    leader looks through so many for what its predecessor appended last."""

    note_interval_ms: int = 1_000
    """How often that is looked at, while anything is scheduled."""

    missed_runs_max: int = 1_000
    """Of the times that a recurring schedule has missed, those that can still get a message: the last ones."""

    counted_runs_max: int = 100
    """Where one message stands for all times that were missed, so many of them are counted."""

    log_bytes_min: int = 32 * 1024 * 1024
    """A schedule log that is no larger is left as it is."""

    rewritten_batches_max: int = 50
    """Batches of pending messages that are written anew at a time, where most of a log is over."""

    page_messages_max: int = 1_000
    """Messages of one answer of a list."""
