"""Which names may have been meant by one that is not there."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches

from acklog.wire.names import in_namespace, local_name, namespace_of

NEAR_MAX = 3
COMPARED_MAX = 200
CHARACTERS_COMPARED_MAX = 8_000


def near_names(name: str, others: Iterable[str], may_see: Callable[[str], bool] = lambda _name: True) -> list[str]:
    """Those of its namespace that begin alike are compared, and only some of them: who asks for what is not there must
    not keep a server busy."""
    namespace, wanted = namespace_of(name), local_name(name)
    start = wanted[:1].lower()
    candidates: list[str] = []
    characters = 0
    for other in others:
        local = local_name(other)
        if local[:1].lower() == start and namespace_of(other) == namespace and may_see(other):
            candidates.append(local)
            characters += len(local)
            if len(candidates) >= COMPARED_MAX or characters >= CHARACTERS_COMPARED_MAX:
                break
    return [in_namespace(namespace, each) for each in get_close_matches(wanted, candidates, n=NEAR_MAX)]
