"""What can be done to topics, groups and the cluster."""

from enum import Enum


class Action(Enum):
    """Each has a bit of its own, so that what may be done to a resource is one number."""

    SEND = "send"  # to a topic, now or later; of a group: its dead letters back
    RECEIVE = "receive"  # messages of a topic, also as records; for a group
    SETTLE = "settle"  # ack, nack, extend, commit
    LOOK = "look"  # at settings, progress and state, and never at what is in messages
    SEEK = "seek"  # a group's progress in a topic, and what is blocked
    MANAGE = "manage"  # make, change, pause, delete; of the cluster: steer it, and its tokens
    PURGE = "purge"  # delete a topic's messages, and not the topic
    AUDIT = "audit"  # of the cluster: read who did what

    __hash__ = object.__hash__  # each member is there once; Enum's own is a Python call, in every request

    bit: int

    def __new__(cls, word: str) -> "Action":
        member = object.__new__(cls)
        member._value_ = word
        member.bit = 1 << len(cls.__members__)
        return member


def bits_of(actions: tuple[Action, ...]) -> int:
    bits = 0
    for action in actions:
        bits |= action.bit
    return bits
