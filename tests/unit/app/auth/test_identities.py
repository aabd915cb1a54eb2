"""Rules about callers whom others vouch for: whom they are for, and what these may do."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acklog.wire.limits import PATTERN_LENGTH_MAX
from acklog.wire.problems import ProblemCode
from app.auth.claim_patterns import ClaimUnusableError, filled
from app.auth.claims import texts_of
from app.auth.client_certificate import ClientCertificate
from app.auth.giving import require_giving
from app.auth.identities import CERTIFICATES_KNOWN_MAX, IDENTITY_RIGHTS_MAX, RULES_MAX, Identities
from app.auth.identity_entry import CONDITIONS_MAX
from app.auth.principal import Principal, PrincipalKind, TokenQuotas
from app.auth.tokens import TokensFileError, TokenTable, parse_token_table
from cluster.errors import ServerError
from cluster.model.action import Action


def table_of(*identities: Mapping[str, object], **file: object) -> TokenTable:
    return parse_token_table(json.dumps({"tokens": [], "identities": identities, **file}).encode())


def rules_of(*identities: Mapping[str, object], **file: object) -> Identities:
    return table_of(*({"name": "rule", **each} for each in identities), **file).identities


def caller(shown: Mapping[str, object], **rule: object) -> Principal:
    return rules_of(rule).of_claims("alice", shown, expires_at_ms=1)


@pytest.mark.parametrize(
    ("wanted", "claims", "is_met"),
    [
        ({"tenant": "acme"}, {"tenant": "acme"}, True),
        ({"tenant": "acme"}, {"tenant": "Acme"}, False),
        ({"tenant": "acme"}, {"tenant": "acme2"}, False),
        ({"tenant": "acme"}, {}, False),
        ({"tenant": "acme"}, {"tenant": None}, False),
        ({"tenant": "acme"}, {"tenant": {"acme": 1}}, False),
        ({"tenant": "ac*"}, {"tenant": "acme"}, True),
        ({"tenant": "*"}, {"tenant": ""}, True),
        ({"tenant": "*"}, {}, False),
        ({"tenant": ["a", "b"]}, {"tenant": "b"}, True),
        ({"tenant": ["a", "b"]}, {"tenant": "c"}, False),
        ({"groups": "writers"}, {"groups": ["readers", "writers"]}, True),
        ({"groups": "writers"}, {"groups": ["readers"]}, False),
        ({"groups": "writers"}, {"groups": []}, False),
        ({"groups": "writers"}, {"groups": [["writers"]]}, False),
        ({"groups": "writers"}, {"groups": [None, 1, "writers"]}, True),
        ({"realm_access.roles": "admin"}, {"realm_access": {"roles": ["admin"]}}, True),
        ({"realm_access.roles": "admin"}, {"realm_access": "admin"}, False),
        ({"realm_access.roles": "admin"}, {"realm_access": ["roles"]}, False),
        ({"https://example.org/roles": "admin"}, {"https://example.org/roles": ["admin"]}, True),
        ({"a.b": "whole"}, {"a.b": "whole", "a": {"b": "led to"}}, True),
        ({"a.b": "led to"}, {"a.b": "whole", "a": {"b": "led to"}}, False),
        ({"email_verified": "true"}, {"email_verified": True}, True),
        ({"email_verified": "true"}, {"email_verified": "true"}, True),
        ({"email_verified": "true"}, {"email_verified": False}, False),
        ({"level": "3"}, {"level": 3}, True),
        ({"level": "3"}, {"level": 3.0}, False),
        ({"scope": "send"}, {"scope": "openid send"}, True),
        ({"scope": "send"}, {"scope": "openid resend"}, False),
        ({"scp": "send"}, {"scp": ["openid", "send"]}, True),
        ({"words": "send"}, {"words": "openid send"}, False),
        ({"tenant": "acme", "level": "3"}, {"tenant": "acme", "level": 3}, True),
        ({"tenant": "acme", "level": "3"}, {"tenant": "acme"}, False),
    ],
)
def test_whom_a_rule_is_for(wanted: dict[str, object], claims: dict[str, object], is_met: bool) -> None:
    who = caller(claims, claims=wanted, roles=["producer"], topics=["orders"])
    assert who.name == "jwt:alice"
    assert who.may_on_topic(Action.SEND, "orders") is is_met
    assert who.may_somewhere(Action.SEND) is is_met, "nothing is allowed that no rule allows"


def test_a_claim_in_a_pattern_is_the_callers_own_part() -> None:
    who = caller(
        {"tenant": "acme"}, claims={"tenant": "*"}, roles=["consumer"], topics=["{tenant}.*"], groups=["{tenant}"]
    )
    assert who.may_on_topic(Action.RECEIVE, "acme.orders")
    assert who.may_on_group(Action.RECEIVE, "acme")
    for name in ("other.orders", "acme", "acmeX.orders", "{tenant}.orders"):
        assert not who.knows_topic(name)


@pytest.mark.parametrize(
    "value", ["*", "a*", "[ab]", "a?", "a.b", "", "a/b", "a b", "ä", "a\n", ["a", "b"], [], None, {}]
)
def test_a_value_that_says_more_than_a_name_lets_nobody_in(value: object) -> None:
    rule = {"claims": {"iss": "*"}, "roles": ["consumer"], "topics": ["{tenant}.*"]}
    for claims in ({"iss": "x", "tenant": value}, {"iss": "x"}):
        with pytest.raises(ServerError, match="tenant") as refused:
            caller(claims, **rule)
        assert refused.value.code is ProblemCode.UNAUTHENTICATED


def test_a_denial_does_not_get_lost_with_its_claim() -> None:
    """Else who has no such claim could do more than who has it."""
    everything = {"claims": {"iss": "*"}, "roles": ["consumer"], "topics": ["*"]}
    denial = {"claims": {"iss": "*"}, "rights": [{"deny": ["receive"], "topics": ["{tenant}.secret"]}]}
    rules = rules_of(everything, denial)
    who = rules.of_claims("alice", {"iss": "x", "tenant": "acme"}, expires_at_ms=1)
    assert not who.may_on_topic(Action.RECEIVE, "acme.secret")
    assert who.may_on_topic(Action.RECEIVE, "acme.orders")
    with pytest.raises(ServerError):
        rules.of_claims("alice", {"iss": "x"}, expires_at_ms=1)


@pytest.mark.parametrize("value", [1.5, 3.0, {"a": 1}, [[]], [1.5], ["other", {"a": 1}], -1.5])
@pytest.mark.parametrize("pattern", ["*", "1*", "risky"])
def test_nor_does_it_where_its_claim_cannot_be_compared(value: object, pattern: str) -> None:
    """A fraction, say, of which nobody can say whether it is like a pattern."""
    everything = {"claims": {"iss": "*"}, "roles": ["consumer"], "topics": ["*"]}
    denial = {"claims": {"iss": "x", "risk": pattern}, "rights": [{"deny": ["receive"], "topics": ["secret"]}]}
    rules = rules_of(everything, denial)
    if pattern == "*" and isinstance(value, list) and "other" in value:
        who = rules.of_claims("alice", {"iss": "x", "risk": value}, expires_at_ms=1)
        assert not who.may_on_topic(Action.RECEIVE, "secret"), "one value is enough"
        return
    with pytest.raises(ServerError, match="'risk'") as refused:
        rules.of_claims("alice", {"iss": "x", "risk": value}, expires_at_ms=1)
    assert refused.value.code is ProblemCode.UNAUTHENTICATED
    who = rules.of_claims("alice", {"iss": "y", "risk": value}, expires_at_ms=1)
    assert who.may_on_topic(Action.RECEIVE, "secret"), "another condition says that the rule is not for it"


@pytest.mark.parametrize("claims", [{}, {"risk": None}, {"risk": []}, {"risk": [None]}, {"risk": "low"}])
def test_a_denial_is_not_for_who_has_no_such_claim(claims: dict[str, object]) -> None:
    everything = {"claims": {"iss": "*"}, "roles": ["consumer"], "topics": ["*"]}
    denial = {"claims": {"risk": "high*"}, "rights": [{"deny": ["receive"], "topics": ["secret"]}]}
    who = rules_of(everything, denial).of_claims("alice", {"iss": "x", **claims}, expires_at_ms=1)
    assert who.may_on_topic(Action.RECEIVE, "secret")


@given(st.text(max_size=300))
def test_whatever_the_value_a_pattern_means_one_tenant(value: str) -> None:
    try:
        pattern = filled("{tenant}.*", {"tenant": value})
    except ClaimUnusableError:
        assert not value.isascii() or not value.replace("_", "a").replace("-", "a").isalnum() or len(value) > 247
    else:
        assert pattern == f"{value}.*"
        assert not set(value) & set("*?[]!.{}")
        assert len(pattern) <= PATTERN_LENGTH_MAX


def test_rights_of_all_rules_add_up_and_the_first_quotas_count() -> None:
    rules = rules_of(
        {"claims": {"g": "a"}, "roles": ["producer"], "topics": ["a"]},
        {"claims": {"g": "b"}, "roles": ["clerk"], "requestsPerSecond": 5},
        {"claims": {"g": "*"}, "roles": ["viewer"], "topics": ["a"], "requestsPerSecond": 7},
        roles={"clerk": [{"allow": ["receive"], "topics": ["a"]}]},
    )
    who = rules.of_claims("alice", {"g": ["a", "b"]}, expires_at_ms=9)
    assert [who.may_on_topic(each, "a") for each in (Action.SEND, Action.RECEIVE, Action.LOOK)] == [True, True, True]
    assert who.quotas == TokenQuotas(requests_per_second=5)
    assert who.expires_at_ms == 9
    assert [each.source for each in who.rights.rights] == [
        "identity 'rule': role 'producer'",
        "identity 'rule': role 'clerk'",
        "identity 'rule': role 'viewer'",
    ]


def test_a_certificate_has_the_rights_of_the_rules_for_its_name() -> None:
    rules = rules_of(
        {"certificates": ["acklog://client/bill*", "x"], "roles": ["consumer"], "topics": ["bills"], "groups": ["b"]},
        {"claims": {"sub": "*"}, "roles": ["admin"]},
    )
    who = rules.of_certificate(ClientCertificate("acklog://client/billing", 5))
    assert who is not None
    assert (who.name, who.expires_at_ms) == ("certificate:acklog://client/billing", 5)
    assert who.may_on_topic(Action.RECEIVE, "bills")
    assert not who.may_on_topic(Action.MANAGE, "bills"), "rules about claims are not for certificates"
    assert rules.of_certificate(ClientCertificate("acklog://client/other", 5)) is None


def test_rules_about_certificates_are_not_for_claims() -> None:
    rules = rules_of({"certificates": ["*"], "roles": ["admin"]})
    assert not rules.of_claims("x", {"sub": "x"}, expires_at_ms=1).may_somewhere(Action.LOOK)


def test_so_many_certificates_are_remembered() -> None:
    rules = rules_of({"certificates": ["*"], "roles": ["viewer"]})
    first = rules.of_certificate(ClientCertificate("c0", 1))
    assert rules.of_certificate(ClientCertificate("c0", 1)) is first
    for number in range(CERTIFICATES_KNOWN_MAX - 1):
        rules.of_certificate(ClientCertificate(f"d{number}", 1))
    assert rules.of_certificate(ClientCertificate("c0", 1)) is first
    rules.of_certificate(ClientCertificate("one more", 1))
    assert rules.of_certificate(ClientCertificate("c0", 1)) is not first


def test_so_many_rights_one_caller_has() -> None:
    right = {"allow": ["send"], "topics": ["a"]}
    full = [{"claims": {"sub": "*"}, "rights": [right] * 100}] * (IDENTITY_RIGHTS_MAX // 100)
    assert len(rules_of(*full).of_claims("a", {"sub": "a"}, expires_at_ms=1).rights.rights) == IDENTITY_RIGHTS_MAX
    more = rules_of(*full, {"claims": {"sub": "*"}, "rights": [right]})
    with pytest.raises(ServerError, match=f"more than {IDENTITY_RIGHTS_MAX:,} rights"):
        more.of_claims("a", {"sub": "a"}, expires_at_ms=1)


@pytest.mark.parametrize(
    ("identity", "said"),
    [
        ({"roles": ["viewer"]}, "either claims or certificates"),
        ({"claims": {"a": "b"}, "certificates": ["c"], "roles": ["viewer"]}, "either claims or certificates"),
        ({"claims": {"a": "b"}}, "needs rights or roles"),
        ({"claims": {"a": "b"}, "roles": ["nobody"]}, "no role 'nobody'"),
        ({"claims": {}, "roles": ["viewer"]}, "length >= 1"),
        ({"claims": {"a": []}, "roles": ["viewer"]}, "length >= 1"),
        ({"claims": {"a": {"b": "c"}}, "roles": ["viewer"]}, "Expected `str | array`"),
        ({"claims": {f"c{i}": "x" for i in range(CONDITIONS_MAX + 1)}, "roles": ["viewer"]}, f"<= {CONDITIONS_MAX}"),
        ({"claims": {"a": "b"}, "roles": ["viewer"], "topics": ["{a.*"]}, "a brace that holds no claim's name"),
        ({"claims": {"a": "b"}, "roles": ["viewer"], "topics": ["a}"]}, "a brace that holds no claim's name"),
        ({"claims": {"a": "b"}, "roles": ["viewer"], "topics": ["{}"]}, "a brace that holds no claim's name"),
        ({"certificates": ["c"], "roles": ["viewer"], "topics": ["{a}"]}, "a certificate has none"),
        ({"claims": {"a": "b"}, "roles": ["viewer"], "scopes": ["read"]}, "scopes"),
        ({"claims": {"a": "b"}, "roles": ["viewer"], "token": "x" * 20}, "token"),
    ],
)
def test_what_a_rule_cannot_say(identity: dict[str, object], said: str) -> None:
    with pytest.raises(TokensFileError, match=said.replace("|", r"\|")):
        table_of({"name": "r", **identity})


def test_limits_of_a_file() -> None:
    rule = {"name": "r", "certificates": ["c"], "roles": ["viewer"]}
    assert len(table_of(*[rule] * RULES_MAX).identities.rules) == RULES_MAX
    with pytest.raises(TokensFileError, match=f"<= {RULES_MAX}"):
        table_of(*[rule] * (RULES_MAX + 1))
    most = {f"c{number}": "x" for number in range(CONDITIONS_MAX)}
    assert table_of({"name": "r", "claims": most, "roles": ["viewer"]}).identities.rules


@pytest.mark.parametrize("name", ["jwt:alice", "certificate:acklog://client/a"])
def test_no_token_of_ours_is_named_as_such_a_caller(name: str) -> None:
    token = {"name": name, "token": "a-token-0123456789", "roles": ["viewer"]}
    with pytest.raises(TokensFileError, match="name it otherwise"):
        parse_token_table(json.dumps({"tokens": [token]}).encode())


def test_another_file_is_another_set_of_rules() -> None:
    rule = {"name": "r", "certificates": ["c"], "roles": ["viewer"]}
    table, same, other = table_of(rule), table_of(rule), table_of({**rule, "roles": ["admin"]})
    assert table.is_same_as(same)
    assert not table.is_same_as(other)
    table.adopt(other)
    assert table.identities is other.identities


def test_texts_of_a_claim() -> None:
    assert texts_of({"a": {"b": [1, True, "c", 2.5, None]}}, "a.b") == ("1", "true", "c")


def test_records_tell_them_from_holders_of_tokens() -> None:
    rules = rules_of({"claims": {"a": "b"}, "roles": ["viewer"]}, {"certificates": ["orders"], "roles": ["viewer"]})
    certificate = rules.of_certificate(ClientCertificate("orders", 1))
    assert certificate is not None
    assert certificate.kind is PrincipalKind.CERTIFICATE
    assert rules.of_claims("alice", {"a": "b"}, expires_at_ms=1).kind is PrincipalKind.JWT


def test_who_is_vouched_for_gives_for_longer_than_this_token_lives() -> None:
    """It ends in minutes, and who showed it comes back with another one. A token of ours is its holder's end."""
    passing = caller({"a": "b"}, claims={"a": "b"}, roles=["admin"])
    rights = passing.rights.rights
    require_giving(passing, rights, until_ms=None)
    with pytest.raises(ServerError, match="cannot give anything for longer"):
        require_giving(Principal("ours", passing.rights, None, 1), rights, until_ms=None)
