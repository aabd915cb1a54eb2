"""Whose a signed token is, over time: keys and rules change, tokens end, and what is remembered is bounded."""

import json
from collections.abc import Callable, Mapping

import pytest
from starlette.requests import Request
from structlog.testing import capture_logs

from acklog.wire.problems import ProblemCode
from app.auth.callers import Callers, Enforced
from app.auth.client_certificate import ClientCertificate
from app.auth.principal import PrincipalKind
from app.auth.refused_caller import RefusedCallerError
from app.auth.stored_tokens import StoredTokens
from app.auth.tokens import TOKEN_BYTES_MAX, TokenTable, parse_token_table
from app.configuration.jwt_options import JWT_ALGORITHMS
from app.http.exchange.caller_standing import CallerStanding
from app.http.exchange.request import RequestHeaders
from app.jwt.expected_claims import ExpectedClaims
from app.jwt.issuer_tokens import RETRY_AFTER_MS, IssuerTokens
from app.jwt.key_set import KeySet, parse_key_set
from app.jwt.refused_jwts import RefusedJwts
from cluster.errors import ServerError
from cluster.line_limit import LineLimitSettings
from cluster.metadata.listeners import Listeners
from cluster.metadata.metadata_view import MetadataView
from cluster.model.action import Action
from cluster.stores.memory_store import MemoryStore
from tests.support.local_issuer import ec_key, encoded, jwk_of, signed_token
from tests.support.manual_clock import FIRST_WALL_MS, ManualClock

NOW_S = FIRST_WALL_MS // 1000
LEEWAY_MS = 30_000
BYTES_MAX = 6_000
CACHED_MAX = 3
STATIC = "a-token-0123456789"
CERTIFICATE = ClientCertificate("acklog://client/billing", FIRST_WALL_MS + 1000)
FILE = {
    "tokens": [{"name": "static", "token": STATIC, "roles": ["viewer"]}],
    "identities": [
        {"name": "t", "claims": {"tenant": "*"}, "roles": ["producer"], "topics": ["{tenant}.*"]},
        {"name": "c", "certificates": ["acklog://client/*"], "roles": ["consumer"], "topics": ["bills"]},
    ],
}


def key_set(**keys: object) -> KeySet:
    entries = [jwk_of(key, key_id) for key_id, key in keys.items()]  # type: ignore[arg-type]
    return parse_key_set(json.dumps({"keys": entries}).encode())


FIRST, SECOND = ec_key(), ec_key()
CLAIMS = {"iss": "https://i", "aud": "acklog", "sub": "alice", "tenant": "acme", "exp": NOW_S + 60}


class GivenKeys:
    """What a watch would know. `waited_for` are the keys that somebody asked about."""

    def __init__(self) -> None:
        self.listeners = Listeners()
        self.known: KeySet | None = key_set(first=FIRST)
        self.wait: int | None = None
        self.waited_for: list[str | None] = []

    def keys(self) -> KeySet | None:
        return self.known

    def change_to(self, keys: KeySet) -> None:
        self.known = keys
        self.listeners.tell()

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        return self.listeners.add(listener)

    def wait_ms(self, key_id: str | None) -> int | None:
        self.waited_for.append(key_id)
        return self.wait


