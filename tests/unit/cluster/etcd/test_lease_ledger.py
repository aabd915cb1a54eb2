import pytest

from cluster.etcd.lease_ledger import LeaseLedger
from cluster.ports.coordination import CoordinationUnavailableError, LeaseLostError


def ledger(*, margin_ms: int = 200, leases_max: int = 3) -> LeaseLedger:
    return LeaseLedger(margin_ms=margin_ms, leases_max=leases_max)


def test_a_lease_is_lost_here_a_margin_before_it_can_end_there() -> None:
    """etcd has seen the request at 1,000 at the earliest, so it cannot end the lease before 3,000."""
    leases = ledger()
    leases.renewed(7, asked_at_ms=1_000, ttl_ms=2_000, now_ms=1_400)
    assert leases.left_ms(7, 1_400) == 1_400
    assert leases.left_ms(7, 2_799) == 1
    with pytest.raises(LeaseLostError):
        leases.left_ms(7, 2_800)


def test_what_was_declared_lost_stays_lost() -> None:
    leases = ledger()
    leases.renewed(7, asked_at_ms=0, ttl_ms=2_000, now_ms=0)
    with pytest.raises(LeaseLostError):
        leases.left_ms(7, 5_000)
    with pytest.raises(LeaseLostError):  # etcd, after a pause of its own, renewed it all the same
        leases.renewed(7, asked_at_ms=1_700, ttl_ms=9_000, now_ms=5_000)
    with pytest.raises(LeaseLostError):
        leases.left_ms(7, 5_001)


def test_an_answer_that_comes_too_late_does_not_save_a_lease() -> None:
    leases = ledger()
    leases.renewed(7, asked_at_ms=0, ttl_ms=2_000, now_ms=0)
    with pytest.raises(LeaseLostError):
        leases.renewed(7, asked_at_ms=1_000, ttl_ms=2_000, now_ms=1_800)
    with pytest.raises(LeaseLostError):  # a first answer can be too late for itself
        leases.renewed(8, asked_at_ms=0, ttl_ms=2_000, now_ms=1_800)


def test_answers_out_of_order_do_not_shorten_a_lease() -> None:
    leases = ledger()
    leases.renewed(7, asked_at_ms=500, ttl_ms=2_000, now_ms=600)
    leases.renewed(7, asked_at_ms=100, ttl_ms=2_000, now_ms=700)
    assert leases.left_ms(7, 700) == 1_600


def test_a_short_lease_keeps_half_of_its_time() -> None:
    leases = ledger(margin_ms=5_000)
    leases.renewed(7, asked_at_ms=0, ttl_ms=1_000, now_ms=0)
    assert leases.left_ms(7, 0) == 500


def test_a_lease_of_somebody_else_has_no_known_end() -> None:
    assert ledger().left_ms(7, 0) is None


def test_no_more_leases_than_the_limit_but_ended_ones_make_room() -> None:
    leases = ledger(leases_max=2)
    leases.renewed(1, asked_at_ms=0, ttl_ms=1_000, now_ms=0)
    leases.renewed(2, asked_at_ms=0, ttl_ms=9_000, now_ms=0)
    with pytest.raises(CoordinationUnavailableError):
        leases.check_room(799)
    leases.check_room(800)
    leases.renewed(3, asked_at_ms=800, ttl_ms=9_000, now_ms=800)
    leases.lost(2)
    leases.check_room(800)


def test_the_lost_ones_are_remembered_up_to_the_limit() -> None:
    leases = ledger(leases_max=2)
    for lease_id in (1, 2, 3):
        leases.lost(lease_id)
    assert leases.left_ms(1, 0) is None
    for lease_id in (2, 3):
        with pytest.raises(LeaseLostError):
            leases.left_ms(lease_id, 0)
