"""The calls of SQS as types, written by `python -m app.sqs.description.shape_writer` from `calls.toml`.

`parts` says what the query protocol calls the parts of a collection.
"""

from typing import Annotated, NamedTuple

from msgspec import Meta, Struct, field

from app.sqs.part_names import parts

Integer = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
AttributeNames = Annotated[list[str], parts("AttributeName")]
Attributes = Annotated[dict[str, str], parts("Attribute")]
Tags = Annotated[dict[str, str], parts("Tag", "Key")]
TagKeys = Annotated[list[str], parts("TagKey")]
AccountIds = Annotated[list[str], parts("AWSAccountId")]
ActionNames = Annotated[list[str], parts("ActionName")]
QueueUrls = Annotated[list[str], parts("QueueUrl")]
StringValues = Annotated[list[str], parts("StringListValue")]
BinaryValues = Annotated[list[bytes], parts("BinaryListValue")]


class MessageAttributeValue(Struct, kw_only=True, omit_defaults=True):
    data_type: str = field(name="DataType")
    string_value: str | None = field(default=None, name="StringValue")
    binary_value: bytes | None = field(default=None, name="BinaryValue")
    string_list_values: StringValues | None = field(default=None, name="StringListValues")
    binary_list_values: BinaryValues | None = field(default=None, name="BinaryListValues")


MessageAttributes = Annotated[dict[str, MessageAttributeValue], parts("MessageAttribute")]
SystemAttributes = Annotated[dict[str, MessageAttributeValue], parts("MessageSystemAttribute")]
MessageAttributeNames = Annotated[list[str], parts("MessageAttributeName")]
SystemAttributeNames = Annotated[list[str], parts("MessageSystemAttributeName")]


class SendEntry(Struct, kw_only=True, omit_defaults=True):
    id: str = field(name="Id")
    message_body: str = field(name="MessageBody")
    delay_seconds: Integer | None = field(default=None, name="DelaySeconds")
    message_attributes: MessageAttributes | None = field(default=None, name="MessageAttributes")
    message_system_attributes: SystemAttributes | None = field(default=None, name="MessageSystemAttributes")
    message_deduplication_id: str | None = field(default=None, name="MessageDeduplicationId")
    message_group_id: str | None = field(default=None, name="MessageGroupId")


SendEntries = Annotated[list[SendEntry], parts("SendMessageBatchRequestEntry")]


class SentEntry(Struct, kw_only=True, omit_defaults=True):
    id: str = field(name="Id")
    message_id: str = field(name="MessageId")
    md5_of_message_body: str = field(name="MD5OfMessageBody")
    md5_of_message_attributes: str | None = field(default=None, name="MD5OfMessageAttributes")
    md5_of_message_system_attributes: str | None = field(default=None, name="MD5OfMessageSystemAttributes")
    sequence_number: str | None = field(default=None, name="SequenceNumber")


SentEntries = Annotated[list[SentEntry], parts("SendMessageBatchResultEntry")]


class DeleteEntry(Struct, kw_only=True, omit_defaults=True):
    id: str = field(name="Id")
    receipt_handle: str = field(name="ReceiptHandle")


DeleteEntries = Annotated[list[DeleteEntry], parts("DeleteMessageBatchRequestEntry")]


class DoneEntry(Struct, kw_only=True, omit_defaults=True):
    id: str = field(name="Id")


DeletedEntries = Annotated[list[DoneEntry], parts("DeleteMessageBatchResultEntry")]


class VisibilityEntry(Struct, kw_only=True, omit_defaults=True):
    id: str = field(name="Id")
    receipt_handle: str = field(name="ReceiptHandle")
    visibility_timeout: Integer = field(name="VisibilityTimeout")


VisibilityEntries = Annotated[list[VisibilityEntry], parts("ChangeMessageVisibilityBatchRequestEntry")]
ChangedEntries = Annotated[list[DoneEntry], parts("ChangeMessageVisibilityBatchResultEntry")]


class FailedEntry(Struct, kw_only=True, omit_defaults=True):
    id: str = field(name="Id")
    sender_fault: bool = field(name="SenderFault")
    code: str = field(name="Code")
    message: str | None = field(default=None, name="Message")


FailedEntries = Annotated[list[FailedEntry], parts("BatchResultErrorEntry")]


