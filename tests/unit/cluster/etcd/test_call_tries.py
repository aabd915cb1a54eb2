import pytest

from cluster.backoff import Backoff
from cluster.etcd.call_tries import Again, CallKind, CallTries, RefusedError
from cluster.etcd.etcd_settings import EtcdSettings
from cluster.etcd.failures import AccessDeniedError, EtcdFailure
from cluster.ports.coordination import CoordinationUnavailableError, OutcomeUnknownError

SETTINGS = EtcdSettings(
    ("etcd:2379",),
    request_timeout_ms=5_000,
    try_timeout_ms=2_000,
    tries_max=4,
    logins_max=2,
    between_tries=Backoff(first_ms=100, max_ms=400),
)


def tries(kind: CallKind, *, timeout_ms: int | None = None) -> CallTries:
    return CallTries(SETTINGS, kind, started_ms=1_000, timeout_ms=timeout_ms)


def fail(call: CallTries, failure: EtcdFailure, *, now_ms: int = 1_000, jitter: float = 0.0) -> Again:
    return call.failed(failure, "because", now_ms=now_ms, jitter=jitter)


@pytest.mark.parametrize("failure", [EtcdFailure.NOT_CONNECTED, EtcdFailure.NO_LEADER, EtcdFailure.BUSY])
@pytest.mark.parametrize("kind", list(CallKind))
def test_what_was_refused_without_doing_is_tried_again(failure: EtcdFailure, kind: CallKind) -> None:
    call = tries(kind)
    assert fail(call, failure) == Again(50)
    assert fail(call, failure, jitter=0.5) == Again(150)
    assert fail(call, failure) == Again(200)
    with pytest.raises(CoordinationUnavailableError):  # the fourth and last
        fail(call, failure)


def test_a_write_without_an_answer_is_never_tried_again() -> None:
    with pytest.raises(OutcomeUnknownError):
        fail(tries(CallKind.WRITE), EtcdFailure.UNKNOWN)


def test_a_write_that_was_refused_first_is_unknown_only_for_its_last_try() -> None:
    call = tries(CallKind.WRITE)
    fail(call, EtcdFailure.NO_LEADER)
    with pytest.raises(OutcomeUnknownError):
        fail(call, EtcdFailure.UNKNOWN)


def test_a_read_without_an_answer_is_tried_again_and_then_unavailable() -> None:
    call = tries(CallKind.READ)
    for _ in range(3):
        fail(call, EtcdFailure.UNKNOWN)
    with pytest.raises(CoordinationUnavailableError):
        fail(call, EtcdFailure.UNKNOWN)


@pytest.mark.parametrize("last", [EtcdFailure.UNKNOWN, EtcdFailure.NOT_CONNECTED, EtcdFailure.DENIED])
def test_a_repeatable_write_that_may_have_been_done_stays_unknown(last: EtcdFailure) -> None:
    call = tries(CallKind.REPEATABLE)
    for _ in range(3):
        fail(call, EtcdFailure.UNKNOWN)
    with pytest.raises(OutcomeUnknownError):
        fail(call, last)


def test_a_refusal_says_whether_an_earlier_try_may_have_been_done() -> None:
    call = tries(CallKind.REPEATABLE)
    with pytest.raises(RefusedError) as caught:
        fail(tries(CallKind.REPEATABLE), EtcdFailure.LEASE_EXISTS)
    assert (caught.value.failure, caught.value.maybe_done) == (EtcdFailure.LEASE_EXISTS, False)
    fail(call, EtcdFailure.UNKNOWN)
    with pytest.raises(RefusedError) as caught:
        fail(call, EtcdFailure.LEASE_EXISTS)
    assert caught.value.maybe_done


def test_a_denial_is_told_at_once() -> None:
    for failure in (EtcdFailure.DENIED, EtcdFailure.WRONG_PASSWORD):
        with pytest.raises(AccessDeniedError):
            fail(tries(CallKind.WRITE), failure)


def test_a_stale_token_is_renewed_without_delay_and_not_for_ever() -> None:
    call = tries(CallKind.WRITE)
    assert fail(call, EtcdFailure.STALE_TOKEN) == Again(0, needs_login=True)
    assert fail(call, EtcdFailure.STALE_TOKEN) == Again(0, needs_login=True)
    with pytest.raises(AccessDeniedError):
        fail(call, EtcdFailure.STALE_TOKEN)
    call = tries(CallKind.REPEATABLE)
    fail(call, EtcdFailure.UNKNOWN)
    fail(call, EtcdFailure.STALE_TOKEN)
    fail(call, EtcdFailure.STALE_TOKEN)
    with pytest.raises(OutcomeUnknownError):
        fail(call, EtcdFailure.STALE_TOKEN)


def test_no_try_begins_behind_the_deadline() -> None:
    call = tries(CallKind.READ)
    assert fail(call, EtcdFailure.UNKNOWN, now_ms=5_949) == Again(50)
    call = tries(CallKind.READ)
    with pytest.raises(CoordinationUnavailableError):
        fail(call, EtcdFailure.UNKNOWN, now_ms=5_950)
    with pytest.raises(CoordinationUnavailableError):
        fail(tries(CallKind.READ, timeout_ms=40), EtcdFailure.UNKNOWN)


def test_how_long_a_try_waits() -> None:
    assert tries(CallKind.WRITE).timeout_ms(1_500) == 4_500, "nobody may ask again for a write"
    assert tries(CallKind.READ).timeout_ms(1_500) == 2_000
    assert tries(CallKind.REPEATABLE).timeout_ms(5_500) == 500
    assert tries(CallKind.READ).timeout_ms(9_000) == 0
