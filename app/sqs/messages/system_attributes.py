"""What SQS says of a message besides its own attributes."""

from collections.abc import Callable

from acklog.wire.letter_headers import SOURCE, attempts_of
from app.calls.claimed_headers import SENDER
from app.sqs.messages.attribute_checks import TRACE_HEADER
from app.sqs.messages.attribute_headers import DEDUPLICATION_ID
from app.sqs.messages.message_ids import sequence_number_of_delivered
from app.sqs.messages.trace_header import trace_of
from app.sqs.queue import Queue
from storage.rpc.messages import DeliveredMessage

ArnOf = Callable[[str], str]
"""Of a queue, by its name."""


def system_attributes_of(message: DeliveredMessage, queue: Queue, arn_of: ArnOf, now_ms: int) -> dict[str, str]:
    """All that are known."""
    headers = message.record.headers or {}
    first_ms = message.first_failed_ms if message.attempt > 1 and message.first_failed_ms >= 0 else now_ms
    found = {
        "SentTimestamp": str(_sent_at_ms(message)),
        "ApproximateReceiveCount": str(attempts_of(headers) + message.attempt),
        "ApproximateFirstReceiveTimestamp": str(first_ms),
        "SenderId": headers.get(SENDER) or _account_in(arn_of(queue.name)),
    }
    if message.record.key is not None:
        found["MessageGroupId"] = message.record.key
    if queue.is_fifo:
        found["SequenceNumber"] = sequence_number_of_delivered(message)
        if DEDUPLICATION_ID in headers:
            found["MessageDeduplicationId"] = headers[DEDUPLICATION_ID]
    trace = trace_of(headers)
    if trace is not None:
        found[TRACE_HEADER] = trace
    if SOURCE in headers:
        found["DeadLetterQueueSourceArn"] = arn_of(headers[SOURCE])
    return found


def _account_in(arn: str) -> str:
    """Whose queue it is: that is all that is known of a sender who was not asked who they are."""
    return arn.split(":")[4]


def _sent_at_ms(message: DeliveredMessage) -> int:
    """Of a dead letter when the message was sent that died; of what was to be seen later its sender says it."""
    record = message.record
    was_elsewhere = record.schedule is not None or SOURCE in (record.headers or {})
    return record.timestamp_ms if was_elsewhere and record.timestamp_ms is not None else message.append_time_ms
