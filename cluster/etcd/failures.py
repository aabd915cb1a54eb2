"""What an error of etcd, or of the way there, means for the request that met it.

The question that decides everything is whether a write may have been done (rule R18). etcd refuses some requests before
it proposes them to its members; these are known by their messages, and whatever is not among them may have been done.
"""

from enum import Enum, auto

import grpc

from cluster.ports.coordination import CoordinationError


class AccessDeniedError(CoordinationError):
    """etcd does not let us: a wrong password, or a user without the right. Nothing was changed."""


class Failure(Enum):
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
    "etcdserver: no leader": Failure.NO_LEADER,
    "etcdserver: too many requests": Failure.BUSY,
    "etcdserver: invalid auth token": Failure.STALE_TOKEN,
    "etcdserver: revision of auth store is old": Failure.STALE_TOKEN,
    "etcdserver: user name is empty": Failure.STALE_TOKEN,
    "etcdserver: permission denied": Failure.DENIED,
    "etcdserver: authentication failed, invalid user ID or password": Failure.WRONG_PASSWORD,
    "etcdserver: authentication is not enabled": Failure.AUTHENTICATION_OFF,
    "etcdserver: requested lease not found": Failure.LEASE_NOT_FOUND,
    "etcdserver: lease already exists": Failure.LEASE_EXISTS,
    "etcdserver: mvcc: required revision has been compacted": Failure.COMPACTED,
    "etcdserver: mvcc: required revision is a future revision": Failure.FUTURE_REVISION,
    "etcdserver: too large lease TTL": Failure.REFUSED,
}
_CODES = {
    grpc.StatusCode.UNAUTHENTICATED: Failure.STALE_TOKEN,
    grpc.StatusCode.PERMISSION_DENIED: Failure.DENIED,
    grpc.StatusCode.INVALID_ARGUMENT: Failure.REFUSED,
    grpc.StatusCode.UNIMPLEMENTED: Failure.REFUSED,
}


def failure_of(code: grpc.StatusCode, message: str) -> Failure:
    """A full database is UNKNOWN on purpose: etcd reports it after it has done the write that filled it."""
    known = _MESSAGES.get(message)
    return known if known is not None else _CODES.get(code, Failure.UNKNOWN)


def watch_failure_of(cancel_reason: str) -> Failure:
    """Of a watch that etcd cancelled. Versions wrap the message in texts of their own; 3.4 tells of a stale token as of
    a missing permission."""
    if "permission denied" in cancel_reason.lower() or "PermissionDenied" in cancel_reason:
        return Failure.DENIED
    if "auth" in cancel_reason or "user name is empty" in cancel_reason:
        return Failure.STALE_TOKEN
    return Failure.UNKNOWN
