"""Quotas are dealt out as a naive model says: never more than flows in, never less than somebody wants, and evenly."""

from fractions import Fraction
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from storage.quotas.max_min import max_min_shares
from storage.quotas.quota_division import QuotaDivision
from storage.quotas.quota_settings import QuotaSettings
from storage.rpc.quota_messages import QuotaWant

SETTINGS = QuotaSettings()
amounts = st.floats(0, 1e9, allow_nan=False)


def poured(amount: Fraction, wanted: list[Fraction]) -> list[Fraction]:
    """The model: the same for everybody, until somebody has enough; and again with what is left."""
    shares = [Fraction(0)] * len(wanted)
    while amount > 0 and (thirsty := [place for place, want in enumerate(wanted) if shares[place] < want]):
        drop = min(amount / len(thirsty), *(wanted[place] - shares[place] for place in thirsty))
        for place in thirsty:
            shares[place] += drop
        amount -= drop * len(thirsty)
    return shares


@given(amount=st.integers(0, 1000), wanted=st.lists(st.integers(0, 400), max_size=8))
def test_shares_are_those_of_the_model(amount: int, wanted: list[int]) -> None:
    expected = poured(Fraction(amount), [Fraction(each) for each in wanted])
    found = max_min_shares(amount, wanted)
    assert all(abs(share - float(model)) < 1e-6 for share, model in zip(found, expected, strict=True))


class Ask(NamedTuple):
    pause_ms: int
    gateway: int
    claimant: int
    units: int


asks = st.builds(Ask, st.integers(0, 700), st.integers(0, 3), st.integers(0, 3), st.integers(0, 300))


@given(per_second=st.integers(1, 500), sequence=st.lists(asks, max_size=80))
def test_no_more_is_given_than_flows_in(per_second: int, sequence: list[Ask]) -> None:
    division = QuotaDivision(per_second, SETTINGS, 0)
    burst = max(1.0, per_second * SETTINGS.burst_ms / 1000)
    now_ms, given_out = 0, 0.0
    for ask in sequence:
        now_ms += ask.pause_ms
        want = QuotaWant(f"c{ask.claimant}", ask.units)
        [grant] = division.grant(f"g{ask.gateway}", [want], per_second=per_second, now_ms=now_ms)
        division.check_invariants()
        assert 0 <= grant.units <= ask.units
        given_out += grant.units
        assert given_out <= burst + per_second * now_ms / 1000 + 1e-6


@given(
    per_second=st.integers(1, 500), gateways=st.integers(1, 4), burst_first=st.booleans(), step_ms=st.integers(50, 200)
)
def test_what_all_are_told_to_count_on_is_no_more_than_the_quota(
    per_second: int, gateways: int, burst_first: bool, step_ms: int
) -> None:
    """And when all want everything the same for each of them, also after a burst."""
    division = QuotaDivision(per_second, SETTINGS, 0)
    told: dict[str, float] = {}
    for step in range(1 if burst_first else 20, 40):
        for gateway in range(gateways):
            want = QuotaWant("shop", 10.0 * per_second)
            now_ms = step * step_ms + gateway
            [grant] = division.grant(f"g{gateway}", [want], per_second=per_second, now_ms=now_ms)
            told[f"g{gateway}"] = grant.per_second
        if step >= (2 if burst_first else 22):
            assert sum(told.values()) <= per_second * (1 + 1e-9)
            assert max(told.values()) - min(told.values()) <= 1e-6 * per_second


@given(per_second=st.integers(1, 500), idle_ms=st.integers(0, 4_000), gateways=st.integers(1, 4))
def test_no_more_than_one_burst_is_kept_for_who_comes_after_some_time(
    per_second: int, idle_ms: int, gateways: int
) -> None:
    """Also where claims go on being heard of, so that some of it is kept for each and the rest for all."""
    division = QuotaDivision(per_second, SETTINGS, 0)
    names = [f"g{number}" for number in range(gateways)]
    burst = max(1.0, per_second * SETTINGS.burst_ms / 1000)
    for now_ms in range(0, 1_001 + idle_ms, 100):
        wanted = burst if now_ms < 1_000 else 0.0
        for name in names:
            division.grant(name, [QuotaWant("c", wanted)], per_second=per_second, now_ms=now_ms)
    given_out = 0.0
    for _ in range(3):
        for name in names:
            [grant] = division.grant(name, [QuotaWant("c", burst)], per_second=per_second, now_ms=now_ms)
            given_out += grant.units
    assert given_out <= max(burst, gateways) + 1e-6


