"""Patterns of what two lists of patterns are both for."""

from acklog.wire.name_patterns import EVERY_NAME, covers, parts_of

Patterns = tuple[str, ...] | None
"""None: for every name."""


def common_patterns(first: Patterns, second: Patterns) -> Patterns:
    """Those of either list that the other one is certainly for, as `covers` tells: never too much, and of `orders.*`
    and `*.eu` nothing."""
    if first is None or second is None:
        return second if first is None else first
    found = [*_covered(first, second), *_covered(second, first)]
    return tuple(dict.fromkeys(found))


def _covered(patterns: tuple[str, ...], others: tuple[str, ...]) -> list[str]:
    """Of thousands of patterns most are none for all that another one is for: these alone are compared one by one."""
    same = set(others)
    wide = [each for each in others if each == EVERY_NAME or any(set(part) == {"*"} for part in parts_of(each))]
    return [each for each in patterns if each in same or any(covers(other, each) for other in wide)]
