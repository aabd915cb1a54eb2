"""A message of SQS as what is to be stored, checked by what its queue allows. All raise SqsError."""

from acklog.wire.record import Record, Schedule
from app.auth.principal import Principal, PrincipalKind
from app.calls.claimed_headers import SENDER
from app.calls.send import Outgoing, Sendable
from app.sqs.messages.attribute_checks import TRACE_HEADER, check_attributes, check_system_attributes
from app.sqs.messages.attribute_headers import DEDUPLICATION_ID, headers_of
from app.sqs.messages.deduplication import deduplication_id_of, group_of, name_of
from app.sqs.messages.invalid import invalid, invalid_value, missing, not_for_this_kind
from app.sqs.messages.message_body import stored_body
from app.sqs.messages.outgoing_message import OutgoingMessage
from app.sqs.messages.sqs_text import text_fault
from app.sqs.messages.trace_header import trace_headers
from app.sqs.queue import Queue
from app.sqs.sqs_error import SqsError, SqsErrorCode

DELAY_SECONDS_MAX = 900


def sendable_of(queue: Queue, message: OutgoingMessage, principal: Principal, now_ms: int) -> Sendable:
    """A plain one where it says no more than a body of JSON and a group, and is to be seen at once. What is to be seen
    later keeps when it was sent."""
    _check_content(queue, message)
    delay_seconds = _delay_seconds(queue, message)
    group = group_of(queue, message)
    deduplication_id = deduplication_id_of(queue, message)
    headers = _headers(message, deduplication_id, principal)
    body = stored_body(message.body)
    is_later = bool(delay_seconds) or (delay_seconds is None and queue.topic.config.delay_ms > 0)
    if not (headers or body.content_type or is_later or delay_seconds == 0):
        return body.data, group
    return Outgoing(
        Record(
            body.data,
            group,
            headers or None,
            timestamp_ms=now_ms if is_later else None,
            content_type=body.content_type,
            schedule=Schedule(delay_ms=delay_seconds * 1000) if delay_seconds else None,
        ),
        dedup_id=None if group is None or deduplication_id is None else name_of(queue, group, deduplication_id),
        is_at_once=delay_seconds == 0,
        is_same_by_name=deduplication_id is not None,
    )


def _check_content(queue: Queue, message: OutgoingMessage) -> None:
    if not message.body:
        raise missing("MessageBody")
    size_max = queue.message_bytes_max
    if message.size_bytes > size_max:
        raise invalid(f"One or more parameters are invalid. Reason: Message must be shorter than {size_max} bytes.")
    fault = text_fault(message.body, "message body")
    if fault is not None:
        raise SqsError(SqsErrorCode.INVALID_MESSAGE_CONTENTS, fault)
    check_attributes(message.attributes)
    check_system_attributes(message.system_attributes)


def _delay_seconds(queue: Queue, message: OutgoingMessage) -> int | None:
    """None: as the queue has it, if at all."""
    seconds = message.delay_seconds
    if seconds is None:
        return None
    if not 0 <= seconds <= DELAY_SECONDS_MAX:
        detail = f"DelaySeconds must be >= 0 and <= {DELAY_SECONDS_MAX}."
        raise invalid_value(seconds, "DelaySeconds", detail)
    if queue.is_fifo:
        if seconds:
            raise not_for_this_kind(seconds, "DelaySeconds")
        return None
    return seconds if seconds or queue.topic.config.delay_ms else None


def _headers(message: OutgoingMessage, deduplication_id: str | None, principal: Principal) -> dict[str, str]:
    headers = headers_of(message.attributes)
    trace = message.system_attributes.get(TRACE_HEADER)
    if trace is not None:
        headers |= trace_headers(trace.string_value or "")
    elif message.trace:
        headers |= message.trace
    if deduplication_id is not None:
        headers[DEDUPLICATION_ID] = deduplication_id
    if principal.kind is not PrincipalKind.ANYONE:
        headers[SENDER] = principal.name
    return headers
