import pytest

from cluster.backoff import Backoff
from cluster.etcd.call_tries import Again
from cluster.etcd.etcd_settings import EtcdSettings
from cluster.etcd.failures import AccessDeniedError, EtcdFailure
from cluster.etcd.watch_resumption import WatchResumption
from cluster.ports.coordination import CoordinationUnavailableError

SETTINGS = EtcdSettings(("etcd:2379",), between_tries=Backoff(first_ms=100, max_ms=400), watch_resume_timeout_ms=1_000)


def resumption(*, has_user: bool = True) -> WatchResumption:
    return WatchResumption(SETTINGS, has_user=has_user, now_ms=0)


def broken(
    watch: WatchResumption, failure: EtcdFailure = EtcdFailure.UNKNOWN, *, now_ms: int = 0, jitter: float = 1.0
) -> Again:
    return watch.broken(failure, "because", now_ms=now_ms, jitter=jitter)


def test_pauses_grow_until_etcd_is_heard_again() -> None:
    watch = resumption()
    assert [broken(watch).delay_ms for _ in range(4)] == [100, 200, 400, 400]
    watch.heard(0)
    assert broken(watch, jitter=0.0) == Again(50)


def test_the_reader_is_told_when_it_takes_too_long() -> None:
    watch = resumption()
    broken(watch, now_ms=899)
    watch.heard(5_000)
    assert broken(watch, now_ms=5_899) == Again(100)
    with pytest.raises(CoordinationUnavailableError):
        broken(watch, now_ms=5_900)


def test_a_denial_is_believed_the_second_time() -> None:
    for failure in (EtcdFailure.DENIED, EtcdFailure.STALE_TOKEN):
        watch = resumption()
        assert broken(watch, failure).needs_login
        with pytest.raises(AccessDeniedError):
            broken(watch, failure)
        watch = resumption()
        broken(watch, failure)
        watch.heard(0)
        assert broken(watch, failure).needs_login, "it was a stale token, and may be one again"


def test_without_a_user_a_denial_is_final() -> None:
    with pytest.raises(AccessDeniedError):
        broken(resumption(has_user=False), EtcdFailure.DENIED)


def test_a_wrong_password_is_final() -> None:
    with pytest.raises(AccessDeniedError):
        broken(resumption(), EtcdFailure.WRONG_PASSWORD)