class World:
    """A gateway's callers, and an issuer of signed tokens."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.keys = GivenKeys()
        self.refused = RefusedJwts()
        self.table = table_of(FILE)
        self.tokens = IssuerTokens(
            self.keys,
            ExpectedClaims(issuer="https://i", audiences=("acklog",), name_claim="sub", leeway_ms=LEEWAY_MS),
            algorithms=JWT_ALGORITHMS,
            token_bytes_max=BYTES_MAX,
            cached_max=CACHED_MAX,
            refused=self.refused,
        )
        stored = StoredTokens(MetadataView(MemoryStore(self.clock), self.clock))
        self.callers = Callers(self.table, stored, clock=self.clock, enforcement=Enforced(), signed=self.tokens)

    def refusal_of(self, token: str, certificate: ClientCertificate | None = None) -> ServerError:
        with pytest.raises(ServerError) as refused:
            self.callers.of(f"Bearer {token}", certificate)
        return refused.value

    def counted(self) -> dict[str, float]:
        return {sample.labels["reason"]: sample.value for family in self.refused.collect() for sample in family.samples}


def table_of(file: Mapping[str, object]) -> TokenTable:
    return parse_token_table(json.dumps(file).encode())


def token(**changes: object) -> str:
    return signed_token({**CLAIMS, **changes}, FIRST, "first")


@pytest.fixture
def world() -> World:
    return World()


async def test_a_signed_token_is_a_caller_of_its_own(world: World) -> None:
    who = world.callers.of(f"Bearer {token()}")
    assert who.name == "jwt:alice"
    assert who.may_on_topic(Action.SEND, "acme.orders")
    assert not who.knows_topic("other.orders")
    assert world.callers.of(f"bearer {token()}") == who, "as often as it is shown, until it ends"
    assert world.callers.of(f"Bearer {STATIC}").name == "static"


async def test_one_that_no_rule_is_for_may_do_nothing(world: World) -> None:
    who = world.callers.of(f"Bearer {token(tenant=None)}")
    assert who.name == "jwt:alice"
    assert not who.rights.rights


async def test_it_ends_although_it_is_remembered(world: World) -> None:
    shown = token()
    assert world.callers.of(f"Bearer {shown}")
    await world.clock.advance_ms(60_000 + LEEWAY_MS - 1)
    assert world.callers.of(f"Bearer {shown}")
    await world.clock.advance_ms(1)
    assert world.refusal_of(shown).code is ProblemCode.TOKEN_EXPIRED
    assert world.refusal_of(token(jti="another")).code is ProblemCode.TOKEN_EXPIRED


async def test_a_key_that_is_gone_and_rules_that_are_others_count_at_once(world: World) -> None:
    shown = token()
    before = world.callers.of(f"Bearer {shown}")
    assert world.callers.of(f"Bearer {shown}") is before, "it is remembered"
    world.table.adopt(table_of({"tokens": []}))
    assert not world.callers.of(f"Bearer {shown}").rights.rights
    world.keys.known = key_set(second=SECOND)
    assert world.refusal_of(shown).code is ProblemCode.UNAUTHENTICATED
    world.keys.known = key_set(first=FIRST, second=SECOND)
    assert world.callers.of(f"Bearer {shown}").name == "jwt:alice"


async def test_a_request_that_waits_ends_when_the_issuer_takes_its_key_back(world: World) -> None:
    headers = [(b"authorization", f"Bearer {token()}".encode())]
    standing = CallerStanding(RequestHeaders(Request({"type": "http", "headers": headers})), world.callers)
    told: list[ServerError] = []
    stop = standing.watch(told.append)
    world.keys.change_to(key_set(first=FIRST, second=SECOND))
    assert told == []
    world.keys.change_to(key_set(second=SECOND))
    assert [each.code for each in told] == [ProblemCode.UNAUTHENTICATED]
    stop()
    world.keys.change_to(key_set(first=SECOND))
    assert len(told) == 1


async def test_without_keys_signed_tokens_wait_and_ours_do_not(world: World) -> None:
    shown = token()
    assert world.callers.of(f"Bearer {shown}")
    world.keys.known = None
    refusal = world.refusal_of(shown)
    assert (refusal.code, refusal.code.status, refusal.code.retriable) == (ProblemCode.KEYS_UNAVAILABLE, 503, True)
    assert refusal.retry_after_ms
    assert world.callers.of(f"Bearer {STATIC}").name == "static"


async def test_an_unknown_key_is_looked_for_before_it_is_refused(world: World) -> None:
    shown = signed_token(CLAIMS, SECOND, "second")
    for wait_ms, retry_after_ms in ((0, RETRY_AFTER_MS), (RETRY_AFTER_MS + 1, RETRY_AFTER_MS + 1)):
        world.keys.wait = wait_ms
        refusal = world.refusal_of(shown)
        assert (refusal.code, refusal.retry_after_ms) == (ProblemCode.KEYS_UNAVAILABLE, retry_after_ms)
    world.keys.wait = None
    assert world.refusal_of(shown).code is ProblemCode.UNAUTHENTICATED
    assert world.keys.waited_for == ["second"] * 3
    world.refusal_of(signed_token(CLAIMS, SECOND, "first"))
    assert len(world.keys.waited_for) == 3, "for a signature that is wrong nobody is asked"


@pytest.mark.parametrize(
    "changes",
    [{"iss": "https://j"}, {"aud": "other"}, {"exp": None}, {"exp": NOW_S - 60}, {"nbf": NOW_S + 60}, {"sub": None}],
)
async def test_for_what_would_not_be_good_with_any_key_none_is_looked_for(
    world: World, changes: dict[str, object]
) -> None:
    world.keys.wait = 0
    refusal = world.refusal_of(signed_token({**CLAIMS, **changes}, SECOND, "second"))
    assert (refusal.code, refusal.detail) == (ProblemCode.UNAUTHENTICATED, "the token is not known")
    assert world.keys.waited_for == []


async def test_what_holds_no_claims_has_no_key_looked_for(world: World) -> None:
    world.keys.wait = 0
    header = encoded({"alg": "ES256", "kid": "second"})
    for payload in ("!", "", encoded(b"[]"), encoded(b"{"), encoded(b"\xff"), encoded(b"[" * 3000)):
        assert world.refusal_of(f"{header}.{payload}.AAAA").code is ProblemCode.UNAUTHENTICATED
    assert world.keys.waited_for == []


async def test_so_many_tokens_are_remembered(world: World) -> None:
    shown = [token(jti=str(number)) for number in range(CACHED_MAX + 1)]
    known = [world.callers.of(f"Bearer {each}") for each in shown[:CACHED_MAX]]
    assert world.callers.of(f"Bearer {shown[0]}") is known[0]
    world.callers.of(f"Bearer {shown[CACHED_MAX]}")
    assert world.tokens.cached == CACHED_MAX
    assert world.callers.of(f"Bearer {shown[CACHED_MAX - 1]}") is known[CACHED_MAX - 1]
    assert world.callers.of(f"Bearer {shown[0]}") is not known[0]


async def test_a_token_that_is_refused_is_not_remembered(world: World) -> None:
    for _ in range(10):
        world.refusal_of(signed_token({"sub": "alice"}, SECOND, "first"))
    assert world.tokens.cached == 0


async def test_the_longest_token(world: World) -> None:
    size = len(token(pad=""))
    longest = next(each for each in (token(pad="x" * n) for n in range(BYTES_MAX - size - 2000, 9999)) if fits(each))
    assert TOKEN_BYTES_MAX < len(longest) <= BYTES_MAX
    assert world.callers.of(f"Bearer {longest}").name == "jwt:alice"
    giant = token(pad="x" * BYTES_MAX)
    refusal = world.refusal_of(giant)
    assert refusal.code is ProblemCode.UNAUTHENTICATED
    assert f"more than {BYTES_MAX} bytes" in refusal.detail
    assert world.refusal_of("x." * 500_000).code is ProblemCode.UNAUTHENTICATED


def fits(text: str) -> bool:
    return BYTES_MAX - 4 <= len(text) <= BYTES_MAX


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"iss": "https://j"}, "another issuer"),
        ({"aud": "other"}, "another audience"),
        ({"nbf": NOW_S + 3600}, "not valid yet"),
        ({"exp": None}, "does not say when it ends"),
        ({"sub": 5}, "'sub'"),
        ({"tenant": "a.b"}, "'tenant'"),
    ],
)
async def test_who_has_a_token_of_the_issuers_is_told_what_is_wrong(
    world: World, changes: dict[str, object], said: str
) -> None:
    refusal = world.refusal_of(token(**changes))
    assert refusal.code is ProblemCode.UNAUTHENTICATED
    assert said in refusal.detail


@pytest.mark.parametrize(
    "changes", [{"exp": NOW_S - 60}, {"nbf": NOW_S + 3600}, {"iat": NOW_S + 3600}, {"exp": None}, {"tenant": "a.b"}]
)
async def test_of_what_the_issuer_has_signed_for_us_it_is_known_whose_it_is(
    world: World, changes: dict[str, object]
) -> None:
    refusal = world.refusal_of(token(**changes))
    assert isinstance(refusal, RefusedCallerError)
    assert (refusal.principal.name, refusal.principal.kind) == ("jwt:alice", PrincipalKind.JWT)
    assert not refusal.principal.rights.rights


async def test_one_that_was_good_is_still_known(world: World) -> None:
    shown = token()
    world.callers.of(f"Bearer {shown}")
    await world.clock.advance_ms(60_000 + LEEWAY_MS)
    refusal = world.refusal_of(shown)
    assert isinstance(refusal, RefusedCallerError)
    assert refusal.principal.name == "jwt:alice"


@pytest.mark.parametrize("changes", [{"iss": "https://j"}, {"aud": "other"}, {"sub": None}])
async def test_of_what_was_signed_for_others_it_is_not(world: World, changes: dict[str, object]) -> None:
    assert not isinstance(world.refusal_of(token(**changes)), RefusedCallerError)
    made_up = signed_token({**CLAIMS, "exp": NOW_S - 60}, SECOND, "first")
    assert not isinstance(world.refusal_of(made_up), RefusedCallerError)


async def test_who_makes_one_up_is_told_nothing(world: World) -> None:
    made_up = [
        signed_token({"iss": "https://i"}, SECOND, "first"),
        signed_token({"iss": "https://i"}, SECOND, "nobody"),
        f"{encoded({'alg': 'none'})}.{encoded({'sub': 'alice'})}.AAAA",
        f"{encoded({'alg': 'HS256'})}.{encoded({'sub': 'alice'})}.AAAA",
        "a.b.c",
        "no token at all",
    ]
    details = [world.refusal_of(each).detail for each in made_up]
    assert details == ["the token is not known"] * len(made_up)
    assert world.counted() == {"signature": 1, "key": 1, "algorithm": 2, "form": 1}


async def test_the_log_is_told_of_so_many(world: World) -> None:
    limit = LineLimitSettings().lines_max
    shown = signed_token({"sub": "alice"}, SECOND, "first")
    with capture_logs() as logs:
        for _ in range(limit + 5):
            world.refusal_of(shown)
        world.refusal_of("a.b.c")
    events = [each["event"] for each in logs]
    assert events == ["jwt_refused.signature"] * limit + ["jwt_refused.form"]
    assert shown not in str(logs)
    assert world.counted()["signature"] == limit + 5


# --- certificates ----------------------------------------------------------------------------------------------------


async def test_a_certificate_counts_where_there_is_no_token(world: World) -> None:
    who = world.callers.of(None, CERTIFICATE)
    assert who.name == "certificate:acklog://client/billing"
    assert who.may_on_topic(Action.RECEIVE, "bills")


async def test_a_token_counts_alone_good_or_not(world: World) -> None:
    who = world.callers.of(f"Bearer {token()}", CERTIFICATE)
    assert who.name == "jwt:alice"
    assert not who.knows_topic("bills"), "what both may do is never added up"
    for wrong in ("nobody's token", token(aud="other")):
        assert world.refusal_of(wrong, CERTIFICATE).code is ProblemCode.UNAUTHENTICATED
    for header in ("Basic YTpi", "", "Bearer"):
        with pytest.raises(ServerError):
            world.callers.of(header, CERTIFICATE)


async def test_a_certificate_that_no_rule_is_for_is_as_none(world: World) -> None:
    with pytest.raises(ServerError, match="send the header") as refused:
        world.callers.of(None, ClientCertificate("acklog://gateway", FIRST_WALL_MS + 1000))
    assert refused.value.code is ProblemCode.UNAUTHENTICATED


async def test_a_certificate_ends_on_an_open_connection(world: World) -> None:
    await world.clock.advance_ms(999)
    assert world.callers.of(None, CERTIFICATE)
    await world.clock.advance_ms(1)
    with pytest.raises(RefusedCallerError, match="certificate has expired") as refused:
        world.callers.of(None, CERTIFICATE)
    assert refused.value.code is ProblemCode.TOKEN_EXPIRED
    assert refused.value.principal.name == "certificate:acklog://client/billing"
