"""What SQS answers where a call fails: a name for JSON, a code for XML, and who is at fault."""

from enum import Enum
from typing import NamedTuple


class Fault(NamedTuple):
    """`shape` is the error's name in the JSON protocol, `code` that of the query protocol (and of entries that failed
    in a batch). `is_senders`: the call is at fault, and not the server."""

    shape: str
    code: str
    status: int = 400
    is_senders: bool = True


_LEGACY = "AWS.SimpleQueueService."


class SqsErrorCode(Enum):
    """Named as in the JSON protocol."""

    QUEUE_DOES_NOT_EXIST = Fault("QueueDoesNotExist", f"{_LEGACY}NonExistentQueue")
    QUEUE_NAME_EXISTS = Fault("QueueNameExists", "QueueAlreadyExists")
    QUEUE_DELETED_RECENTLY = Fault("QueueDeletedRecently", f"{_LEGACY}QueueDeletedRecently")
    PURGE_QUEUE_IN_PROGRESS = Fault("PurgeQueueInProgress", f"{_LEGACY}PurgeQueueInProgress", 403)
    INVALID_ATTRIBUTE_NAME = Fault("InvalidAttributeName", "InvalidAttributeName")
    INVALID_ATTRIBUTE_VALUE = Fault("InvalidAttributeValue", "InvalidAttributeValue")
    INVALID_PARAMETER_VALUE = Fault("InvalidParameterValueException", "InvalidParameterValue")
    INVALID_PARAMETER_COMBINATION = Fault("InvalidParameterCombinationException", "InvalidParameterCombination")
    MISSING_PARAMETER = Fault("MissingRequiredParameterException", "MissingParameter")
    INVALID_MESSAGE_CONTENTS = Fault("InvalidMessageContents", "InvalidMessageContents")
    INVALID_ID_FORMAT = Fault("InvalidIdFormat", "InvalidIdFormat")
    INVALID_ADDRESS = Fault("InvalidAddress", "InvalidAddress", 404)
    RECEIPT_HANDLE_IS_INVALID = Fault("ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid")
    MESSAGE_NOT_IN_FLIGHT = Fault("MessageNotInflight", f"{_LEGACY}MessageNotInflight")
    OVER_LIMIT = Fault("OverLimit", "OverLimit", 403)
    EMPTY_BATCH_REQUEST = Fault("EmptyBatchRequest", f"{_LEGACY}EmptyBatchRequest")
    TOO_MANY_ENTRIES = Fault("TooManyEntriesInBatchRequest", f"{_LEGACY}TooManyEntriesInBatchRequest")
    ENTRY_IDS_NOT_DISTINCT = Fault("BatchEntryIdsNotDistinct", f"{_LEGACY}BatchEntryIdsNotDistinct")
    INVALID_BATCH_ENTRY_ID = Fault("InvalidBatchEntryId", f"{_LEGACY}InvalidBatchEntryId")
    BATCH_REQUEST_TOO_LONG = Fault("BatchRequestTooLong", f"{_LEGACY}BatchRequestTooLong")
    UNSUPPORTED_OPERATION = Fault("UnsupportedOperation", f"{_LEGACY}UnsupportedOperation")
    RESOURCE_NOT_FOUND = Fault("ResourceNotFoundException", "ResourceNotFoundException", 404)
    ACCESS_DENIED = Fault("AccessDeniedException", "AccessDenied", 403)
    REQUEST_THROTTLED = Fault("RequestThrottled", "RequestThrottled", 403)
    MISSING_ACTION = Fault("MissingAction", "MissingAction")
    INVALID_ACTION = Fault("UnknownOperationException", "InvalidAction")
    SERIALIZATION = Fault("SerializationException", "MalformedInput")
    INVALID_SECURITY = Fault("InvalidSecurity", "InvalidSecurity", 403)
    MISSING_AUTHENTICATION_TOKEN = Fault("MissingAuthenticationTokenException", "MissingAuthenticationToken", 403)
    INCOMPLETE_SIGNATURE = Fault("IncompleteSignatureException", "IncompleteSignature", 400)
    SIGNATURE_DOES_NOT_MATCH = Fault("InvalidSignatureException", "SignatureDoesNotMatch", 403)
    INVALID_CLIENT_TOKEN_ID = Fault("UnrecognizedClientException", "InvalidClientTokenId", 403)
    EXPIRED_TOKEN = Fault("ExpiredTokenException", "ExpiredToken", 403)
    REQUEST_EXPIRED = Fault("RequestExpired", "RequestExpired", 400)
    REQUEST_TIMEOUT = Fault("RequestTimeout", "RequestTimeout", 408)
    SERVICE_UNAVAILABLE = Fault("ServiceUnavailable", "ServiceUnavailable", 503, is_senders=False)
    INTERNAL_FAILURE = Fault("InternalFailure", "InternalFailure", 500, is_senders=False)


class SqsError(Exception):
    """A call, or an entry of a batch, that fails: `message` is for people, and in SQS's words where clients look at
    them. `retry_after_ms` where waiting helps."""

    def __init__(self, code: SqsErrorCode, message: str, *, retry_after_ms: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retry_after_ms = retry_after_ms

    def again(self) -> "SqsError":
        """The same, to be raised by whoever has this one in a variable: an error holds the frames that it came through,
        and a frame what is in it, so neither would be let go."""
        return SqsError(self.code, self.message, retry_after_ms=self.retry_after_ms)
