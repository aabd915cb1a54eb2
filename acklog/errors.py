"""Every failure that the SDK raises: `AcklogError`, and below it one class per problem code.

`TOPIC_NOT_FOUND` is raised as `TopicNotFound`, and so on through docs/errors.md. What has no answer from a server to go
by has classes of its own, as `ConnectionFailed`, which are of `acklog.local_errors` and found here.
"""

# The names are those of the problem codes, which end as their meaning wants it, not with "Error".
# ruff: noqa: N818

from acklog.acklog_error import AcklogError as AcklogError
from acklog.encryption_errors import NoMasterKey as NoMasterKey
from acklog.encryption_errors import NotEncrypted as NotEncrypted
from acklog.encryption_errors import TooManyDataKeys as TooManyDataKeys
from acklog.local_errors import BufferFull as BufferFull
from acklog.local_errors import CannotConnect as CannotConnect
from acklog.local_errors import ClientClosed as ClientClosed
from acklog.local_errors import ConnectionFailed as ConnectionFailed
from acklog.local_errors import DeadlineExceeded as DeadlineExceeded
from acklog.local_errors import DecryptionFailed as DecryptionFailed
from acklog.local_errors import DeliveryFailed as DeliveryFailed
from acklog.local_errors import InvalidArgument as InvalidArgument
from acklog.local_errors import KeyUnavailable as KeyUnavailable
from acklog.local_errors import MessageInClear as MessageInClear
from acklog.local_errors import SettlementsLost as SettlementsLost
from acklog.local_errors import SomeFailed as SomeFailed
from acklog.local_errors import TlsFailed as TlsFailed
from acklog.local_errors import UnexpectedAnswer as UnexpectedAnswer
from acklog.local_errors import UnknownKey as UnknownKey
from acklog.namespace_errors import NamespaceExists as NamespaceExists
from acklog.namespace_errors import NamespaceFull as NamespaceFull
from acklog.namespace_errors import NamespaceMismatch as NamespaceMismatch
from acklog.namespace_errors import NamespaceNotEmpty as NamespaceNotEmpty
from acklog.namespace_errors import NamespaceNotFound as NamespaceNotFound
from acklog.namespace_errors import TooManyNamespaces as TooManyNamespaces
from acklog.problem_error import ProblemError as ProblemError
from acklog.problem_error import error_class as error_class
from acklog.restore_errors import RestoreConflict as RestoreConflict
from acklog.restore_errors import TopicNotRestoring as TopicNotRestoring
from acklog.restore_errors import TopicRestoring as TopicRestoring
from acklog.stream_errors import TooManyPartitions as TooManyPartitions
from acklog.stream_errors import TooManyWatchers as TooManyWatchers
from acklog.stream_errors import TopicRemoved as TopicRemoved
from acklog.token_errors import TokenExists as TokenExists
from acklog.token_errors import TokenNotFound as TokenNotFound
from acklog.token_errors import TokenOver as TokenOver
from acklog.token_errors import TokenRotating as TokenRotating
from acklog.token_errors import TooManyTokens as TooManyTokens
from acklog.wire.problems import ProblemCode


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


class TokenExpired(Unauthenticated, problem=ProblemCode.TOKEN_EXPIRED):
    """The bearer token has expired."""


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


class TlsRequired(ProblemError, problem=ProblemCode.TLS_REQUIRED):
    """The server is called by https here, and not by http."""


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


class KeyNotFound(ProblemError, problem=ProblemCode.KEY_NOT_FOUND):
    """The key has no value in the topic."""


class MessageExpired(ProblemError, problem=ProblemCode.MESSAGE_EXPIRED):
    """Retention, compaction or a purge has removed the message."""


class ScheduleOver(ProblemError, problem=ProblemCode.SCHEDULE_OVER):
    """The message is not scheduled any more: it was delivered or cancelled."""


class ScheduleNotFound(ProblemError, problem=ProblemCode.SCHEDULE_NOT_FOUND):
    """The topic has no such recurring schedule."""


class ScheduleExists(ProblemError, problem=ProblemCode.SCHEDULE_EXISTS):
    """The recurring schedule exists with other settings."""


class TooManySchedules(ProblemError, problem=ProblemCode.TOO_MANY_SCHEDULES):
    """There are as many recurring schedules as may be."""


class OffsetOutOfRange(ProblemError, problem=ProblemCode.OFFSET_OUT_OF_RANGE):
    """The offset is outside the log."""


class LogDiverged(ProblemError, problem=ProblemCode.LOG_DIVERGED):
    """The log was cut behind what was read of it, and has other messages from there on."""


