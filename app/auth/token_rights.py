"""What a token's description comes to: its scopes, its own rights and its roles, together."""

from collections.abc import Mapping, Sequence

from acklog.wire.limits import RIGHTS_MAX
from app.auth.right import EVERY, Right
from app.auth.roles import BUILT_IN, Role
from app.auth.scopes import Scope, rights_of_scopes
from app.auth.written_rights import RightEntryError, right_of
from cluster.model.right_entry import RightEntry

_SHOWN_MAX = 500  # characters of roles' names


def token_rights(
    *,
    scopes: Sequence[Scope],
    rights: Sequence[RightEntry],
    roles: Sequence[str],
    topics: tuple[str, ...],
    groups: tuple[str, ...] | None,
    known_roles: Mapping[str, Role],
) -> tuple[Right, ...]:
    """`topics` and `groups` are the token's: what its scopes, and rights that name nothing themselves, are for. Without
    groups these are for every group where they are for every topic, and else for none.

    Raises RightEntryError.
    """
    bound = (EVERY if topics == EVERY else ()) if groups is None else groups
    found = list(rights_of_scopes(scopes, topics, groups))
    found += [right_of(each, f"rights[{index}]", topics=topics, groups=bound) for index, each in enumerate(rights)]
    for name in dict.fromkeys(roles):
        role = known_roles.get(name) or BUILT_IN.get(name)
        if role is None:
            known = ", ".join([*known_roles, *BUILT_IN])[:_SHOWN_MAX]
            raise RightEntryError(f"there is no role {name!r}; there are: {known}", field="roles")
        found += [right_of(each, f"role {name!r}", topics=topics, groups=bound) for each in role]
    if not found:
        raise RightEntryError("it needs rights or roles", field="rights")
    if len(rights) + sum(len(known_roles.get(name) or BUILT_IN[name]) for name in dict.fromkeys(roles)) > RIGHTS_MAX:
        raise RightEntryError(f"it has more than {RIGHTS_MAX} rights, with those of its roles", field="rights")
    return tuple(found)
