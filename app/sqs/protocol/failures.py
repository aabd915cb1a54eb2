"""What Acklog's services fail with, as SQS says it. The only module that knows both."""

import logging

from acklog.wire.problems import ProblemCode
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.errors import ServerError
from cluster.ports.coordination import CoordinationError, OutcomeUnknownError

RETRY_AFTER_DEFAULT_MS = 1000
_logger = logging.getLogger("acklog.gateway")
_FAILED = "The request processing has failed because of an unknown error, exception or failure."

_CODES = {
    ProblemCode.UNAUTHENTICATED: SqsErrorCode.INVALID_CLIENT_TOKEN_ID,
    ProblemCode.TOKEN_EXPIRED: SqsErrorCode.EXPIRED_TOKEN,
    ProblemCode.FORBIDDEN: SqsErrorCode.ACCESS_DENIED,
    ProblemCode.TOPIC_NOT_FOUND: SqsErrorCode.QUEUE_DOES_NOT_EXIST,
    ProblemCode.GROUP_NOT_FOUND: SqsErrorCode.QUEUE_DOES_NOT_EXIST,
    ProblemCode.INVALID_RECEIPT: SqsErrorCode.RECEIPT_HANDLE_IS_INVALID,
    ProblemCode.TOO_MANY_TOPICS: SqsErrorCode.OVER_LIMIT,
    ProblemCode.TOO_MANY_GROUPS: SqsErrorCode.OVER_LIMIT,
    ProblemCode.REDRIVE_NOT_FOUND: SqsErrorCode.RESOURCE_NOT_FOUND,
    ProblemCode.BODY_INCOMPLETE: SqsErrorCode.SERIALIZATION,
    ProblemCode.UNSUPPORTED_MEDIA_TYPE: SqsErrorCode.SERIALIZATION,
    ProblemCode.REQUEST_TIMEOUT: SqsErrorCode.REQUEST_TIMEOUT,
    ProblemCode.QUOTA_EXCEEDED: SqsErrorCode.REQUEST_THROTTLED,
    ProblemCode.OVERLOADED: SqsErrorCode.REQUEST_THROTTLED,
    ProblemCode.DEDUP_WINDOW_FULL: SqsErrorCode.REQUEST_THROTTLED,
    ProblemCode.TOO_MANY_WAITING: SqsErrorCode.REQUEST_THROTTLED,
    # It may have been done: whoever asks again does so at the risk of doing it twice, as SQS's clients know.
    ProblemCode.OUTCOME_UNKNOWN: SqsErrorCode.INTERNAL_FAILURE,
    ProblemCode.TIMED_OUT: SqsErrorCode.INTERNAL_FAILURE,
    ProblemCode.INTERNAL: SqsErrorCode.INTERNAL_FAILURE,
    ProblemCode.STORAGE_FAILED: SqsErrorCode.INTERNAL_FAILURE,
    ProblemCode.RECORDS_CORRUPT: SqsErrorCode.INTERNAL_FAILURE,
}
"""Of all others those that may be tried again are for later, and the rest is a value that is not possible."""

_WORDS = {SqsErrorCode.QUEUE_DOES_NOT_EXIST: "The specified queue does not exist."}
"""Clients know these by heart, whichever part of a queue it was that went."""


def sqs_error_of(error: Exception) -> SqsError:
    """Of whatever a call raised. What nobody expected goes to the log with its stack."""
    if isinstance(error, SqsError):
        return error
    if isinstance(error, ServerError):
        return _of_problem(error)
    if isinstance(error, OutcomeUnknownError):
        return SqsError(SqsErrorCode.INTERNAL_FAILURE, "The change may or may not have been made: read it back.")
    if isinstance(error, CoordinationError):
        detail = "The coordination store cannot be reached now."
        return SqsError(SqsErrorCode.SERVICE_UNAVAILABLE, detail, retry_after_ms=RETRY_AFTER_DEFAULT_MS)
    _logger.error("a call of SQS failed unexpectedly", exc_info=error)
    return SqsError(SqsErrorCode.INTERNAL_FAILURE, _FAILED)


def _of_problem(error: ServerError) -> SqsError:
    code = _CODES.get(error.code)
    if code is None:
        later = SqsErrorCode.SERVICE_UNAVAILABLE
        code = later if error.code.retriable else SqsErrorCode.INVALID_PARAMETER_VALUE
    wait_ms = error.retry_after_ms
    if wait_ms is None and error.code.retriable:
        wait_ms = RETRY_AFTER_DEFAULT_MS
    return SqsError(code, _WORDS.get(code, error.detail), retry_after_ms=wait_ms)
