"""The calls of etcd's API that Acklog makes: their paths and the types of their messages."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from google.protobuf.message import Message

from cluster.etcd import acklog_etcd_pb2 as messages

RequestType = TypeVar("RequestType", bound=Message)
AnswerType = TypeVar("AnswerType", bound=Message)


@dataclass(frozen=True, slots=True)
class EtcdMethod(Generic[RequestType, AnswerType]):
    """`streams`: requests and answers come in streams; a call takes the first answer to one request."""

    path: str
    request: type[RequestType]
    answer: type[AnswerType]
    streams: bool = False

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


RANGE = EtcdMethod("/etcdserverpb.KV/Range", messages.RangeRequest, messages.RangeResponse)
TXN = EtcdMethod("/etcdserverpb.KV/Txn", messages.TxnRequest, messages.TxnResponse)
COMPACT = EtcdMethod("/etcdserverpb.KV/Compact", messages.CompactionRequest, messages.CompactionResponse)
WATCH = EtcdMethod("/etcdserverpb.Watch/Watch", messages.WatchRequest, messages.WatchResponse, streams=True)
LEASE_GRANT = EtcdMethod("/etcdserverpb.Lease/LeaseGrant", messages.LeaseGrantRequest, messages.LeaseGrantResponse)
LEASE_REVOKE = EtcdMethod("/etcdserverpb.Lease/LeaseRevoke", messages.LeaseRevokeRequest, messages.LeaseRevokeResponse)
LEASE_KEEP_ALIVE = EtcdMethod(
    "/etcdserverpb.Lease/LeaseKeepAlive",
    messages.LeaseKeepAliveRequest,
    messages.LeaseKeepAliveResponse,
    streams=True,
)
AUTHENTICATE = EtcdMethod(
    "/etcdserverpb.Auth/Authenticate", messages.AuthenticateRequest, messages.AuthenticateResponse
)