@settings(deadline=None)
@given(per_second=st.integers(1, 500), gateways=st.integers(1, 4), apart_ms=st.integers(0, 100))
def test_what_they_are_told_to_go_on_with_alone_is_no_more_than_the_quota(
    per_second: int, gateways: int, apart_ms: int
) -> None:
    """From the first answer on, which may hold a burst, and whoever is heard of how late."""
    division = QuotaDivision(per_second, SETTINGS, 0)
    for number in range(20):
        told = 0.0
        for gateway in range(gateways):
            wants = [QuotaWant("c", 10.0 * per_second)]
            now_ms = number * 100 + gateway * apart_ms // gateways
            [grant] = division.grant(f"g{gateway}", wants, per_second=per_second, now_ms=now_ms)
            assert grant.per_second <= per_second * 1.0001
            told += grant.per_second
        assert number == 0 or told <= per_second * 1.1


@settings(deadline=None)
@given(
    per_second=st.integers(10, 500),
    gateways=st.integers(1, 5),
    claimants=st.integers(1, 5),
    ask_ms=st.integers(50, 200),
)
def test_who_wants_all_gets_the_same_as_others_who_do_and_nothing_is_lost(
    per_second: int, gateways: int, claimants: int, ask_ms: int
) -> None:
    """But for what was there at the beginning, which is whoever's comes first."""
    division = QuotaDivision(per_second, SETTINGS, 0)
    given_out: dict[tuple[int, int], float] = {}
    begun = 0.0
    for step in range(20_000 // ask_ms):
        for gateway in range(gateways):
            now_ms = step * ask_ms + gateway * ask_ms // gateways
            wants = [QuotaWant(f"c{number}", 10.0 * per_second) for number in range(claimants)]
            grants = division.grant(f"g{gateway}", wants, per_second=per_second, now_ms=now_ms)
            for number, grant in enumerate(grants):
                if now_ms < SETTINGS.burst_ms:
                    begun += grant.units
                    continue
                given_out[gateway, number] = given_out.get((gateway, number), 0.0) + grant.units
    shared, parts = sum(given_out.values()), gateways * claimants
    total = begun + shared
    # What is poured for who asks next is not given out yet: a reserve, and what flowed in since its last ask.
    kept = max(1.0, per_second * SETTINGS.burst_ms / 1000 / parts) * parts + per_second * ask_ms / 1000
    burst = max(1.0, per_second * SETTINGS.burst_ms / 1000)
    assert 20 * per_second * 0.98 - kept <= total <= 20 * per_second + burst
    fair = shared / parts
    assert all(abs(each - fair) <= 0.1 * fair + 3 for each in given_out.values())


@settings(deadline=None)
@given(per_second=st.integers(50, 500), greedy=st.integers(1, 4))
def test_who_wants_little_gets_all_of_it_beside_greedy_ones(per_second: int, greedy: int) -> None:
    division = QuotaDivision(per_second, SETTINGS, 0)
    modest, wanted = 0.0, 0.0
    for step in range(200):
        now_ms = step * 100
        for number in range(greedy):
            want = QuotaWant(f"greedy-{number}", 10.0 * per_second)
            division.grant("g1", [want], per_second=per_second, now_ms=now_ms)
        if step % 5 == 0:
            need = per_second / (greedy + 1) / 4
            wanted += need
            [grant] = division.grant("g2", [QuotaWant("modest", need)], per_second=per_second, now_ms=now_ms + 50)
            modest += grant.units
    assert modest >= 0.95 * wanted