class TopicExists(ProblemError, problem=ProblemCode.TOPIC_EXISTS):
    """The topic exists with other settings."""


class GroupExists(ProblemError, problem=ProblemCode.GROUP_EXISTS):
    """The group exists with other settings."""


class TopicNotCompacted(ProblemError, problem=ProblemCode.TOPIC_NOT_COMPACTED):
    """The topic keeps more than the last message of each key."""


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


class TooManyChanges(ProblemError, problem=ProblemCode.TOO_MANY_CHANGES):
    """The topic's partitions were changed as often as its keys' order allows."""


class TooManyMembers(ProblemError, problem=ProblemCode.TOO_MANY_MEMBERS):
    """The group has as many members as may be."""


class InvalidFilter(ProblemError, problem=ProblemCode.INVALID_FILTER):
    """The filter cannot be read."""


class InvalidCron(ProblemError, problem=ProblemCode.INVALID_CRON):
    """The cron expression cannot be read, or never comes."""


class WrongGroupMode(ProblemError, problem=ProblemCode.WRONG_GROUP_MODE):
    """The group's mode does not allow this call."""


class MemberUnknown(ProblemError, problem=ProblemCode.MEMBER_UNKNOWN):
    """The group has no such member."""


class MemberExists(ProblemError, problem=ProblemCode.MEMBER_EXISTS):
    """Another process that lives is this member."""


class MemberFenced(ProblemError, problem=ProblemCode.MEMBER_FENCED):
    """The member's partitions are another's by now, or another process is the member."""


class ProducerUnknown(ProblemError, problem=ProblemCode.PRODUCER_UNKNOWN):
    """The topic has no such producer, or no such epoch of it."""


class ProducerFenced(ProblemError, problem=ProblemCode.PRODUCER_FENCED):
    """The producer's name was opened again since: another process has taken over."""


class TooManyProducers(ProblemError, problem=ProblemCode.TOO_MANY_PRODUCERS):
    """There are as many named producers as may be."""


class RedriveNotFound(ProblemError, problem=ProblemCode.REDRIVE_NOT_FOUND):
    """The group has no such redrive job."""


class RedriveUnderWay(ProblemError, problem=ProblemCode.REDRIVE_UNDER_WAY):
    """Another redrive job of the group and the topic is not over yet."""


class TooManyRedrives(ProblemError, problem=ProblemCode.TOO_MANY_REDRIVES):
    """There are as many redrive jobs as may be."""


class PositionMissing(ProblemError, problem=ProblemCode.POSITION_MISSING):
    """The group has no position in the partition, and begins at none by itself."""


class NotBlocked(ProblemError, problem=ProblemCode.NOT_BLOCKED):
    """The message does not wait for a decision."""


class CommitConflict(ProblemError, problem=ProblemCode.COMMIT_CONFLICT):
    """The group is not where the reader takes it to be."""


class NodesTooOld(ProblemError, problem=ProblemCode.NODES_TOO_OLD):
    """A node of the cluster is of a version that does not know this."""


class ReceiptStale(ProblemError, problem=ProblemCode.RECEIPT_STALE):
    """The message was leased again or done, or its group sought, since this receipt."""


class NotDelivered(ProblemError, problem=ProblemCode.NOT_DELIVERED):
    """The message was never delivered to the group."""


class Conflict(ProblemError, problem=ProblemCode.CONFLICT):
    """Someone else changed the same thing at the same time."""


class IdempotencyKeyReused(ProblemError, problem=ProblemCode.IDEMPOTENCY_KEY_REUSED):
    """The key was used with another content."""


class QuotaExceeded(ProblemError, problem=ProblemCode.QUOTA_EXCEEDED):
    """A quota is used up: as much was done as may be per second."""

    @property
    def quota(self) -> str:
        """Its name."""
        return str(self.extra.get("quota", ""))


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


class KeysUnavailable(ProblemError, problem=ProblemCode.KEYS_UNAVAILABLE):
    """The keys of those who sign tokens are not known now."""


class NotEnoughReplicas(ProblemError, problem=ProblemCode.NOT_ENOUGH_REPLICAS):
    """Too few replicas keep up to take what is to be safe on all of them."""


class AuditUnavailable(ProblemError, problem=ProblemCode.AUDIT_UNAVAILABLE):
    """The act cannot be recorded now, and was not done."""


class ShuttingDown(ProblemError, problem=ProblemCode.SHUTTING_DOWN):
    """The server is shutting down."""


class TimedOut(ProblemError, problem=ProblemCode.TIMED_OUT):
    """The request was not done within its deadline."""
