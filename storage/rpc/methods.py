"""The calls on the wire: their numbers, types, and which field travels as the frame's attachment."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from storage.replication.messages import FetchAnswer, FetchRequest, SnapshotAnswer, SnapshotRequest
from storage.rpc import (
    compaction_messages,
    copy_messages,
    deletion_messages,
    inspect_messages,
    membership_messages,
    messages,
    quota_messages,
    schedule_messages,
    table_messages,
)
from storage.rpc.framing import Buffer
from storage.rpc.handshake import OLDEST_VERSION, Hello, Welcome
from storage.rpc.known_filters import of_known_filters
from storage.rpc.known_logs import fetch_of_known_logs
from storage.rpc.peer_api import ProbeAnswer, ProbeRequest

_Request = TypeVar("_Request", bound=msgspec.Struct)
_Response = TypeVar("_Response", bound=msgspec.Struct)

_encode = msgspec.msgpack.Encoder().encode


class MalformedMessageError(ValueError):
    """A body that is not the message it should be: the peer runs another version, or is broken."""


class _Codec(Generic[_Request]):
    """One message type. The field `attachment`, a byte string, travels beside the body."""

    def __init__(self, kind: type[_Request], attachment: str | None = None) -> None:
        self._decoder = msgspec.msgpack.Decoder(kind)
        self._kind = kind
        self._attachment = attachment
        types = {field.name: field.type for field in msgspec.structs.fields(kind)}
        self._attachment_type = types[attachment] if attachment is not None else bytes  # bytes or bytearray

    def encode(self, message: _Request) -> tuple[bytes, Buffer]:
        if self._attachment is None:
            return _encode(message), b""
        attachment: Buffer = getattr(message, self._attachment)
        return _encode(msgspec.structs.replace(message, **{self._attachment: b""})), attachment

    def decode(self, body: memoryview, attachment: memoryview) -> _Request:
        """Raises MalformedMessageError. The message keeps nothing of the views."""
        try:
            message = self._decoder.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise MalformedMessageError(f"{self._kind.__name__}: {error}") from error
        if self._attachment is not None:
            setattr(message, self._attachment, self._attachment_type(attachment))
        elif attachment:
            raise MalformedMessageError(f"{self._kind.__name__} has no attachment")
        return message


class Method(Generic[_Request, _Response]):
    """`number` never changes. `name` is that of the interface. `since` is the version of the protocol that brought the
    call: on a connection of an earlier one it is not made. `fitted` leaves out of a request what a connection's version
    does not know. `changes_something` tells of a request whether it may leave
    anything behind: then nobody knows what became of one that was given up on the way."""

    def __init__(
        self,
        number: int,
        name: str,
        request: type[_Request],
        response: type[_Response],
        *,
        request_attachment: str | None = None,
        response_attachment: str | None = None,
        since: int = OLDEST_VERSION,
        fitted: Callable[[_Request, int], _Request] = lambda request, _version: request,
        changes_something: Callable[[_Request], bool] = lambda _request: False,
    ) -> None:
        self.number = number
        self.changes_something = changes_something
        self.since = since
        self.fitted = fitted
        self.name = name
        self.request = _Codec(request, request_attachment)
        self.response = _Codec(response, response_attachment)


PRODUCE = Method(
    1,
    "produce",
    messages.ProduceRequest,
    messages.ProduceResponse,
    request_attachment="batch",
    changes_something=lambda _request: True,
)
# A lease that nobody hears of ends by itself; what was acknowledged with the delivery is not delivered again.
RECEIVE = Method(
    2,
    "receive",
    messages.ReceiveRequest,
    messages.ReceiveResponse,
    changes_something=lambda request: request.auto_ack,
    fitted=of_known_filters,
)
SETTLE = Method(3, "settle", messages.SettleRequest, messages.SettleResponse, changes_something=lambda _request: True)
INSPECT = Method(4, "inspect", inspect_messages.InspectRequest, inspect_messages.InspectResponse)
RECORDS = Method(
    5,
    "records",
    messages.RecordsRequest,
    messages.RecordsResponse,
    response_attachment="batches",
    fitted=of_known_filters,
)
POSITIONS = Method(6, "positions", messages.PositionsRequest, messages.PositionsResponse)
SEEK = Method(
    7, "seek", messages.SeekRequest, messages.SeekResponse, changes_something=lambda request: not request.dry_run
)
KNOWN_KEYS = Method(8, "known_keys", messages.KnownKeysRequest, messages.KnownKeysResponse, since=2)
REPLICA_REPORT = Method(9, "replica_report", messages.ReplicaReportRequest, messages.ReplicaReportResponse, since=3)
# A member that joined and never heard of it goes when its session is over.
HEARTBEAT = Method(
    10,
    "heartbeat",
    membership_messages.HeartbeatRequest,
    membership_messages.HeartbeatResponse,
    since=4,
    changes_something=lambda request: request.member_epoch <= membership_messages.JOIN,
)
MEMBERS = Method(11, "members", membership_messages.MembersRequest, membership_messages.MembersResponse, since=4)
COMMIT = Method(
    12, "commit", messages.CommitRequest, messages.CommitResponse, since=4, changes_something=lambda _request: True
)
BLOCKED = Method(
    13,
    "blocked",
    messages.BlockedRequest,
    messages.BlockedResponse,
    since=4,
    changes_something=lambda request: request.action != "list",
)
SCHEDULE = Method(
    14,
    "schedule",
    messages.ProduceRequest,
    messages.ProduceResponse,
    request_attachment="batch",
    since=5,
    changes_something=lambda _request: True,
)
SCHEDULED = Method(
    15,
    "scheduled",
    schedule_messages.ScheduledRequest,
    schedule_messages.ScheduledResponse,
    since=5,
    changes_something=lambda request: request.action != "look",
)
SCHEDULED_LIST = Method(
    16, "scheduled_list", schedule_messages.ScheduledListRequest, schedule_messages.ScheduledListResponse, since=5
)
DELETE = Method(
    17,
    "delete",
    deletion_messages.DeleteRequest,
    deletion_messages.DeleteResponse,
    since=5,
    changes_something=lambda request: not request.dry_run,
)
QUOTA_SHARES = Method(
    18, "quota_shares", quota_messages.QuotaSharesRequest, quota_messages.QuotaSharesResponse, since=6
)
# Who asks again asks for the same.
COMPACT = Method(19, "compact", compaction_messages.CompactRequest, compaction_messages.CompactResponse, since=7)
LATEST = Method(20, "latest", table_messages.LatestRequest, table_messages.LatestResponse, since=7)
# Who asks again under the same number changes nothing.
ADOPT = Method(
    21,
    "adopt",
    schedule_messages.AdoptRequest,
    schedule_messages.AdoptResponse,
    request_attachment="batch",
    since=8,
    changes_something=lambda _request: True,
)

# What is restored already is left out when it is asked for again.
COPY = Method(
    22,
    "copy",
    copy_messages.CopyRequest,
    copy_messages.CopyResponse,
    request_attachment="content",
    response_attachment="state",
    since=11,
    changes_something=lambda request: request.action != copy_messages.STATE,
)

NODE_METHODS: dict[int, Method[Any, Any]] = {
    method.number: method
    for method in (
        PRODUCE,
        RECEIVE,
        SETTLE,
        INSPECT,
        RECORDS,
        POSITIONS,
        SEEK,
        KNOWN_KEYS,
        REPLICA_REPORT,
        HEARTBEAT,
        MEMBERS,
        COMMIT,
        BLOCKED,
        SCHEDULE,
        SCHEDULED,
        SCHEDULED_LIST,
        DELETE,
        QUOTA_SHARES,
        COMPACT,
        LATEST,
        ADOPT,
        COPY,
    )
}
"""NodeApi's."""

FETCH = Method(32, "fetch", FetchRequest, FetchAnswer, response_attachment="batches", fitted=fetch_of_known_logs)
SNAPSHOT = Method(33, "snapshot", SnapshotRequest, SnapshotAnswer, response_attachment="snapshot")
PROBE = Method(34, "probe", ProbeRequest, ProbeAnswer)

PEER_METHODS: dict[int, Method[Any, Any]] = {method.number: method for method in (FETCH, SNAPSHOT, PROBE)}
"""PeerApi's."""

HELLO = Method(255, "hello", Hello, Welcome)
"""The first request of every connection, and of none but the connection itself."""

FAILURE = _Codec(messages.Failure)
