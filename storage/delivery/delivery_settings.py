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
