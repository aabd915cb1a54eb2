"""What a refused request was about, where neither its path nor its query says so: its endpoint has read it."""

from typing import NamedTuple

from starlette.types import Scope

ABOUT = "acklog.about"
"""Where a request's scope holds it."""


class About(NamedTuple):
    """`things`: so many in one request; 0 for one."""

    names: dict[str, str]
    things: int


_NOTHING = About({}, 0)


def tell_about(scope: Scope, names: dict[str, str], *, things: int = 0) -> None:
    """To be called before the request can be refused for it."""
    scope[ABOUT] = About(names, things)


def told_about(scope: Scope) -> About:
    found = scope.get(ABOUT)
    return found if isinstance(found, About) else _NOTHING
