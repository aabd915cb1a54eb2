"""Which right decides: for people who want to know why."""

from typing import NamedTuple

from acklog.wire.name_patterns import is_pattern_for
from app.auth.right import Effect, Right
from cluster.model.action import Action
from cluster.model.sqs_queue import queue_of_group


class DecidingRight(NamedTuple):
    """`right` None: nothing allows it."""

    is_allowed: bool
    right: Right | None


def deciding_on_topic(rights: tuple[Right, ...], action: Action, topic: str) -> DecidingRight:
    return _decided([each for each in rights if action in each.actions and _names(each.topics, topic)])


def deciding_on_group(rights: tuple[Right, ...], action: Action, group: str) -> DecidingRight:
    """Where nothing names the group of a queue of SQS, it goes by what names the queue's topic."""
    found = _decided([each for each in rights if action in each.actions and _names(each.groups, group)])
    queue = queue_of_group(group)
    return found if found.right is not None or queue is None else deciding_on_topic(rights, action, queue)


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
