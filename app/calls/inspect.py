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
    failed and is not done: the consumer that had it last, and the last reasons that were said, the oldest first."""

    group: str
    state: str
    attempts: int
    until: int | msgspec.UnsetType = msgspec.UNSET
    consumer: str = ""
    last_consumer: str = ""
    reasons: list[FailureReasonView] = []


class InspectedView(MessageView, kw_only=True):
    groups: list[GroupState]