class QueueMessage(Struct, kw_only=True, omit_defaults=True):
    message_id: str = field(name="MessageId")
    receipt_handle: str = field(name="ReceiptHandle")
    md5_of_body: str = field(name="MD5OfBody")
    body: str = field(name="Body")
    attributes: Attributes | None = field(default=None, name="Attributes")
    md5_of_message_attributes: str | None = field(default=None, name="MD5OfMessageAttributes")
    message_attributes: MessageAttributes | None = field(default=None, name="MessageAttributes")


QueueMessages = Annotated[list[QueueMessage], parts("Message")]


class MoveTaskEntry(Struct, kw_only=True, omit_defaults=True):
    task_handle: str | None = field(default=None, name="TaskHandle")
    status: str = field(name="Status")
    source_arn: str = field(name="SourceArn")
    destination_arn: str | None = field(default=None, name="DestinationArn")
    max_number_of_messages_per_second: Integer | None = field(default=None, name="MaxNumberOfMessagesPerSecond")
    approximate_number_of_messages_moved: Integer = field(name="ApproximateNumberOfMessagesMoved")
    approximate_number_of_messages_to_move: Integer | None = field(
        default=None, name="ApproximateNumberOfMessagesToMove"
    )
    failure_reason: str | None = field(default=None, name="FailureReason")
    started_timestamp: Integer = field(name="StartedTimestamp")


MoveTaskEntries = Annotated[list[MoveTaskEntry], parts("ListMessageMoveTasksResultEntry")]


class CallShape(NamedTuple):
    """`result` None: the answer is empty. `right` is the caller's on the queue's topic."""

    input: type[Struct]
    result: type[Struct] | None
    right: str


class CreateQueueInput(Struct, kw_only=True, omit_defaults=True):
    queue_name: str = field(name="QueueName")
    attributes: Attributes | None = field(default=None, name="Attributes")
    tags: Tags | None = field(default=None, name="tags")


class CreateQueueResult(Struct, kw_only=True, omit_defaults=True):
    queue_url: str = field(name="QueueUrl")


class DeleteQueueInput(Struct, kw_only=True, omit_defaults=True):
    queue_url: str | None = field(default=None, name="QueueUrl")


class ListQueuesInput(Struct, kw_only=True, omit_defaults=True):
    queue_name_prefix: str | None = field(default=None, name="QueueNamePrefix")
    next_token: str | None = field(default=None, name="NextToken")
    max_results: Integer | None = field(default=None, name="MaxResults")


class ListQueuesResult(Struct, kw_only=True, omit_defaults=True):
    queue_urls: QueueUrls | None = field(default=None, name="QueueUrls")
    next_token: str | None = field(default=None, name="NextToken")


class GetQueueUrlInput(Struct, kw_only=True, omit_defaults=True):
    queue_name: str = field(name="QueueName")
    queue_owner_aws_account_id: str | None = field(default=None, name="QueueOwnerAWSAccountId")


class GetQueueUrlResult(Struct, kw_only=True, omit_defaults=True):
    queue_url: str = field(name="QueueUrl")


class GetQueueAttributesInput(Struct, kw_only=True, omit_defaults=True):
    queue_url: str | None = field(default=None, name="QueueUrl")
    attribute_names: AttributeNames | None = field(default=None, name="AttributeNames")


class GetQueueAttributesResult(Struct, kw_only=True, omit_defaults=True):
    attributes: Attributes | None = field(default=None, name="Attributes")


class SetQueueAttributesInput(Struct, kw_only=True, omit_defaults=True):
    queue_url: str | None = field(default=None, name="QueueUrl")
    attributes: Attributes = field(name="Attributes")


class PurgeQueueInput(Struct, kw_only=True, omit_defaults=True):
    queue_url: str | None = field(default=None, name="QueueUrl")


class ListDeadLetterSourceQueuesInput(Struct, kw_only=True, omit_defaults=True):
    queue_url: str | None = field(default=None, name="QueueUrl")
    next_token: str | None = field(default=None, name="NextToken")
    max_results: Integer | None = field(default=None, name="MaxResults")


class ListDeadLetterSourceQueuesResult(Struct, kw_only=True, omit_defaults=True):
    queue_urls: QueueUrls = field(name="queueUrls")
    next_token: str | None = field(default=None, name="NextToken")


