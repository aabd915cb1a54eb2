"""Dividing something so that nobody gets more while somebody who has less wants more."""

from collections.abc import Sequence


def max_min_shares(amount: float, wanted: Sequence[float]) -> list[float]:
    """What each gets of `amount`, in the order of `wanted`: all that it wants, or as much as any of those who do not
    get all. Together min(amount, sum of what is wanted)."""
    shares = [0.0] * len(wanted)
    left, waiting = amount, len(wanted)
    for place in sorted(range(len(wanted)), key=wanted.__getitem__):
        shares[place] = min(wanted[place], left / waiting)
        left -= shares[place]
        waiting -= 1
    return shares
