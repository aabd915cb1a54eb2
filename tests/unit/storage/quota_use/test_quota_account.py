"""What one gateway has of one quota: what there is room for, what is asked for, and each bound where it stands."""

import pytest

from cluster.model.quotas import Quota
from storage.quota_use.quota_account import OTHERS, QuotaAccount
from storage.quota_use.quota_ask_settings import QuotaAskSettings
from storage.rpc.quota_messages import QuotaGrant, QuotaWant

SETTINGS = QuotaAskSettings()
QUOTA = Quota("k", "topic/orders/sendMessagesPerSecond", 100)


def account(**changes: int) -> QuotaAccount:
    return QuotaAccount(QUOTA, QuotaAskSettings(**changes))


def granted(units: float, *, per_second: float = 0.0, now_ms: int = 0) -> QuotaAccount:
    made = account()
    made.want("a", units, now_ms)
    made.wants()
    made.granted([QuotaGrant("a", units, per_second)], now_ms)
    return made


@pytest.mark.parametrize(("units", "has_room"), [(0.999, False), (1 - 1e-10, True), (1.0, True)])
def test_there_is_room_from_one_unit_on(units: float, has_room: bool) -> None:
    assert granted(units).has_room("a", 0) is has_room


def test_what_is_taken_too_much_is_paid_back_first() -> None:
    made = granted(1.0)
    made.take("a", 50, 0)
    made.want("a", 1, 0)
    assert made.wants() == [QuotaWant("a", 50.0)]
    made.granted([QuotaGrant("a", 49.9, 100)], 0)
    assert not made.has_room("a", 0)
    assert made.is_used_up("a", 0)


def test_who_waits_asks_for_a_unit_at_least() -> None:
    made = account()
    made.want("a", 1, 0)
    assert made.wants() == [QuotaWant("a", 1.0)]
    assert made.wants() == [QuotaWant("a", 0.0)]
    made.insist("a", 0)
    assert made.wants() == [QuotaWant("a", 1.0)]


def test_what_nobody_answered_is_asked_for_again_and_not_twice() -> None:
    made = account()
    made.want("a", 7, 0)
    made.wants()
    for _ in range(3):
        made.unanswered()
        assert made.wants() == [QuotaWant("a", 7.0)]
    made.granted([QuotaGrant("a", 7.0, 100)], 0)
    assert made.wants() == [QuotaWant("a", 0.0)]


@pytest.mark.parametrize(
    ("per_second", "wait_ms"),
    [(0.0, SETTINGS.retry_after_ms_max), (1000 / 60_000, 60_000), (2.0, 500), (1_000.0, SETTINGS.retry_after_ms_min)],
)
def test_when_to_come_back_goes_by_the_pace_of_late(per_second: float, wait_ms: int) -> None:
    assert granted(0.0, per_second=per_second).turn_in_ms("a", 0) == wait_ms


def test_who_is_refused_gets_a_turn_after_those_before() -> None:
    made = granted(0.0, per_second=5.0)
    assert [made.turn_in_ms("a", 0) for _ in range(4)] == [200, 400, 600, 800]
    assert made.turn_in_ms("a", 800) == 200, "those of before have had their turns"


def test_the_turns_of_the_impatient_hold_others_up_for_a_time_only() -> None:
    made = granted(0.0, per_second=5.0)
    for _ in range(1_000):
        made.turn_in_ms("a", 0)
    assert made.turn_in_ms("a", 0) == 200 + SETTINGS.turns_ms_max


def test_nobody_is_told_to_come_back_later_than_the_limit() -> None:
    made = granted(0.0, per_second=1000 / 59_500)
    assert [made.turn_in_ms("a", 0) for _ in range(2)] == [59_500, SETTINGS.retry_after_ms_max]


@pytest.mark.parametrize(
    ("owed", "wait_ms"),
    [(495, 99_200 + SETTINGS.ask_ms), (5 * 3_600 + 1, SETTINGS.retry_after_owing_ms_max)],
)
def test_who_owes_is_told_when_all_of_it_is_paid_back(owed: int, wait_ms: int) -> None:
    made = granted(0.0, per_second=5.0)
    made.take("a", owed, 0)
    assert made.turn_in_ms("a", 0) == wait_ms


def test_what_is_owed_is_there_a_round_later_than_it_flows_in() -> None:
    made = granted(1.0, per_second=5.0)
    made.take("a", 2.0, 0)
    assert made.turn_in_ms("a", 0) == 400 + SETTINGS.ask_ms


def test_nobody_with_room_waits() -> None:
    assert granted(1.0).turn_in_ms("a", 0) == 0


def test_claimants_beyond_the_bound_share_one_part() -> None:
    made = account(claimants_max=2)
    for number in range(5):
        made.want(f"c{number}", 1, 0)
    assert made.wants() == [QuotaWant("c0", 1.0), QuotaWant("c1", 1.0), QuotaWant(OTHERS, 3.0)]


@pytest.mark.parametrize(("balance", "is_idle"), [(0.0, True), (5.0, True), (-0.5, False)])
def test_who_is_silent_is_forgotten_unless_they_owe(balance: float, is_idle: bool) -> None:
    made = granted(10.0)
    made.take("a", 10 - balance, 0)
    assert not made.is_idle(SETTINGS.claim_idle_ms)
    assert made.is_idle(SETTINGS.claim_idle_ms + 1) is is_idle


def test_alone_it_goes_on_at_the_pace_of_late_and_keeps_a_burst_at_most() -> None:
    made = granted(0.0, per_second=40.0)
    made.go_on_alone(500)
    assert made.room("a", 500) == 20
    made.go_on_alone(60_000)
    assert made.room("a", 60_000) == 40 * SETTINGS.alone_burst_ms // 1000


def test_strangers_share_what_a_gateway_takes_alone() -> None:
    made = account()
    for name in ("a", "b"):
        made.want(name, 1, 0)
    made.go_on_alone(0)
    made.take("a", 1, 0)
    made.take("b", 1, 0)
    made.go_on_alone(1_000)
    share = QUOTA.per_second * SETTINGS.stranger_percent // 100 // 2
    assert (made.room("a", 1_000), made.room("b", 1_000)) == (share, share)
