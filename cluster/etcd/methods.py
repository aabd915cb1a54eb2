"""The calls of etcd's API that Acklog makes: their paths and the types of their messages."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from google.protobuf.message import Message

from cluster.etcd import acklog_etcd_pb2 as messages

RequestType = TypeVar("RequestType", bound=Message)
AnswerType = TypeVar("AnswerType", bound=Message)


@dataclass(frozen=True, slots=True)
class Method(Generic[RequestType, AnswerType]):
    """`streams`: requests and answers come in streams; a call takes the first answer to one request."""

    path: str
    request: type[RequestType]
    answer: type[AnswerType]
    streams: bool = False


RANGE = Method("/etcdserverpb.KV/Range", messages.RangeRequest, messages.RangeResponse)
TXN = Method("/etcdserverpb.KV/Txn", messages.TxnRequest, messages.TxnResponse)
COMPACT = Method("/etcdserverpb.KV/Compact", messages.CompactionRequest, messages.CompactionResponse)
WATCH = Method("/etcdserverpb.Watch/Watch", messages.WatchRequest, messages.WatchResponse, streams=True)
LEASE_GRANT = Method("/etcdserverpb.Lease/LeaseGrant", messages.LeaseGrantRequest, messages.LeaseGrantResponse)
LEASE_REVOKE = Method("/etcdserverpb.Lease/LeaseRevoke", messages.LeaseRevokeRequest, messages.LeaseRevokeResponse)
LEASE_KEEP_ALIVE = Method(
    "/etcdserverpb.Lease/LeaseKeepAlive",
    messages.LeaseKeepAliveRequest,
    messages.LeaseKeepAliveResponse,
    streams=True,
)
AUTHENTICATE = Method("/etcdserverpb.Auth/Authenticate", messages.AuthenticateRequest, messages.AuthenticateResponse)
