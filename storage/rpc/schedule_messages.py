"""What a gateway asks of a partition's schedule. Fields are added at the end only, as in `storage.rpc.messages`."""

import msgspec

from acklog.wire.record import Record

MESSAGES_LOG = 0
"""Where a batch is that is not for later: the number in `storage.log.log_table`."""

SCHEDULED = "scheduled"
DELIVERED = "delivered"
CANCELLED = "cancelled"


class _Message(msgspec.Struct, array_like=True, gc=False):
    pass


class ScheduledItem(_Message):
    """A scheduled message. `offset` and `leader_epoch` name it (`acklog.wire.identifiers.ScheduleId`); `state` is
    SCHEDULED, and due at `due_ms`; or DELIVERED, and the message at `message_offset`; or CANCELLED. `order` parts those
    that are due at the same time. `size_bytes` is that of the body, which a list leaves out of `record`.

    With `partition` (-1: not) it was handed over to that one's schedule, where `there_offset` and `there_epoch` name
    it, and which knows more. `name` is its first one where it came from another partition."""

    offset: int
    leader_epoch: int
    state: str
    due_ms: int = -1
    order: int = -1
    size_bytes: int = 0
    record: Record | None = None
    message_offset: int = -1
    message_epoch: int = -1
    partition: int = -1
    there_offset: int = -1
    there_epoch: int = -1
    name: str = ""


class ScheduledRequest(_Message):
    """`action`: "look" at a message, body and all; "cancel" it; "move" it to `at_ms`, or (-1) by `delay_ms` from now.

    Each may be repeated. Raises MESSAGE_NOT_FOUND, and SCHEDULE_OVER (extra: messageOffset, messageEpoch where it was
    delivered) for one that is not scheduled any more; to cancel again is fine.
    """

    topic_id: str
    partition: int
    action: str
    offset: int
    leader_epoch: int
    at_ms: int = -1
    delay_ms: int = -1
    timeout_ms: int = 10_000


class ScheduledResponse(_Message):
    item: ScheduledItem


class ScheduledListRequest(_Message):
    """What is scheduled in a partition from (`since_ms`, `since_order`) on, due before `before_ms`, in order: so many
    at most, without bodies."""

    topic_id: str
    partition: int
    since_ms: int
    since_order: int
    before_ms: int
    limit: int
    timeout_ms: int = 10_000


class ScheduledListResponse(_Message):
    """`has_more`: there are more in the range. `pending` counts all that is scheduled in the partition."""

    items: list[ScheduledItem]
    has_more: bool = False
    pending: int = 0


class AdoptRequest(_Message):
    """What one leader asks of another: to take over messages that belong to `partition` by `mapping`, and were in the
    schedule of partition `origin`. Each record of the batch has its first name, and when it was due; one without a
    schedule stands for what nobody could read.

    To be repeated until it is answered: (`epoch`, `number`) says which hand-over of `origin` it is. Raises CONFLICT for
    one that came before the last.
    """

    topic_id: str
    partition: int
    batch: bytes
    origin: int
    epoch: int
    number: int
    mapping: int


class AdoptResponse(_Message):
    """They are in the schedule, committed, one behind the other: `offset` and `at_epoch` name the first."""

    offset: int
    at_epoch: int
