"""What a coordinator of exclusive groups can be told."""

from dataclasses import dataclass

from acklog.wire import limits


@dataclass(frozen=True, slots=True)
class CoordinatorSettings:
    """Sizes are in bytes, times in milliseconds."""

    members_per_group_max: int = 2_000
    """Beyond it a join gets TOO_MANY_MEMBERS."""

    groups_max: int = 10_000
    """Exclusive groups with state in one partition of `__groups`; beyond it a group's first join gets
    TOO_MANY_GROUPS."""

    topics_per_subscription_max: int = limits.MEMBER_TOPICS_MAX
    patterns_per_subscription_max: int = limits.MEMBER_PATTERNS_MAX
    """Beyond them a join gets INVALID_FIELD."""

    pattern_length_max: int = limits.NAME_LENGTH_MAX

    waiting_heartbeats_max: int = 20_000
    """Heartbeats of one coordinator that wait for news; beyond it TOO_MANY_WAITING."""

    waiting_per_member_max: int = 64
    """Of one member: one more gets TOO_MANY_WAITING."""

    session_timeout_ms_min: int = limits.SESSION_TIMEOUT_MS_MIN
    session_timeout_ms_max: int = limits.SESSION_TIMEOUT_MS_MAX
    """Beyond them a join gets INVALID_FIELD."""

    wait_ms_max: int = 60_000
    """No heartbeat waits longer."""

    log_bytes_max: int = 8 * 1024 * 1024
    """When a partition of `__groups` has grown beyond this, and to several times what it takes to write its state
    anew, that is done, and the log is trimmed."""

    batch_bytes_max: int = 1024 * 1024
    """Records that are appended together; a single one may be larger, as a group that is written anew is one."""

    lag_interval_ms: int = 5_000
    """How often the offset store is asked for the progress of a group that is assigned by lag, at most."""

    commit_timeout_ms: int = 10_000
    """How long a change may take to be durable on the replicas; then it is settled by reading the log."""

    reopen_pause_ms: int = 500
    """Before the log is read again, when a change could not be made durable."""
