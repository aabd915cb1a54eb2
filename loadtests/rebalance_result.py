"""What `loadtests.rebalance` has seen, and what it should have been."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one thing that happened. Gaps in seconds, by partition: the longest time in which nothing of it was received.
    `allowed_s` is how long those that moved may stand by the group's settings, before any tolerance."""

    what: str
    must_move: int
    allowed_s: float
    stayed_s: dict[int, float]
    moved_s: dict[int, float]

    @property
    def longest_stayed_s(self) -> float:
        return max(self.stayed_s.values(), default=0.0)

    @property
    def longest_moved_s(self) -> float:
        return max(self.moved_s.values(), default=0.0)


def problems_of(outcomes: Sequence[Outcome], *, tolerance_s: float) -> list[str]:
    """Nothing moves that need not; and no gap is longer than the one of the first outcome, in which nothing happens,
    by more than what is allowed and the tolerance."""
    usual_s = outcomes[0].longest_stayed_s
    found = []
    for each in outcomes:
        if len(each.moved_s) > each.must_move:
            found.append(f"{each.what}: {len(each.moved_s)} partitions moved, of which {each.must_move} had to")
        for kind, gap_s, allowed_s in (
            ("stayed", each.longest_stayed_s, 0.0),
            ("moved", each.longest_moved_s, each.allowed_s),
        ):
            limit_s = usual_s + allowed_s + tolerance_s
            if gap_s > limit_s:
                found.append(f"{each.what}: of a partition that {kind} nothing for {gap_s:.3f} s, over {limit_s:.3f} s")
    return found
