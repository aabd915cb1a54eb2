"""Shell patterns of the names of topics and groups. No wildcard matches the `/` behind a namespace: `orders*` is for
names in none, `shop/*` for all of one namespace. Only `*`, alone, is for every name of every namespace.
"""

from fnmatch import fnmatchcase

from acklog.wire.names import SEPARATOR

PARTS_MAX = 2
"""Of a name: a namespace, and what it is called there."""

EVERY_NAME = "*"
EVERY_NAME_IN_NONE = "**"
"""The pattern of all names that are in no namespace."""


def every_name_in(namespace: str) -> str:
    """The pattern of all names of the namespace, or of those in none."""
    return f"{namespace}{SEPARATOR}*" if namespace else EVERY_NAME_IN_NONE


def is_pattern_for(pattern: str, full_name: str) -> bool:
    if pattern == EVERY_NAME:
        return True
    parts, patterns = full_name.split(SEPARATOR), parts_of(pattern)
    return len(parts) == len(patterns) <= PARTS_MAX and all(map(fnmatchcase, parts, patterns))


def covers(pattern: str, other: str) -> bool:
    """Whether `pattern` is certainly for every name that `other` is for. Where neither is the other, nor all that may
    stand before or behind the `/`, that is not looked into."""
    if EVERY_NAME in {pattern, other}:
        return pattern == EVERY_NAME
    parts, others = parts_of(pattern), parts_of(other)
    return len(parts) == len(others) and all(map(_covers_part, parts, others))


def parts_of(pattern: str) -> list[str]:
    """What is before and behind each `/`. One in brackets is one of their characters, and no name's."""
    parts: list[str] = []
    start = place = 0
    while place < len(pattern):
        if pattern[place] == SEPARATOR:
            parts.append(pattern[start:place])
            start = place + 1
        elif pattern[place] == "[":
            place = _end_of_brackets(pattern, place)
        place += 1
    return [*parts, pattern[start:]]


def _end_of_brackets(pattern: str, begin: int) -> int:
    """Where the brackets end that begin there, by the rules of a shell; `begin` where they do not."""
    first = begin + 1
    first += pattern.startswith("!", first)
    first += pattern.startswith("]", first)
    end = pattern.find("]", first)
    return begin if end < 0 else end


def _covers_part(part: str, other: str) -> bool:
    return part == other or set(part) == {"*"}