class TagQueueInput(Struct, kw_only=True, omit_defaults=True):
    queue_url: str | None = field(default=None, name="QueueUrl")
    tags: Tags = field(name="Tags")


class UntagQueueInput(Struct, kw_only=True, omit_defaults=True):
    queue_url: str | None = field(default=None, name="QueueUrl")
    tag_keys: TagKeys = field(name="TagKeys")


class ListQueueTagsInput(Struct, kw_only=True, omit_defaults=True):
    queue_url: str | None = field(default=None, name="QueueUrl")


class ListQueueTagsResult(Struct, kw_only=True, omit_defaults=True):
    tags: Tags | None = field(default=None, name="Tags")


class AddPermissionInput(Struct, kw_only=True, omit_defaults=True):
    queue_url: str | None = field(default=None, name="QueueUrl")
    label: str = field(name="Label")
    account_ids: AccountIds = field(name="AWSAccountIds")
    actions: ActionNames = field(name="Actions")


class RemovePermissionInput(Struct, kw_only=True, omit_defaults=True):
    queue_url: str | None = field(default=None, name="QueueUrl")
    label: str = field(name="Label")


class SendMessageInput(Struct, kw_only=True, omit_defaults=True):
    queue_url: str | None = field(default=None, name="QueueUrl")
    message_body: str = field(name="MessageBody")
    delay_seconds: Integer | None = field(default=None, name="DelaySeconds")
    message_attributes: MessageAttributes | None = field(default=None, name="MessageAttributes")
    message_system_attributes: SystemAttributes | None = field(default=None, name="MessageSystemAttributes")
    message_deduplication_id: str | None = field(default=None, name="MessageDeduplicationId")
    message_group_id: str | None = field(default=None, name="MessageGroupId")


class SendMessageResult(Struct, kw_only=True, omit_defaults=True):
    md5_of_message_body: str = field(name="MD5OfMessageBody")
    md5_of_message_attributes: str | None = field(default=None, name="MD5OfMessageAttributes")
    md5_of_message_system_attributes: str | None = field(default=None, name="MD5OfMessageSystemAttributes")
    message_id: str = field(name="MessageId")
    sequence_number: str | None = field(default=None, name="SequenceNumber")


class SendMessageBatchInput(Struct, kw_only=True, omit_defaults=True):
    queue_url: str | None = field(default=None, name="QueueUrl")
    entries: SendEntries = field(name="Entries")


class SendMessageBatchResult(Struct, kw_only=True, omit_defaults=True):
    successful: SentEntries = field(name="Successful")
    failed: FailedEntries = field(name="Failed")


class ReceiveMessageInput(Struct, kw_only=True, omit_defaults=True):
    queue_url: str | None = field(default=None, name="QueueUrl")
    attribute_names: AttributeNames | None = field(default=None, name="AttributeNames")
    message_system_attribute_names: SystemAttributeNames | None = field(
        default=None, name="MessageSystemAttributeNames"
    )
    message_attribute_names: MessageAttributeNames | None = field(default=None, name="MessageAttributeNames")
    max_number_of_messages: Integer | None = field(default=None, name="MaxNumberOfMessages")
    visibility_timeout: Integer | None = field(default=None, name="VisibilityTimeout")
    wait_time_seconds: Integer | None = field(default=None, name="WaitTimeSeconds")
    receive_request_attempt_id: str | None = field(default=None, name="ReceiveRequestAttemptId")


class ReceiveMessageResult(Struct, kw_only=True, omit_defaults=True):
    messages: QueueMessages | None = field(default=None, name="Messages")


class DeleteMessageInput(Struct, kw_only=True, omit_defaults=True):
    queue_url: str | None = field(default=None, name="QueueUrl")
    receipt_handle: str = field(name="ReceiptHandle")


class DeleteMessageBatchInput(Struct, kw_only=True, omit_defaults=True):
    queue_url: str | None = field(default=None, name="QueueUrl")
    entries: DeleteEntries = field(name="Entries")


class DeleteMessageBatchResult(Struct, kw_only=True, omit_defaults=True):
    successful: DeletedEntries = field(name="Successful")
    failed: FailedEntries = field(name="Failed")


