"""What an error of etcd, or of the way there, means for the request that met it.

The question that decides everything is whether a write may have been done (rule R18). etcd refuses some requests before
it proposes them to its members; these are known by their messages, and whatever is not among them may have been done.
"""

from enum import Enum, auto

import grpc

from cluster.ports.coordination import CoordinationError


class AccessDeniedError(CoordinationError):
    """etcd does not let us: a wrong password, or a user without the right. Nothing was changed."""


class EtcdFailure(Enum):
    NOT_CONNECTED = auto()  # nothing was sent
    NO_LEADER = auto()  # the member has no leader; `hasleader` makes it refuse before it does anything
    BUSY = auto()  # too many proposals wait already
    STALE_TOKEN = auto()  # log in again
    DENIED = auto()
    WRONG_PASSWORD = auto()
    AUTHENTICATION_OFF = auto()
    LEASE_NOT_FOUND = auto()
    LEASE_EXISTS = auto()
    COMPACTED = auto()
    FUTURE_REVISION = auto()
    REFUSED = auto()  # as malformed or too large, before anything was done
    UNKNOWN = auto()  # it may have been done, or may be done later


# By etcd's own messages, which are part of its API (api/v3rpc/rpctypes): codes alone do not tell enough.
_MESSAGES = {
    "etcdserver: no leader": EtcdFailure.NO_LEADER,
    "etcdserver: too many requests": EtcdFailure.BUSY,
    "etcdserver: invalid auth token": EtcdFailure.STALE_TOKEN,
    "etcdserver: revision of auth store is old": EtcdFailure.STALE_TOKEN,
    "etcdserver: user name is empty": EtcdFailure.STALE_TOKEN,
    "etcdserver: permission denied": EtcdFailure.DENIED,
    "etcdserver: authentication failed, invalid user ID or password": EtcdFailure.WRONG_PASSWORD,
    "etcdserver: authentication is not enabled": EtcdFailure.AUTHENTICATION_OFF,
    "etcdserver: requested lease not found": EtcdFailure.LEASE_NOT_FOUND,
    "etcdserver: lease already exists": EtcdFailure.LEASE_EXISTS,
    "etcdserver: mvcc: required revision has been compacted": EtcdFailure.COMPACTED,
    "etcdserver: mvcc: required revision is a future revision": EtcdFailure.FUTURE_REVISION,
    "etcdserver: too large lease TTL": EtcdFailure.REFUSED,
}
_CODES = {
    grpc.StatusCode.UNAUTHENTICATED: EtcdFailure.STALE_TOKEN,
    grpc.StatusCode.PERMISSION_DENIED: EtcdFailure.DENIED,
    grpc.StatusCode.INVALID_ARGUMENT: EtcdFailure.REFUSED,
    grpc.StatusCode.UNIMPLEMENTED: EtcdFailure.REFUSED,
}


def failure_of(code: grpc.StatusCode, message: str) -> EtcdFailure:
    """A full database is UNKNOWN on purpose: etcd reports it after it has done the write that filled it."""
    known = _MESSAGES.get(message)
    return known if known is not None else _CODES.get(code, EtcdFailure.UNKNOWN)


def watch_failure_of(cancel_reason: str) -> EtcdFailure:
    """Of a watch that etcd cancelled. Versions wrap the message in texts of their own; 3.4 tells of a stale token as of
    a missing permission."""
    if "permission denied" in cancel_reason.lower() or "PermissionDenied" in cancel_reason:
        return EtcdFailure.DENIED
    if "auth" in cancel_reason or "user name is empty" in cancel_reason:
        return EtcdFailure.STALE_TOKEN
    return EtcdFailure.UNKNOWN
