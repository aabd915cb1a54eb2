"""Messages are sent."""

from collections.abc import Mapping

from app.sqs.calls.batch import check_entry_ids, failed_entry
from app.sqs.calls.sqs_services import CallContext
from app.sqs.messages.message_attribute import MessageAttribute
from app.sqs.messages.outgoing_message import OutgoingMessage, SentMessage
from app.sqs.shapes import (
    MessageAttributeValue,
    SendEntry,
    SendMessageBatchInput,
    SendMessageBatchResult,
    SendMessageInput,
    SendMessageResult,
    SentEntry,
)
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.model.action import Action


async def send_message(asked: SendMessageInput, context: CallContext) -> SendMessageResult:
    """Raises SqsError, ServerError as the services do."""
    message = outgoing_of(asked, context.trace)
    queue = await context.services.queues.find(context.named(asked.queue_url), context.principal, Action.SEND)
    sent = await context.services.messages.send(queue, message, context.principal)
    return sent_result(sent)


def sent_result(sent: SentMessage) -> SendMessageResult:
    return SendMessageResult(
        md5_of_message_body=sent.body_md5,
        md5_of_message_attributes=sent.attributes_md5,
        md5_of_message_system_attributes=sent.system_attributes_md5,
        message_id=sent.message_id,
        sequence_number=sent.sequence_number,
    )


async def send_message_batch(asked: SendMessageBatchInput, context: CallContext) -> SendMessageBatchResult:
    """What is wrong with the batch as a whole is raised; what is wrong with an entry is a part of the result."""
    check_entry_ids([entry.id for entry in asked.entries])
    messages = [outgoing_of(entry, context.trace) for entry in asked.entries]
    queue = await context.services.queues.find(context.named(asked.queue_url), context.principal, Action.SEND)
    outcomes = await context.services.messages.send_batch(queue, messages, context.principal)
    result = SendMessageBatchResult(successful=[], failed=[])
    for entry, sent in zip(asked.entries, outcomes, strict=True):
        if isinstance(sent, SqsError):
            result.failed.append(failed_entry(entry.id, sent))
            continue
        result.successful.append(
            SentEntry(
                id=entry.id,
                message_id=sent.message_id,
                md5_of_message_body=sent.body_md5,
                md5_of_message_attributes=sent.attributes_md5,
                md5_of_message_system_attributes=sent.system_attributes_md5,
                sequence_number=sent.sequence_number,
            )
        )
    return result


def outgoing_of(asked: SendMessageInput | SendEntry, trace: Mapping[str, str]) -> OutgoingMessage:
    """Raises SqsError UNSUPPORTED_OPERATION."""
    return OutgoingMessage(
        body=asked.message_body,
        delay_seconds=asked.delay_seconds,
        attributes=_attributes(asked.message_attributes),
        system_attributes=_attributes(asked.message_system_attributes),
        deduplication_id=asked.message_deduplication_id,
        group_id=asked.message_group_id,
        trace=trace,
    )


def _attributes(asked: Mapping[str, MessageAttributeValue] | None) -> dict[str, MessageAttribute]:
    return {name: _attribute(value) for name, value in (asked or {}).items()}


def _attribute(value: MessageAttributeValue) -> MessageAttribute:
    if value.string_list_values or value.binary_list_values:
        detail = "Message attribute list values in SendMessage operation are not supported."
        raise SqsError(SqsErrorCode.UNSUPPORTED_OPERATION, detail)
    return MessageAttribute(data_type=value.data_type, string_value=value.string_value, binary_value=value.binary_value)
