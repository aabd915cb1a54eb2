"""What a receive asks for, and a message as it is received."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from app.sqs.messages.message_attribute import MessageAttribute


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiveOptions:
    """None: as the queue has it. The names are those that were asked for, `All` and patterns among them."""

    count_max: int = 1
    visibility_seconds: int | None = None
    wait_seconds: int | None = None
    system_attribute_names: Sequence[str] = ()
    attribute_names: Sequence[str] = ()
    attempt_id: str | None = None


class ReceivedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """With those attributes that were asked for."""

    message_id: str
    receipt_handle: str
    body: str
    body_md5: str
    attributes_md5: str | None = None
    attributes: Mapping[str, MessageAttribute] = {}
    system_attributes: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedMessages:
    """`release` gives the leases back: nobody takes the answer."""

    messages: Sequence[ReceivedMessage]
    release: Callable[[], Awaitable[None]]
