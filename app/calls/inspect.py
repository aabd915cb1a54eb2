"""A message with its life in every group."""

import msgspec

from app.calls.message_view import MessageView


class FailureReasonView(msgspec.Struct):
    """Why an attempt failed, as its consumer said. `at` is in milliseconds since 1970."""

    attempt: int
    at: int
    reason: str


class GroupState(msgspec.Struct, rename="camel", omit_defaults=True):
    """`until` is when a lease or a delay ends, in milliseconds since 1970, `consumer` who has it. Of a message that
    failed and is not done: the consumer that had it last, and the last reasons that were said, the oldest first. Of one
    that waits: the setting whose `limit` of messages in flight keeps it from going out, and `behind_unreadable`, the
    offset of the message that stops its partition (in exclusive groups) as nobody can read it."""

    group: str
    state: str
    attempts: int
    until: int | msgspec.UnsetType = msgspec.UNSET
    consumer: str = ""
    last_consumer: str = ""
    reasons: list[FailureReasonView] = []
    limit: str = ""
    behind_unreadable: int | msgspec.UnsetType = msgspec.UNSET


class InspectedView(MessageView, kw_only=True):
    groups: list[GroupState]
