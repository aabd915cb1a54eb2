"""What a signed token has to say, and when it is good: to the millisecond."""

import pytest

from app.jwt.expected_claims import SUBJECT_LENGTH_MAX, Bearer, ExpectedClaims
from app.jwt.jwt_refused import JwtRefusal, JwtRefusedError

NOW_S = 1_700_000_000
NOW_MS = NOW_S * 1000
LEEWAY_MS = 30_000
EXPECTED = ExpectedClaims(issuer="https://i", audiences=("a", "b"), name_claim="sub", leeway_ms=LEEWAY_MS)
GOOD: dict[str, object] = {"iss": "https://i", "aud": "a", "sub": "alice", "exp": NOW_S + 60}


def refusal_of(now_ms: int = NOW_MS, **changes: object) -> JwtRefusal:
    claims = {name: value for name, value in {**GOOD, **changes}.items() if value != "left out"}
    with pytest.raises(JwtRefusedError) as refused:
        EXPECTED.check(claims, now_ms)
    assert refused.value.told, "who has a token of the issuer's is told what is wrong with it"
    return refused.value.reason


def test_whose_it_is_and_until_when() -> None:
    assert EXPECTED.check(GOOD, NOW_MS) == Bearer("alice", NOW_MS + 60_000 + LEEWAY_MS)
    assert EXPECTED.check({**GOOD, "exp": NOW_S + 0.5}, NOW_MS).expires_at_ms == NOW_MS + 500 + LEEWAY_MS


@pytest.mark.parametrize("audience", ["a", "b", ["x", "b"], ["a", 5]])
def test_audiences(audience: object) -> None:
    assert EXPECTED.check({**GOOD, "aud": audience}, NOW_MS)


@pytest.mark.parametrize("audience", ["left out", "x", "A", "ab", "", [], ["x"], [["a"]], {"a": 1}, 5, None, True])
def test_other_audiences(audience: object) -> None:
    assert refusal_of(aud=audience) is JwtRefusal.AUDIENCE


@pytest.mark.parametrize("issuer", ["left out", "https://j", "https://i/", "HTTPS://i", "", ["https://i"], None, 5])
def test_other_issuers(issuer: object) -> None:
    assert refusal_of(iss=issuer) is JwtRefusal.ISSUER


def test_it_ends_with_the_leeway() -> None:
    last_ms = NOW_MS + 60_000 + LEEWAY_MS - 1
    assert EXPECTED.check(GOOD, last_ms)
    assert refusal_of(last_ms + 1) is JwtRefusal.EXPIRED


@pytest.mark.parametrize("name", ["nbf", "iat"])
def test_it_begins_with_the_leeway(name: str) -> None:
    begin = {name: NOW_S + 30}
    assert EXPECTED.check({**GOOD, **begin}, NOW_MS)
    assert refusal_of(NOW_MS - 1, **begin) is JwtRefusal.NOT_YET_VALID


@pytest.mark.parametrize(
    "time", ["1700000060", True, [], {}, float("inf"), float("nan"), -1, 10**400, 1e300, 253_402_300_800]
)
def test_what_is_no_time(time: object) -> None:
    for name in ("exp", "nbf", "iat"):
        assert refusal_of(**{name: time}) is JwtRefusal.CLAIMS


@pytest.mark.parametrize("end", ["left out", None])
def test_one_without_an_end(end: object) -> None:
    assert refusal_of(exp=end) is JwtRefusal.CLAIMS


@pytest.mark.parametrize("name", ["left out", "", 5, None, ["alice"], "a\nb", "a\x00", "x" * (SUBJECT_LENGTH_MAX + 1)])
def test_what_is_no_name(name: object) -> None:
    assert refusal_of(sub=name) is JwtRefusal.CLAIMS


def test_the_longest_name_and_another_claim_for_it() -> None:
    longest = "x" * SUBJECT_LENGTH_MAX
    assert EXPECTED.check({**GOOD, "sub": longest}, NOW_MS).name == longest
    by_client = ExpectedClaims(issuer="https://i", audiences=("a",), name_claim="client_id", leeway_ms=0)
    assert by_client.check({**GOOD, "client_id": "shop", "sub": None}, NOW_MS).name == "shop"
