"""Every failure that the SDK raises: `AcklogError`, and below it one class per problem code.

`TOPIC_NOT_FOUND` is raised as `TopicNotFound`, and so on through docs/errors.md. What has no answer from a server to go
by has classes of its own at the end: `ConnectionFailed`, `DeadlineExceeded`, `BufferFull` and others.
"""

# The names are those of the problem codes, which end as their meaning wants it, not with "Error".
# ruff: noqa: N818

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from acklog.wire.problems import ProblemCode


class AcklogError(Exception):
    """A failure that a caller may expect.

    `code` is stable; programs go by it, or by the class. `detail` is a sentence for a person. `field` names what of the
    request is at fault (`messages[3].key`), `status` is HTTP's (0: there was no answer). `retriable` says that the same
    request may succeed later, after `retry_after_s` where the server said when. `extra` is what else the problem holds.
    """

    default_code: ClassVar[str] = ""
    default_status: ClassVar[int] = 0
    default_retriable: ClassVar[bool] = False

    def __init__(
        self,
        detail: str,
        *,
        code: str | None = None,
        field: str | None = None,
        status: int | None = None,
        retriable: bool | None = None,
        retry_after_s: float | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.code = self.default_code if code is None else code
        self.detail = detail
        self.field = field
        self.status = self.default_status if status is None else status
        self.retriable = self.default_retriable if retriable is None else retriable
        self.retry_after_s = retry_after_s
        self.extra: dict[str, Any] = dict(extra or {})

    def __str__(self) -> str:
        place = f" ({self.field})" if self.field else ""
        return f"{self.code}: {self.detail}{place}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.detail, {**self.__dict__})

    @property
    def near(self) -> list[str]:
        """Names like the one that was not found."""
        return self._names("near")

    @property
    def differing(self) -> list[str]:
        """The settings that an existing topic or group has otherwise than they were asked for."""
        return self._names("differing")

    def _names(self, member: str) -> list[str]:
        names = self.extra.get(member)
        return [str(name) for name in names] if isinstance(names, list) else []


def _restored(kind: type[AcklogError], detail: str, attributes: dict[str, Any]) -> AcklogError:
    """What pickle and copy make of an error: `Exception` itself would call the class with the detail only."""
    error = kind.__new__(kind)
    Exception.__init__(error, detail)
    error.__dict__.update(attributes)
    return error


class ProblemError(AcklogError):
    """A problem that a server answered with."""

    def __init_subclass__(cls, *, problem: ProblemCode, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.default_code, cls.default_status, cls.default_retriable = problem.name, problem.status, problem.retriable
        _CLASSES[problem.name] = cls


_CLASSES: dict[str, type[ProblemError]] = {}


def error_class(code: str) -> type[AcklogError]:
    """The class of a problem code; `AcklogError` itself for one that this version does not know."""
    return _CLASSES.get(code, AcklogError)


class InvalidJson(ProblemError, problem=ProblemCode.INVALID_JSON):
    """The body is not valid JSON."""


class InvalidField(ProblemError, problem=ProblemCode.INVALID_FIELD):
    """A field has the wrong type, form or range."""


class UnknownField(ProblemError, problem=ProblemCode.UNKNOWN_FIELD):
    """A field is not known."""


class MissingField(ProblemError, problem=ProblemCode.MISSING_FIELD):
    """A required field is missing."""


class InvalidName(ProblemError, problem=ProblemCode.INVALID_NAME):
    """A topic or group name is not allowed."""


class InvalidMessageId(ProblemError, problem=ProblemCode.INVALID_MESSAGE_ID):
    """The messageId was not made by Acklog."""


class InvalidReceipt(ProblemError, problem=ProblemCode.INVALID_RECEIPT):
    """The receipt was not made by Acklog."""


class Unsupported(ProblemError, problem=ProblemCode.UNSUPPORTED):
    """The feature is not supported yet."""


class BodyIncomplete(ProblemError, problem=ProblemCode.BODY_INCOMPLETE):
    """The request body ended early or could not be unpacked."""


class Unauthenticated(ProblemError, problem=ProblemCode.UNAUTHENTICATED):
    """A valid bearer token is required."""


class Forbidden(ProblemError, problem=ProblemCode.FORBIDDEN):
    """The token does not allow this."""


class NotFound(ProblemError, problem=ProblemCode.NOT_FOUND):
    """There is nothing at this path."""


class MethodNotAllowed(ProblemError, problem=ProblemCode.METHOD_NOT_ALLOWED):
    """The path does not take this method."""


class NotAcceptable(ProblemError, problem=ProblemCode.NOT_ACCEPTABLE):
    """None of the accepted content types can be made."""


class RequestTimeout(ProblemError, problem=ProblemCode.REQUEST_TIMEOUT):
    """The request did not arrive in time."""


class RequestTooLarge(ProblemError, problem=ProblemCode.REQUEST_TOO_LARGE):
    """The request is larger than the limit."""


class MessageTooLarge(ProblemError, problem=ProblemCode.MESSAGE_TOO_LARGE):
    """A message is larger than the limit."""


class TooManyMessages(ProblemError, problem=ProblemCode.TOO_MANY_MESSAGES):
    """The request has more messages than the limit."""


class UriTooLong(ProblemError, problem=ProblemCode.URI_TOO_LONG):
    """The path and query are longer than the limit."""


class UnsupportedMediaType(ProblemError, problem=ProblemCode.UNSUPPORTED_MEDIA_TYPE):
    """The content type or encoding is not supported."""


class HeadersTooLarge(ProblemError, problem=ProblemCode.HEADERS_TOO_LARGE):
    """The headers are larger than the limit."""


class MalformedHttp(ProblemError, problem=ProblemCode.MALFORMED_HTTP):
    """What was sent is not HTTP."""


class HostNotAllowed(ProblemError, problem=ProblemCode.HOST_NOT_ALLOWED):
    """The server is not served under this name."""


class OriginNotAllowed(ProblemError, problem=ProblemCode.ORIGIN_NOT_ALLOWED):
    """A web page of another origin may not do this."""


class TopicNotFound(ProblemError, problem=ProblemCode.TOPIC_NOT_FOUND):
    """There is no such topic."""


class PartitionNotFound(ProblemError, problem=ProblemCode.PARTITION_NOT_FOUND):
    """The topic has no such partition."""


class PartitionDecommissioned(ProblemError, problem=ProblemCode.PARTITION_DECOMMISSIONED):
    """The partition takes no new messages any more."""


class GroupNotFound(ProblemError, problem=ProblemCode.GROUP_NOT_FOUND):
    """There is no such group."""


class MessageNotFound(ProblemError, problem=ProblemCode.MESSAGE_NOT_FOUND):
    """There is no such message."""


class MessageExpired(ProblemError, problem=ProblemCode.MESSAGE_EXPIRED):
    """Retention has removed the message."""


class OffsetOutOfRange(ProblemError, problem=ProblemCode.OFFSET_OUT_OF_RANGE):
    """The offset is outside the log."""


class LogDiverged(ProblemError, problem=ProblemCode.LOG_DIVERGED):
    """The log was cut behind what was read of it, and has other messages from there on."""


class TopicExists(ProblemError, problem=ProblemCode.TOPIC_EXISTS):
    """The topic exists with other settings."""


class GroupExists(ProblemError, problem=ProblemCode.GROUP_EXISTS):
    """The group exists with other settings."""


class TooManyTopics(ProblemError, problem=ProblemCode.TOO_MANY_TOPICS):
    """There are as many topics as may be made."""


class TooManyGroups(ProblemError, problem=ProblemCode.TOO_MANY_GROUPS):
    """There are as many groups as may be made."""


class CleanElectionPossible(ProblemError, problem=ProblemCode.CLEAN_ELECTION_POSSIBLE):
    """The partition has a leader, or a replica in sync that may be elected."""


class ReplicaNotElectable(ProblemError, problem=ProblemCode.REPLICA_NOT_ELECTABLE):
    """The replica cannot be elected."""


class DataLossNotAllowed(ProblemError, problem=ProblemCode.DATA_LOSS_NOT_ALLOWED):
    """The change can delete messages, and does not say that it may."""


class WrongGroupMode(ProblemError, problem=ProblemCode.WRONG_GROUP_MODE):
    """The group's mode does not allow this call."""


class ReceiptStale(ProblemError, problem=ProblemCode.RECEIPT_STALE):
    """The message was leased again or done, or its group sought, since this receipt."""


class NotDelivered(ProblemError, problem=ProblemCode.NOT_DELIVERED):
    """The message was never delivered to the group."""


class Conflict(ProblemError, problem=ProblemCode.CONFLICT):
    """Someone else changed the same thing at the same time."""


class IdempotencyKeyReused(ProblemError, problem=ProblemCode.IDEMPOTENCY_KEY_REUSED):
    """The key was used with another content."""


class Overloaded(ProblemError, problem=ProblemCode.OVERLOADED):
    """The server is busy: its buffers are full."""


class DedupWindowFull(ProblemError, problem=ProblemCode.DEDUP_WINDOW_FULL):
    """The memory for idempotency keys is full."""


class DedupWindowDamaged(ProblemError, problem=ProblemCode.DEDUP_WINDOW_DAMAGED):
    """Idempotency keys of the window cannot be read."""


class TooManyWaiting(ProblemError, problem=ProblemCode.TOO_MANY_WAITING):
    """Too many requests are waiting for messages."""


class TooManyConnections(ProblemError, problem=ProblemCode.TOO_MANY_CONNECTIONS):
    """There are too many connections, or requests on one."""


class Internal(ProblemError, problem=ProblemCode.INTERNAL):
    """The server failed."""


class OutcomeUnknown(ProblemError, problem=ProblemCode.OUTCOME_UNKNOWN):
    """The request may or may not have taken effect."""


class StorageFull(ProblemError, problem=ProblemCode.STORAGE_FULL):
    """The disk is full."""


class StorageFailed(ProblemError, problem=ProblemCode.STORAGE_FAILED):
    """The disk failed: the node stopped serving it."""


class RecordsCorrupt(ProblemError, problem=ProblemCode.RECORDS_CORRUPT):
    """Stored records are damaged and cannot be served."""


class Unavailable(ProblemError, problem=ProblemCode.UNAVAILABLE):
    """The partition's leader, or the coordination store, cannot be asked now."""


class NotEnoughReplicas(ProblemError, problem=ProblemCode.NOT_ENOUGH_REPLICAS):
    """Too few replicas keep up to take what is to be safe on all of them."""


class ShuttingDown(ProblemError, problem=ProblemCode.SHUTTING_DOWN):
    """The server is shutting down."""


class TimedOut(ProblemError, problem=ProblemCode.TIMED_OUT):
    """The request was not done within its deadline."""


class ConnectionFailed(AcklogError):
    """The server could not be reached, or the connection broke. What was sent may or may not have taken effect."""

    default_code = "CONNECTION_FAILED"
    default_retriable = True


class CannotConnect(ConnectionFailed):
    """No connection could be made: nothing was sent."""

    default_code = "CANNOT_CONNECT"


class DeadlineExceeded(AcklogError):
    """The deadline passed without an answer. What was sent may or may not have taken effect, unless `detail` says."""

    default_code = "DEADLINE_EXCEEDED"
    default_retriable = True


class BufferFull(DeadlineExceeded):
    """A producer's buffer had no room until the deadline. The message was not taken."""

    default_code = "BUFFER_FULL"


class UnexpectedAnswer(AcklogError):
    """The answer is not one of Acklog's: is the URL right, and what stands between?"""

    default_code = "UNEXPECTED_ANSWER"


class InvalidArgument(AcklogError, ValueError):
    """What the SDK was called with cannot be right. Nothing was sent."""

    default_code = "INVALID_ARGUMENT"


class ClientClosed(AcklogError):
    """The client, producer or consumer was closed, or was made before the process forked."""

    default_code = "CLIENT_CLOSED"


class DeliveryFailed(AcklogError):
    """`count` messages of a producer were not delivered, and nobody has taken their results. `failures` holds the first
    errors (100 at most)."""

    default_code = "DELIVERY_FAILED"

    def __init__(self, detail: str, *, count: int = 0, failures: Sequence[AcklogError] = ()) -> None:
        super().__init__(detail)
        self.count = count
        self.failures = list(failures)


class SomeFailed(AcklogError):
    """Several messages or receipts of one call failed. `failures` holds their errors, in order."""

    default_code = "SOME_FAILED"

    def __init__(self, detail: str, *, failures: Sequence[AcklogError] = ()) -> None:
        super().__init__(detail)
        self.failures = list(failures)


class SettlementsLost(AcklogError):
    """Acks or nacks of a consumer could not be confirmed before it closed: the messages of `receipts` come again."""

    default_code = "SETTLEMENTS_LOST"

    def __init__(self, detail: str, *, receipts: Sequence[str] = ()) -> None:
        super().__init__(detail)
        self.receipts = list(receipts)
