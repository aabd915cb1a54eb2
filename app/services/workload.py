"""What a group has to do, and how many consumers that takes. Pure."""

import math
from dataclasses import dataclass


@dataclass(slots=True)
class Workload:
    """`waiting` messages could be delivered now, `in_flight` ones are with consumers: paused, delayed and blocked ones
    need nobody. `settled_per_second` is None where it is not known. More than `consumers_max` would have nothing to do.
    Of some partitions nothing may be known (`is_partial`)."""

    waiting: int = 0
    in_flight: int = 0
    oldest_age_ms: int = 0
    settled_per_second: float | None = None
    consumers: int = 0
    consumers_max: int | None = None
    is_partial: bool = False

    @property
    def work(self) -> int:
        return self.waiting + self.in_flight


def suggested_consumers(load: Workload, *, target_lag: int | None, target_s: float | None) -> int | None:
    """The least number that meets each target that is given; None without any. `target_lag` is how many messages one
    consumer may have before it, `target_s` within how many seconds all of them are to be done."""
    if target_lag is None and target_s is None:
        return None
    wanted = 0
    if load.work and target_lag is not None:
        wanted = math.ceil(load.work / target_lag)
    if load.work and target_s is not None:
        wanted = max(wanted, _by_time(load, target_s))
    wanted = min(wanted, load.work)
    if load.consumers_max is not None:
        wanted = min(wanted, load.consumers_max)
    if load.is_partial:
        return max(wanted, load.consumers)  # what is not known may be the most of it
    return max(wanted, 1) if load.work else 0


def _by_time(load: Workload, target_s: float) -> int:
    """At the pace of late, so many times as many as it takes too long. While nothing is known of the pace (nobody was
    there, or nobody has finished anything), twice as many for as long as the oldest waits longer than it should."""
    there = max(1, load.consumers)
    if load.settled_per_second:
        return math.ceil(there * load.work / load.settled_per_second / target_s)
    is_late = load.consumers > 0 and load.oldest_age_ms > target_s * 1000
    return 2 * there if is_late else there
