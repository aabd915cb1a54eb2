"""How available partitions were: of the seconds of a run, those in which a send to the partition was acknowledged."""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import pairwise

WINDOW_S = 1.0


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of a run, in seconds of the same clock as the successes."""

    name: str
    began_s: float
    ended_s: float


@dataclass(frozen=True, slots=True)
class Availability:
    """Of one phase. A window belongs to the phase in which it begins; only whole windows count. A gap is the time
    without a success, of the partition that had to wait longest, and of the one in the middle."""

    phase: str
    windows: int
    good_windows: int
    longest_gap_s: float
    median_gap_s: float

    @property
    def share(self) -> float:
        return self.good_windows / self.windows if self.windows else 1.0


def availability_of(phase: Phase, successes_s: dict[int, list[float]]) -> Availability:
    """`successes_s` are the times of the acknowledgements of each partition, rising."""
    whole = int((phase.ended_s - phase.began_s) / WINDOW_S)
    good = 0
    gaps = []
    for times in successes_s.values():
        for number in range(whole):
            from_s = phase.began_s + number * WINDOW_S
            good += bisect_left(times, from_s) < bisect_left(times, from_s + WINDOW_S)
        gaps.append(_longest_gap(phase, times))
    gaps.sort()
    return Availability(phase.name, whole * len(successes_s), good, gaps[-1], gaps[len(gaps) // 2])


def _longest_gap(phase: Phase, times: list[float]) -> float:
    within = times[bisect_left(times, phase.began_s) : bisect_right(times, phase.ended_s)]
    edges = [phase.began_s, *within, phase.ended_s]
    return max(later - earlier for earlier, later in pairwise(edges))
