"""Which right decides: for people who want to know why."""

from typing import NamedTuple

from acklog.wire.name_patterns import is_pattern_for
from app.auth.right import Effect, Right
from cluster.model.action import Action


class DecidingRight(NamedTuple):
    """`right` None: nothing allows it."""

    is_allowed: bool
    right: Right | None


def deciding_on_topic(rights: tuple[Right, ...], action: Action, topic: str) -> DecidingRight:
    return _decided([each for each in rights if action in each.actions and _names(each.topics, topic)])


def deciding_on_group(rights: tuple[Right, ...], action: Action, group: str) -> DecidingRight:
    return _decided([each for each in rights if action in each.actions and _names(each.groups, group)])


def deciding_on_cluster(rights: tuple[Right, ...], action: Action) -> DecidingRight:
    return _decided([each for each in rights if action in each.actions and each.is_for_cluster])


def _names(patterns: tuple[str, ...], name: str) -> bool:
    return any(is_pattern_for(pattern, name) for pattern in patterns)


def _decided(found: list[Right]) -> DecidingRight:
    """The first that denies, else the first that allows."""
    for effect in (Effect.DENY, Effect.ALLOW):
        for right in found:
            if right.effect is effect:
                return DecidingRight(effect is Effect.ALLOW, right)
    return DecidingRight(False, None)
