import grpc
import pytest

from cluster.etcd.failures import EtcdFailure, failure_of, watch_failure_of

Code = grpc.StatusCode


@pytest.mark.parametrize(
    ("code", "message", "failure"),
    [
        (Code.UNAVAILABLE, "etcdserver: no leader", EtcdFailure.NO_LEADER),
        (Code.RESOURCE_EXHAUSTED, "etcdserver: too many requests", EtcdFailure.BUSY),
        (Code.UNAUTHENTICATED, "etcdserver: invalid auth token", EtcdFailure.STALE_TOKEN),
        (Code.INVALID_ARGUMENT, "etcdserver: revision of auth store is old", EtcdFailure.STALE_TOKEN),
        (Code.INVALID_ARGUMENT, "etcdserver: user name is empty", EtcdFailure.STALE_TOKEN),
        (Code.PERMISSION_DENIED, "etcdserver: permission denied", EtcdFailure.DENIED),
        (Code.NOT_FOUND, "etcdserver: requested lease not found", EtcdFailure.LEASE_NOT_FOUND),
        (Code.OUT_OF_RANGE, "etcdserver: mvcc: required revision has been compacted", EtcdFailure.COMPACTED),
        (Code.INVALID_ARGUMENT, "etcdserver: request is too large", EtcdFailure.REFUSED),
    ],
)
def test_what_etcd_says_before_it_does_anything(code: grpc.StatusCode, message: str, failure: EtcdFailure) -> None:
    assert failure_of(code, message) is failure


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (Code.UNAVAILABLE, "Socket closed"),
        (Code.UNAVAILABLE, "etcdserver: request timed out"),
        (Code.UNAVAILABLE, "etcdserver: request timed out, possibly due to previous leader failure"),
        (Code.UNAVAILABLE, "etcdserver: leader changed"),
        (Code.UNAVAILABLE, "etcdserver: server stopped"),
        (Code.DEADLINE_EXCEEDED, "Deadline Exceeded"),
        (Code.CANCELLED, "etcdserver: request cancelled"),
        (Code.INTERNAL, "Received RST_STREAM with error code 2"),
        (Code.UNKNOWN, ""),
        (Code.RESOURCE_EXHAUSTED, "etcdserver: mvcc: database space exceeded"),
        (Code.DATA_LOSS, "etcdserver: corrupt cluster"),
    ],
)
def test_whatever_else_happens_the_write_may_have_been_done(code: grpc.StatusCode, message: str) -> None:
    assert failure_of(code, message) is EtcdFailure.UNKNOWN


@pytest.mark.parametrize(
    ("reason", "failure"),
    [
        ("rpc error: code = PermissionDenied desc = etcdserver: permission denied", EtcdFailure.DENIED),
        ("etcdserver: permission denied", EtcdFailure.DENIED),
        ("etcdserver: invalid auth token", EtcdFailure.STALE_TOKEN),
        ("etcdserver: user name is empty", EtcdFailure.STALE_TOKEN),
        ("etcdserver: no leader", EtcdFailure.UNKNOWN),
        ("", EtcdFailure.UNKNOWN),
    ],
)
def test_why_etcd_cancelled_a_watch(reason: str, failure: EtcdFailure) -> None:
    assert watch_failure_of(reason) is failure
