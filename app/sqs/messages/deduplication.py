"""Which message of a FIFO queue is the same as another, and in which order it is."""

import re
from hashlib import sha256

from app.sqs.messages.invalid import invalid, invalid_value, missing, not_for_this_kind
from app.sqs.messages.outgoing_message import OutgoingMessage
from app.sqs.queue import Queue

ID_LENGTH_MAX = 128
_ID = re.compile(rf"[!-~]{{1,{ID_LENGTH_MAX}}}")
"""Letters, digits and punctuation."""


def check_id(value: str, parameter: str) -> None:
    """Of a message group, a deduplication, an attempt to receive. Raises SqsError."""
    if not _ID.fullmatch(value):
        detail = (
            f"{parameter} can only include alphanumeric and punctuation characters. 1 to {ID_LENGTH_MAX} in length."
        )
        raise invalid_value(value, parameter, detail)


def group_of(queue: Queue, message: OutgoingMessage) -> str | None:
    """Whose order a message of a FIFO queue is in; in a standard queue whose share of it the message takes, if any.
    Raises SqsError."""
    if message.group_id is None:
        if queue.is_fifo:
            raise missing("MessageGroupId")
        return None
    check_id(message.group_id, "MessageGroupId")
    return message.group_id


def deduplication_id_of(queue: Queue, message: OutgoingMessage) -> str | None:
    """None in a standard queue. Raises SqsError."""
    given = message.deduplication_id
    if not queue.is_fifo:
        if given is not None:
            raise not_for_this_kind(given, "MessageDeduplicationId")
        return None
    if given is not None:
        check_id(given, "MessageDeduplicationId")
        return given
    if queue.is_deduplicated_by_content:
        return sha256(message.body.encode()).hexdigest()
    raise invalid(
        "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"
    )


def name_of(queue: Queue, group: str, deduplication_id: str) -> str:
    """What the partition remembers the message by, within the scope of the queue's deduplication."""
    if queue.is_deduplicated_by_message_group:
        return sha256(f"{group}\n{deduplication_id}".encode()).hexdigest()
    return deduplication_id
