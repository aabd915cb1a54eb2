"""Which names may have been meant by one that is not there."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches

NEAR_MAX = 3
COMPARED_MAX = 200
CHARACTERS_COMPARED_MAX = 8_000


def near_names(name: str, others: Iterable[str], may_see: Callable[[str], bool] = lambda _name: True) -> list[str]:
    """Those that begin alike are compared, and only some of them: who asks for what is not there must not keep a server
    busy."""
    start = name[:1].lower()
    candidates: list[str] = []
    characters = 0
    for other in others:
        if other[:1].lower() == start and may_see(other):
            candidates.append(other)
            characters += len(other)
            if len(candidates) >= COMPARED_MAX or characters >= CHARACTERS_COMPARED_MAX:
                break
    return get_close_matches(name, candidates, n=NEAR_MAX)
