"""Scopes: what tokens had before there were rights. A scope is short for some of them, and decides as it always did."""

from collections.abc import Sequence
from enum import Enum

from acklog.wire.name_patterns import EVERY_NAME_IN_NONE, every_name_in, parts_of
from acklog.wire.names import SEPARATOR
from app.auth.right import EVERY, Effect, Right
from cluster.model.action import Action


class Scope(Enum):
    READ = "read"  # receive, settle, look at messages and records
    WRITE = "write"  # send
    ADMIN = "admin"  # topics, groups, offsets, where replicas are
    PURGE = "purge"  # delete a topic's messages, and not the topic


_ON_TOPICS = {
    Scope.READ: (Action.RECEIVE, Action.SETTLE, Action.LOOK),
    Scope.WRITE: (Action.SEND,),
    Scope.ADMIN: (Action.MANAGE, Action.SEEK),
    Scope.PURGE: (Action.PURGE,),
}
_WITH_GROUPS = {
    Scope.READ: (Action.RECEIVE, Action.SETTLE),
    Scope.WRITE: (Action.SEND,),
    Scope.ADMIN: (Action.SEEK,),
    Scope.PURGE: (Action.PURGE,),
}
"""What is done in topics with a group."""

_ON_GROUPS = {Scope.READ: (Action.LOOK,), Scope.ADMIN: (Action.MANAGE,)}
"""What is done to the group itself."""


def rights_of_scopes(
    scopes: Sequence[Scope], topics: tuple[str, ...], groups: tuple[str, ...] | None
) -> tuple[Right, ...]:
    """`groups` None, as in files that know nothing of groups: a token for every topic is for every group. One for some
    topics may read them with any group that may read them, and neither sees nor changes groups."""
    used = _reading(topics) if groups is None else groups
    seen = used if groups is not None or topics == EVERY else ()
    found: list[Right] = []
    for scope in dict.fromkeys(scopes):
        source = f"scope {scope.value!r}"
        on_cluster: tuple[Action, ...] = ()
        if scope is Scope.READ:
            on_cluster = (Action.LOOK,)
        elif scope is Scope.ADMIN and topics == EVERY:
            on_cluster = (Action.MANAGE,)
        found += [
            _allowed(_ON_TOPICS[scope], source, topics=topics),
            _allowed(_WITH_GROUPS[scope], source, groups=used),
            _allowed(_ON_GROUPS.get(scope, ()), source, groups=seen),
            Right(effect=Effect.ALLOW, actions=on_cluster, is_for_cluster=True, source=source),
        ]
    return tuple(each for each in found if each.actions)


def _reading(topics: tuple[str, ...]) -> tuple[str, ...]:
    """Patterns of all groups that may read such topics: those of the same namespaces."""
    if topics == EVERY:
        return EVERY
    namespaces = [SEPARATOR.join(parts_of(pattern)[:-1]) for pattern in topics]
    return tuple(dict.fromkeys(map(every_name_in, namespaces))) or (EVERY_NAME_IN_NONE,)


def _allowed(
    actions: tuple[Action, ...], source: str, *, topics: tuple[str, ...] = (), groups: tuple[str, ...] = ()
) -> Right:
    return Right(effect=Effect.ALLOW, actions=actions, topics=topics, groups=groups, source=source)
