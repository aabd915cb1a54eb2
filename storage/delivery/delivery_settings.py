"""The limits of a partition's delivery state. Every structure of it is bounded by one of these or by a group's own
`max_in_flight`."""

from dataclasses import dataclass

from acklog.wire import limits


@dataclass(frozen=True, slots=True)
class DeliverySettings:
    returned_max: int = limits.IN_FLIGHT_MAX
    """Messages of one group that were given back and are not done; at the limit nothing fresh is leased."""

    done_ranges_max: int = 2 * limits.IN_FLIGHT_MAX
    """Done holes above a group's progress; beyond it acks of what this leader has not delivered are refused."""

    dead_lettered_ranges_max: int = 10_000
    """Ranges of dead-lettered offsets that a group remembers; the lowest are forgotten first and then count as done."""

    failure_reasons_bytes_max: int = 4 * 1024 * 1024
    """What one group remembers of why messages failed that are not done; what failed longest ago is forgotten first."""

    postponed_ranges_max: int = limits.IN_FLIGHT_MAX
    """Ranges of messages that one group has left for later and remembers; what is beyond is searched for again when it
    may go."""

    postponed_ranges_of_key_max: int = 1024
    """Of these, ranges of one key: a key that is stuck leaves room to remember the others."""

    done_holes_max: int = 10 * limits.IN_FLIGHT_MAX
    """Done ranges above a group's progress, in between what it left for later; at the limit nothing fresh is looked
    at."""

    interrupted_max: int = limits.IN_FLIGHT_MAX
    """Leases of one group that ended because one before them came back, as long as somebody may still settle by their
    receipts; beyond it those are refused."""

    look_ahead_ranges_max: int = 10_000
    """Entries of what one group that is fair among keys has seen and not leased yet; a run of one key is one entry."""

    passed_over_ranges_max: int = 10_000
    """Ranges of what its filter has passed over that a group remembers, to be told apart from what was acknowledged;
    the lowest are forgotten first."""

    skips_gathered_ms: int = 1_000
    """How long what a filter passes over is gathered before a record says it; a crash makes a group look at as much of
    the log again."""

    candidate_runs_max: int = 16_384
    """Runs of messages that are known at a time of one partition, for all its groups that choose by what they see, and
    ranges that one of those passes over before that is recorded."""
