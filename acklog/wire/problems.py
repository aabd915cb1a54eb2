"""The catalogue of errors: every code that a client can see, once. Codes are never reused or renamed.

openapi.yaml and docs are generated from this table, and a test demands that each code is produced somewhere.
"""

from enum import Enum
from typing import NamedTuple


class Problem(NamedTuple):
    """`status` is HTTP's, `retriable` says whether the same request may succeed later, `title` what happened."""

    status: int
    retriable: bool
    title: str


class ProblemCode(Problem, Enum):
    # The request itself
    INVALID_JSON = Problem(400, False, "The body is not valid JSON")
    INVALID_FIELD = Problem(400, False, "A field has the wrong type, form or range")
    UNKNOWN_FIELD = Problem(400, False, "A field is not known")
    MISSING_FIELD = Problem(400, False, "A required field is missing")
    INVALID_NAME = Problem(400, False, "A topic or group name is not allowed")
    INVALID_MESSAGE_ID = Problem(400, False, "The messageId was not made by Acklog")
    INVALID_RECEIPT = Problem(400, False, "The receipt was not made by Acklog")
    INVALID_FILTER = Problem(400, False, "The filter cannot be read")
    INVALID_CRON = Problem(400, False, "The cron expression cannot be read, or never comes")
    UNSUPPORTED = Problem(400, False, "The feature is not supported yet")
    BODY_INCOMPLETE = Problem(400, False, "The request body ended early or could not be unpacked")
    UNAUTHENTICATED = Problem(401, False, "A valid bearer token is required")
    TOKEN_EXPIRED = Problem(401, False, "The bearer token has expired")
    FORBIDDEN = Problem(403, False, "The token does not allow this")
    NOT_FOUND = Problem(404, False, "There is nothing at this path")
    METHOD_NOT_ALLOWED = Problem(405, False, "The path does not take this method")
    NOT_ACCEPTABLE = Problem(406, False, "None of the accepted content types can be made")
    REQUEST_TIMEOUT = Problem(408, True, "The request did not arrive in time")
    REQUEST_TOO_LARGE = Problem(413, False, "The request is larger than the limit")
    MESSAGE_TOO_LARGE = Problem(413, False, "A message is larger than the limit")
    TOO_MANY_MESSAGES = Problem(413, False, "The request has more messages than the limit")
    URI_TOO_LONG = Problem(414, False, "The path and query are longer than the limit")
    UNSUPPORTED_MEDIA_TYPE = Problem(415, False, "The content type or encoding is not supported")
    HEADERS_TOO_LARGE = Problem(431, False, "The headers are larger than the limit")
    MALFORMED_HTTP = Problem(400, False, "What was sent is not HTTP")
    TLS_REQUIRED = Problem(400, False, "The server is called by https here, and not by http")
    HOST_NOT_ALLOWED = Problem(421, False, "The server is not served under this name")
    ORIGIN_NOT_ALLOWED = Problem(403, False, "A web page of another origin may not do this")
    NAMESPACE_MISMATCH = Problem(400, False, "A group and its topics are not of one namespace")
    # What it is about
    NAMESPACE_NOT_FOUND = Problem(404, False, "There is no such namespace")
    NAMESPACE_EXISTS = Problem(409, False, "The namespace exists with other settings")
    NAMESPACE_NOT_EMPTY = Problem(409, False, "The namespace has topics or groups")
    NAMESPACE_FULL = Problem(409, False, "The namespace has as much as its settings allow")
    TOO_MANY_NAMESPACES = Problem(409, False, "There are as many namespaces as may be")
    TOPIC_NOT_FOUND = Problem(404, False, "There is no such topic")
    PARTITION_NOT_FOUND = Problem(404, False, "The topic has no such partition")
    PARTITION_DECOMMISSIONED = Problem(409, False, "The partition takes no new messages any more")
    GROUP_NOT_FOUND = Problem(404, False, "There is no such group")
    MESSAGE_NOT_FOUND = Problem(404, False, "There is no such message")
    KEY_NOT_FOUND = Problem(404, False, "The key has no value in the topic")
    MESSAGE_EXPIRED = Problem(410, False, "Retention, compaction or a purge has removed the message")
    SCHEDULE_OVER = Problem(409, False, "The message is not scheduled any more: it was delivered or cancelled")
    SCHEDULE_NOT_FOUND = Problem(404, False, "The topic has no such recurring schedule")
    TOKEN_NOT_FOUND = Problem(404, False, "There is no such stored token")
    TOKEN_EXISTS = Problem(409, False, "There is a stored token of this name")
    TOKEN_ROTATING = Problem(409, False, "Two secrets of the token are good already")
    TOKEN_OVER = Problem(409, False, "The token has expired, and no secret of it would let anybody in")
    TOO_MANY_TOKENS = Problem(409, False, "There are as many stored tokens as may be")
    SCHEDULE_EXISTS = Problem(409, False, "The recurring schedule exists with other settings")
    TOO_MANY_SCHEDULES = Problem(409, False, "There are as many recurring schedules as may be")
    OFFSET_OUT_OF_RANGE = Problem(416, False, "The offset is outside the log")
    LOG_DIVERGED = Problem(
        409, False, "The log was cut behind what was read of it, and has other messages from there on"
    )
    TOPIC_EXISTS = Problem(409, False, "The topic exists with other settings")
    GROUP_EXISTS = Problem(409, False, "The group exists with other settings")
    DATA_LOSS_NOT_ALLOWED = Problem(409, False, "The change can delete messages, and does not say that it may")
    TOPIC_NOT_RESTORING = Problem(409, False, "No such restore of the topic is under way")
    RESTORE_CONFLICT = Problem(409, False, "The partition does not go on where the restored batches begin")
    TOPIC_NOT_COMPACTED = Problem(409, False, "The topic keeps more than the last message of each key")
    TOO_MANY_TOPICS = Problem(409, False, "There are as many topics as may be made")
    TOO_MANY_GROUPS = Problem(409, False, "There are as many groups as may be made")
    TOO_MANY_MEMBERS = Problem(409, False, "The group has as many members as may be")
    TOO_MANY_CHANGES = Problem(409, False, "The topic's partitions were changed as often as its keys' order allows")
    WRONG_GROUP_MODE = Problem(409, False, "The group's mode does not allow this call")
    MEMBER_UNKNOWN = Problem(404, False, "The group has no such member")
    MEMBER_EXISTS = Problem(409, True, "Another process that lives is this member")
    MEMBER_FENCED = Problem(
        409, False, "The member's partitions are another's by now, or another process is the member"
    )
    PRODUCER_UNKNOWN = Problem(404, False, "The topic has no such producer, or no such epoch of it")
    PRODUCER_FENCED = Problem(409, False, "The producer's name was opened again since: another process has taken over")
    TOO_MANY_PRODUCERS = Problem(409, False, "There are as many named producers as may be")
    REDRIVE_NOT_FOUND = Problem(404, False, "The group has no such redrive job")
    REDRIVE_UNDER_WAY = Problem(409, False, "Another redrive job of the group and the topic is not over yet")
    TOO_MANY_REDRIVES = Problem(409, False, "There are as many redrive jobs as may be")
    POSITION_MISSING = Problem(409, False, "The group has no position in the partition, and begins at none by itself")
    NOT_BLOCKED = Problem(409, False, "The message does not wait for a decision")
    COMMIT_CONFLICT = Problem(409, False, "The group is not where the reader takes it to be")
    NO_MASTER_KEY = Problem(409, False, "The nodes have no master key in common, so nothing can be encrypted")
    NOT_ENCRYPTED = Problem(409, False, "The topic is not encrypted")
    TOO_MANY_DATA_KEYS = Problem(409, False, "The topic's data key was rotated as often as may be")
    NODES_TOO_OLD = Problem(409, False, "A node of the cluster is of a version that does not know this")
    RECEIPT_STALE = Problem(409, False, "The message was leased again or done, or its group sought, since this receipt")
    NOT_DELIVERED = Problem(409, False, "The message was never delivered to the group")
    CLEAN_ELECTION_POSSIBLE = Problem(
        409, False, "The partition has a leader, or a replica in sync that may be elected"
    )
    REPLICA_NOT_ELECTABLE = Problem(409, False, "The replica cannot be elected")
    CONFLICT = Problem(409, True, "Someone else changed the same thing at the same time")
    IDEMPOTENCY_KEY_REUSED = Problem(422, False, "The key was used with another content")
    # The state of the server
    QUOTA_EXCEEDED = Problem(429, True, "A quota is used up: as much was done as may be per second")
    OVERLOADED = Problem(429, True, "The server is busy: its buffers are full")
    DEDUP_WINDOW_FULL = Problem(429, True, "The memory for idempotency keys is full")
    DEDUP_WINDOW_DAMAGED = Problem(503, True, "Idempotency keys of the window cannot be read")
    TOO_MANY_WAITING = Problem(429, True, "Too many requests are waiting for messages")
    TOO_MANY_WATCHERS = Problem(429, True, "Too many streams of events or messages are served")
    TOO_MANY_CONNECTIONS = Problem(503, True, "There are too many connections, or requests on one")
    INTERNAL = Problem(500, True, "The server failed")
    OUTCOME_UNKNOWN = Problem(500, True, "The request may or may not have taken effect")
    STORAGE_FULL = Problem(503, True, "The disk is full")
    STORAGE_FAILED = Problem(503, False, "The disk failed: the node stopped serving it")
    RECORDS_CORRUPT = Problem(503, False, "Stored records are damaged and cannot be served")
    UNAVAILABLE = Problem(503, True, "The partition's leader, or the coordination store, cannot be asked now")
    TOPIC_RESTORING = Problem(503, True, "The topic is being restored from a backup")
    KEYS_UNAVAILABLE = Problem(503, True, "The keys of those who sign tokens are not known now")
    NOT_ENOUGH_REPLICAS = Problem(503, True, "Too few replicas keep up to take what is to be safe on all of them")
    AUDIT_UNAVAILABLE = Problem(503, True, "The act cannot be recorded now, and was not done")
    SHUTTING_DOWN = Problem(503, True, "The server is shutting down")
    TIMED_OUT = Problem(504, True, "The request was not done within its deadline")

    @property
    def problem(self) -> Problem:
        return Problem(*self.value)
