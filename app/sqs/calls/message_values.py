"""Messages as the calls of SQS speak of them, apart from the protocols."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageAttribute:
    """One of the two values."""

    data_type: str
    string_value: str | None = None
    binary_value: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingMessage:
    """`delay_seconds` None: as the queue has it."""

    body: str
    delay_seconds: int | None = None
    attributes: Mapping[str, MessageAttribute] = field(default_factory=dict)
    system_attributes: Mapping[str, MessageAttribute] = field(default_factory=dict)
    deduplication_id: str | None = None
    group_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SentMessage:
    """MD5s of attributes are None where there are none."""

    message_id: str
    body_md5: str
    attributes_md5: str | None = None
    system_attributes_md5: str | None = None
    sequence_number: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiveOptions:
    """None: as the queue has it. The names are those that were asked for, `All` and patterns among them."""

    count_max: int = 1
    visibility_seconds: int | None = None
    wait_seconds: int | None = None
    system_attribute_names: Sequence[str] = ()
    attribute_names: Sequence[str] = ()
    attempt_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedMessage:
    """With those attributes that were asked for."""

    message_id: str
    receipt_handle: str
    body: str
    body_md5: str
    attributes_md5: str | None = None
    attributes: Mapping[str, MessageAttribute] = field(default_factory=dict)
    system_attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedMessages:
    """`release` gives the leases back: nobody takes the answer."""

    messages: Sequence[ReceivedMessage]
    release: Callable[[], Awaitable[None]]


class MoveTaskStatus(Enum):
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    CANCELLING = "CANCELLING"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class MoveTask:
    """`handle` is None but while it runs, `destination_arn` where each message goes to where it came from."""

    handle: str | None
    status: MoveTaskStatus
    source_arn: str
    destination_arn: str | None
    rate_per_second: int | None
    moved: int
    to_move: int
    started_at_ms: int
    failure_reason: str | None
