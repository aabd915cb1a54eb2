"""Messages are received."""

from app.calls.patience import Patience
from app.sqs.calls.sqs_services import CallContext
from app.sqs.messages.message_attribute import MessageAttribute
from app.sqs.messages.received_message import ReceivedMessage, ReceivedMessages, ReceiveOptions
from app.sqs.shapes import MessageAttributeValue, QueueMessage, ReceiveMessageInput, ReceiveMessageResult
from cluster.model.action import Action


async def receive_message(asked: ReceiveMessageInput, context: CallContext, patience: Patience) -> ReceivedMessages:
    options = ReceiveOptions(
        count_max=1 if asked.max_number_of_messages is None else asked.max_number_of_messages,
        visibility_seconds=asked.visibility_timeout,
        wait_seconds=asked.wait_time_seconds,
        # The older name means the same.
        system_attribute_names=[*(asked.attribute_names or ()), *(asked.message_system_attribute_names or ())],
        attribute_names=asked.message_attribute_names or (),
        attempt_id=asked.receive_request_attempt_id,
    )
    queue = await context.services.queues.find(context.named(asked.queue_url), context.principal, Action.RECEIVE)
    return await context.services.messages.receive(queue, options, context.principal, patience)


def received_result(received: ReceivedMessages) -> ReceiveMessageResult:
    return ReceiveMessageResult(messages=[_message(each) for each in received.messages] or None)


def _message(message: ReceivedMessage) -> QueueMessage:
    return QueueMessage(
        message_id=message.message_id,
        receipt_handle=message.receipt_handle,
        md5_of_body=message.body_md5,
        body=message.body,
        attributes=dict(message.system_attributes) or None,
        md5_of_message_attributes=message.attributes_md5,
        message_attributes={name: _value(each) for name, each in message.attributes.items()} or None,
    )


def _value(attribute: MessageAttribute) -> MessageAttributeValue:
    return MessageAttributeValue(
        data_type=attribute.data_type,
        string_value=attribute.string_value,
        binary_value=attribute.binary_value,
    )
