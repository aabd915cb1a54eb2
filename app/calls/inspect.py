"""A message with its life in every group."""

import msgspec

from app.calls.message_view import MessageView


class GroupState(msgspec.Struct, rename="camel", omit_defaults=True):
    """`until` is when a lease or a delay ends, in milliseconds since 1970."""

    group: str
    state: str
    attempts: int
    until: int | msgspec.UnsetType = msgspec.UNSET
    consumer: str = ""


class InspectedView(MessageView, kw_only=True):
    groups: list[GroupState]
