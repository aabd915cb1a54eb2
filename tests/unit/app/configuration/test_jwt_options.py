"""Whose signed tokens a server takes: what can be said, and what would be dangerous to say."""

import pytest

from app.configuration.gateway_options import GATEWAY
from app.configuration.jwt_options import AUDIENCES_MAX, JWT_ALGORITHMS, JwtOptions
from app.configuration.server_settings import SERVE, Settings
from app.configuration.setting_error import SettingsError
from app.processes.jwt import check_jwt, jwt_of
from tests.support.manual_clock import ManualClock

ISSUER = "https://login.example.org"


def options(**given: object) -> JwtOptions:
    return JwtOptions(**{"jwt_issuer": ISSUER, "jwt_audience": "acklog", **given})  # type: ignore[arg-type]


def test_without_an_issuer_nothing_is_taken_and_nothing_is_loaded() -> None:
    given = JwtOptions()
    assert not given.is_on
    found = jwt_of(Settings(), given, clock=ManualClock(), in_thread=lambda _function: pytest.fail("nothing is read"))
    assert (found.tokens, found.collectors) == (None, ())


def test_lists() -> None:
    given = options(jwt_audience="a, b,,a", jwt_algorithms="RS256 , ES256")
    assert given.audiences == ("a", "b")
    assert given.algorithms == ("RS256", "ES256")
    assert options().algorithms == JWT_ALGORITHMS


@pytest.mark.parametrize("sources", [SERVE, GATEWAY])
def test_every_way_of_saying_it(sources: object) -> None:
    assert sources in (SERVE, GATEWAY)
    environment = {"ACKLOG_JWT_ISSUER": ISSUER, "ACKLOG_JWT_AUDIENCE": "a"}
    loaded = sources.load(environment, ["--jwt-audience", "b", "--jwt-leeway-ms", "0"]).make(JwtOptions)  # type: ignore[attr-defined]
    assert (loaded.jwt_issuer, loaded.audiences, loaded.jwt_leeway_ms) == (ISSUER, ("b",), 0)


@pytest.mark.parametrize("algorithm", ["none", "HS256", "HS384", "HS512", "rs256", "ES256K", "RS256,none", "", " , "])
def test_algorithms_that_nobody_can_ask_for(algorithm: str) -> None:
    with pytest.raises(SettingsError, match="jwt_algorithms"):
        options(jwt_algorithms=algorithm)


@pytest.mark.parametrize(
    "url", [ISSUER, "http://127.0.0.1:8081", "http://localhost", "http://[::1]:1/x", "https://x/y?z=1"]
)
def test_where_keys_may_be(url: str) -> None:
    assert options(jwt_keys_url=url).jwt_keys_url == url


@pytest.mark.parametrize(
    "url",
    [
        *("http://login.example.org", "http://127.0.0.1.example.org", "http://10.0.0.1", "ftp://x", "file:///etc/x"),
        *("https://user:password@login.example.org", "https://x/#y", "https://x:0", "https://[x", "x", "https://"),
    ],
)
def test_where_keys_may_not_be(url: str) -> None:
    with pytest.raises(SettingsError, match="jwt_keys_url"):
        options(jwt_keys_url=url)
    with pytest.raises(SettingsError, match="jwt_issuer"):
        options(jwt_issuer=url)
    assert options(jwt_issuer=url, jwt_keys_url=ISSUER).is_on, "an issuer that is not asked is a name"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"jwt_audience": ""}, "jwt_audience is needed"),
        ({"jwt_audience": ",".join(map(str, range(AUDIENCES_MAX + 1)))}, f"the limit is {AUDIENCES_MAX}"),
        ({"jwt_keys_url": ISSUER, "jwt_keys_file": "keys.json"}, "two places"),
        ({"jwt_keys_file": "keys.json", "jwt_ca_file": "ca.pem"}, "jwt_ca_file means nothing"),
        ({"jwt_name_claim": ""}, "jwt_name_claim"),
        ({"jwt_keys_good_ms": 1000, "jwt_keys_refresh_ms": 1001}, "jwt_keys_good_ms"),
        ({"jwt_leeway_ms": 300_001}, "0 to 300000"),
        ({"jwt_leeway_ms": -1}, "0 to 300000"),
        ({"jwt_token_bytes_max": 65_537}, "256 to 65536"),
        ({"jwt_issuer": "", "jwt_audience": "a"}, "jwt_audience means nothing without jwt_issuer"),
        ({"jwt_issuer": "", "jwt_audience": "", "jwt_keys_file": "a"}, "jwt_keys_file means nothing"),
    ],
)
def test_what_cannot_be(given: dict[str, object], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        options(**given)


def test_limits_that_are_just_allowed() -> None:
    assert len(options(jwt_audience=",".join(map(str, range(AUDIENCES_MAX)))).audiences) == AUDIENCES_MAX
    assert options(jwt_leeway_ms=300_000, jwt_keys_good_ms=300_000).jwt_leeway_ms == 300_000


def test_rules_are_in_a_tokens_file() -> None:
    check_jwt(Settings(tokens_file="tokens.toml"), options())
    check_jwt(Settings(), JwtOptions())
    with pytest.raises(SettingsError, match="tokens_file is needed"):
        check_jwt(Settings(require_tokens=True), options())
