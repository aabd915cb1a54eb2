import grpc
import pytest

from cluster.etcd.failures import Failure, failure_of, watch_failure_of

Code = grpc.StatusCode


@pytest.mark.parametrize(
    ("code", "message", "failure"),
    [
        (Code.UNAVAILABLE, "etcdserver: no leader", Failure.NO_LEADER),
        (Code.RESOURCE_EXHAUSTED, "etcdserver: too many requests", Failure.BUSY),
        (Code.UNAUTHENTICATED, "etcdserver: invalid auth token", Failure.STALE_TOKEN),
        (Code.INVALID_ARGUMENT, "etcdserver: revision of auth store is old", Failure.STALE_TOKEN),
        (Code.INVALID_ARGUMENT, "etcdserver: user name is empty", Failure.STALE_TOKEN),
        (Code.PERMISSION_DENIED, "etcdserver: permission denied", Failure.DENIED),
        (Code.NOT_FOUND, "etcdserver: requested lease not found", Failure.LEASE_NOT_FOUND),
        (Code.OUT_OF_RANGE, "etcdserver: mvcc: required revision has been compacted", Failure.COMPACTED),
        (Code.INVALID_ARGUMENT, "etcdserver: request is too large", Failure.REFUSED),
    ],
)
def test_what_etcd_says_before_it_does_anything(code: grpc.StatusCode, message: str, failure: Failure) -> None:
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
    assert failure_of(code, message) is Failure.UNKNOWN


@pytest.mark.parametrize(
    ("reason", "failure"),
    [
        ("rpc error: code = PermissionDenied desc = etcdserver: permission denied", Failure.DENIED),
        ("etcdserver: permission denied", Failure.DENIED),
        ("etcdserver: invalid auth token", Failure.STALE_TOKEN),
        ("etcdserver: user name is empty", Failure.STALE_TOKEN),
        ("etcdserver: no leader", Failure.UNKNOWN),
        ("", Failure.UNKNOWN),
    ],
)
def test_why_etcd_cancelled_a_watch(reason: str, failure: Failure) -> None:
    assert watch_failure_of(reason) is failure
