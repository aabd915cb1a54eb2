"""What was let through under a quota, and whether that is too much: judged by what clients were told, in each window.

What began and ended within a window surely happened within it, so nothing is counted that may not have been.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Admission(NamedTuple):
    """So many units that were let through by `gateway`, one process of it, in answer to one request."""

    began_ms: float
    ended_ms: float
    units: int
    gateway: str


class Excess(NamedTuple):
    """The window in which the most was done beyond what may be."""

    began_ms: float
    ended_ms: float
    units: int
    allowed: float


def worst_excess(admissions: Iterable[Admission], *, per_second: float, burst: float) -> Excess | None:
    """None: in no window was more than `per_second` for its time, and `burst` once. There is room as long as one unit
    is left, and what a request takes beyond it is paid back before its gateway lets in the next: so of each gateway's
    last one in a window, only one unit counts."""
    ordered = sorted(admissions, key=lambda each: each.ended_ms)
    worst: Excess | None = None
    for began_ms in {each.began_ms for each in ordered}:
        units = 0
        last: dict[str, int] = {}
        for each in ordered:
            if each.began_ms < began_ms:
                continue
            units += each.units
            last[each.gateway] = each.units
            beyond = sum(last.values()) - len(last)
            allowed = per_second * (each.ended_ms - began_ms) / 1000 + burst + beyond
            if units - allowed > (0 if worst is None else worst.units - worst.allowed):
                worst = Excess(began_ms, each.ended_ms, units, allowed)
    return worst


def undisturbed(
    admissions: Iterable[Admission], disturbances_ms: Sequence[float], *, settling_ms: float
) -> list[list[Admission]]:
    """In parts between which something happened that took until `settling_ms` later."""
    parts: list[list[Admission]] = [[] for _ in range(len(disturbances_ms) + 1)]
    for each in admissions:
        before = [at_ms for at_ms in disturbances_ms if at_ms <= each.ended_ms]
        if all(at_ms + settling_ms < each.began_ms for at_ms in before):
            parts[len(before)].append(each)
    return parts