class ChangeMessageVisibilityInput(Struct, kw_only=True, omit_defaults=True):
    queue_url: str | None = field(default=None, name="QueueUrl")
    receipt_handle: str = field(name="ReceiptHandle")
    visibility_timeout: Integer = field(name="VisibilityTimeout")


class ChangeMessageVisibilityBatchInput(Struct, kw_only=True, omit_defaults=True):
    queue_url: str | None = field(default=None, name="QueueUrl")
    entries: VisibilityEntries = field(name="Entries")


class ChangeMessageVisibilityBatchResult(Struct, kw_only=True, omit_defaults=True):
    successful: ChangedEntries = field(name="Successful")
    failed: FailedEntries = field(name="Failed")


class StartMessageMoveTaskInput(Struct, kw_only=True, omit_defaults=True):
    source_arn: str = field(name="SourceArn")
    destination_arn: str | None = field(default=None, name="DestinationArn")
    max_number_of_messages_per_second: Integer | None = field(default=None, name="MaxNumberOfMessagesPerSecond")


class StartMessageMoveTaskResult(Struct, kw_only=True, omit_defaults=True):
    task_handle: str = field(name="TaskHandle")


class ListMessageMoveTasksInput(Struct, kw_only=True, omit_defaults=True):
    source_arn: str = field(name="SourceArn")
    max_results: Integer | None = field(default=None, name="MaxResults")


class ListMessageMoveTasksResult(Struct, kw_only=True, omit_defaults=True):
    results: MoveTaskEntries | None = field(default=None, name="Results")


class CancelMessageMoveTaskInput(Struct, kw_only=True, omit_defaults=True):
    task_handle: str = field(name="TaskHandle")


class CancelMessageMoveTaskResult(Struct, kw_only=True, omit_defaults=True):
    approximate_number_of_messages_moved: Integer = field(name="ApproximateNumberOfMessagesMoved")


CALLS = {
    "CreateQueue": CallShape(CreateQueueInput, CreateQueueResult, "manage"),
    "DeleteQueue": CallShape(DeleteQueueInput, None, "manage"),
    "ListQueues": CallShape(ListQueuesInput, ListQueuesResult, "look"),
    "GetQueueUrl": CallShape(GetQueueUrlInput, GetQueueUrlResult, "look"),
    "GetQueueAttributes": CallShape(GetQueueAttributesInput, GetQueueAttributesResult, "look"),
    "SetQueueAttributes": CallShape(SetQueueAttributesInput, None, "manage"),
    "PurgeQueue": CallShape(PurgeQueueInput, None, "purge"),
    "ListDeadLetterSourceQueues": CallShape(ListDeadLetterSourceQueuesInput, ListDeadLetterSourceQueuesResult, "look"),
    "TagQueue": CallShape(TagQueueInput, None, "manage"),
    "UntagQueue": CallShape(UntagQueueInput, None, "manage"),
    "ListQueueTags": CallShape(ListQueueTagsInput, ListQueueTagsResult, "look"),
    "AddPermission": CallShape(AddPermissionInput, None, "manage"),
    "RemovePermission": CallShape(RemovePermissionInput, None, "manage"),
    "SendMessage": CallShape(SendMessageInput, SendMessageResult, "send"),
    "SendMessageBatch": CallShape(SendMessageBatchInput, SendMessageBatchResult, "send"),
    "ReceiveMessage": CallShape(ReceiveMessageInput, ReceiveMessageResult, "receive"),
    "DeleteMessage": CallShape(DeleteMessageInput, None, "settle"),
    "DeleteMessageBatch": CallShape(DeleteMessageBatchInput, DeleteMessageBatchResult, "settle"),
    "ChangeMessageVisibility": CallShape(ChangeMessageVisibilityInput, None, "settle"),
    "ChangeMessageVisibilityBatch": CallShape(
        ChangeMessageVisibilityBatchInput, ChangeMessageVisibilityBatchResult, "settle"
    ),
    "StartMessageMoveTask": CallShape(StartMessageMoveTaskInput, StartMessageMoveTaskResult, "settle"),
    "ListMessageMoveTasks": CallShape(ListMessageMoveTasksInput, ListMessageMoveTasksResult, "look"),
    "CancelMessageMoveTask": CallShape(CancelMessageMoveTaskInput, CancelMessageMoveTaskResult, "settle"),
}
"""By operation."""
