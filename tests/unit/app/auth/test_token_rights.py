"""Rights, roles and expiry in a tokens file."""

import json
from typing import Any

import pytest

from acklog.wire.limits import (
    PATTERN_LENGTH_MAX,
    PATTERNS_MAX,
    RIGHTS_MAX,
    ROLE_NAME_LENGTH_MAX,
    ROLES_PER_TOKEN_MAX,
)
from app.auth.principal import Principal
from app.auth.roles import BUILT_IN
from app.auth.tokens import TokensFileError, parse_token_table
from cluster.errors import ServerError
from cluster.model.action import Action

TOKEN = "a-token-0123456789"


def token(roles: object = None, /, **entry: object) -> Principal:
    file: dict[str, object] = {"tokens": [{"name": "t", "token": TOKEN, **entry}]}
    if roles is not None:
        file["roles"] = roles
    found = parse_token_table(json.dumps(file).encode()).find(TOKEN)
    assert found is not None
    return found


def may_steer(who: Principal) -> bool:
    try:
        who.require_on_cluster(Action.MANAGE)
    except ServerError:
        return False
    return True


def test_rights_say_what_they_are_for() -> None:
    who = token(
        rights=[
            {"allow": ["send", "receive"], "topics": ["orders.*"], "groups": ["billing"]},
            {"deny": ["send"], "topics": ["orders.secret"]},
        ]
    )
    assert who.may_on_topic(Action.SEND, "orders.eu")
    assert not who.may_on_topic(Action.SEND, "orders.secret")
    assert who.may_on_topic(Action.RECEIVE, "orders.secret")
    assert who.may_on_group(Action.RECEIVE, "billing")
    assert not who.may_on_group(Action.RECEIVE, "others")
    assert not may_steer(who)
    assert may_steer(token(rights=[{"allow": ["manage"], "cluster": True}]))


def test_a_role_of_acklogs_own_is_for_the_tokens_topics_and_groups() -> None:
    producer = token(roles=["producer"], topics=["orders.*"])
    assert producer.may_on_topic(Action.SEND, "orders.eu")
    assert not producer.may_on_topic(Action.SEND, "salaries")
    assert not producer.may_on_topic(Action.LOOK, "orders.eu")
    consumer = token(roles=["consumer"], topics=["orders.*"], groups=["billing"])
    assert consumer.may_on_group(Action.SETTLE, "billing")
    assert not consumer.may_on_group(Action.SETTLE, "audit")
    assert not token(roles=["consumer"], topics=["orders.*"]).may_on_group(Action.RECEIVE, "billing")
    assert token(roles=["consumer"]).may_on_group(Action.RECEIVE, "billing")


def test_only_who_has_a_role_for_everything_has_it_for_the_cluster() -> None:
    assert may_steer(token(roles=["operator"]))
    assert not may_steer(token(roles=["operator"], topics=["orders"], groups=["*"]))
    assert not may_steer(token(roles=["operator"], groups=["a"]))
    assert not may_steer(token(roles=["viewer"]))


@pytest.mark.parametrize(
    ("role", "words"),
    [
        ("producer", ["send"]),
        ("consumer", ["receive", "settle", "look"]),
        ("viewer", ["look"]),
        ("operator", ["look", "seek", "manage"]),
        ("auditor", []),
        ("admin", ["send", "receive", "settle", "look", "seek", "manage", "purge", "audit"]),
    ],
)
def test_what_the_roles_allow(role: str, words: list[str]) -> None:
    who = token(roles=[role])
    assert [action.value for action in Action if who.may_on_topic(action, "t")] == [
        action.value for action in Action if action.value in words
    ]
    assert set(BUILT_IN) == {"producer", "consumer", "viewer", "operator", "auditor", "admin"}
    assert who.may_on_cluster(Action.AUDIT) == (role in {"auditor", "admin"})


def test_roles_of_the_file() -> None:
    roles = {"clerk": [{"allow": ["send"], "topics": ["orders"]}, {"allow": ["look"]}]}
    who = token(roles, roles=["clerk", "viewer"], topics=["mine"])
    assert who.may_on_topic(Action.SEND, "orders")
    assert who.may_on_topic(Action.LOOK, "mine")
    assert not who.may_on_topic(Action.SEND, "mine")
    with pytest.raises(TokensFileError, match="Acklog's own"):
        token({"admin": [{"allow": ["look"]}]}, roles=["admin"])


def test_scopes_rights_and_roles_add_up_and_a_denial_holds_for_all() -> None:
    who = token(scopes=["read"], roles=["producer"], rights=[{"deny": ["send", "receive"], "topics": ["b"]}])
    assert who.may_on_topic(Action.SEND, "a")
    assert who.may_on_topic(Action.RECEIVE, "a")
    assert not who.may_on_topic(Action.SEND, "b")
    assert not who.may_on_topic(Action.RECEIVE, "b")


RIGHT = {"allow": ["look"], "topics": ["a"]}


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({}, "needs rights or roles"),
        ({"rights": []}, "rights"),
        ({"rights": [{"topics": ["a"]}]}, "either allow or deny"),
        ({"rights": [{"allow": ["look"], "deny": ["look"], "topics": ["a"]}]}, "either allow or deny"),
        ({"rights": [{"allow": [], "topics": ["a"]}]}, r"rights\[0\].allow"),
        ({"rights": [{"allow": ["fly"], "topics": ["a"]}]}, "fly"),
        ({"rights": [{"allow": ["look"], "cluster": False}]}, "for nothing"),
        ({"rights": [{"allow": ["look"], "topics": []}]}, r"rights\[0\].topics"),
        ({"rights": [{"allow": ["look"], "topics": [""]}]}, r"topics\[0\]"),
        ({"rights": [{"allow": ["look"], "topcis": ["a"]}]}, "topcis"),
        ({"roles": ["chief"]}, "no role 'chief'; there are: producer"),
        ({"roles": []}, "roles"),
        ({"roles": ["viewer"], "expiresAt": "2030-01-01T00:00:00"}, "expiresAt"),
        ({"roles": ["viewer"], "expiresAt": "soon"}, "expiresAt"),
    ],
)
def test_what_cannot_be_meant_is_refused(entry: dict[str, Any], said: str) -> None:
    with pytest.raises(TokensFileError, match=said) as caught:
        token(**entry)
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    ("at_the_limit", "beyond"),
    [
        ({"rights": [RIGHT] * RIGHTS_MAX}, {"rights": [RIGHT] * (RIGHTS_MAX + 1)}),
        (
            {"rights": [RIGHT] * (RIGHTS_MAX - 1), "roles": ["viewer"]},
            {"rights": [RIGHT] * RIGHTS_MAX, "roles": ["viewer"]},
        ),
        (
            {"rights": [{**RIGHT, "topics": ["a"] * PATTERNS_MAX}]},
            {"rights": [{**RIGHT, "topics": ["a"] * (PATTERNS_MAX + 1)}]},
        ),
        (
            {"rights": [{**RIGHT, "groups": ["a"] * PATTERNS_MAX}]},
            {"rights": [{**RIGHT, "groups": ["a"] * (PATTERNS_MAX + 1)}]},
        ),
        (
            {"rights": [{**RIGHT, "topics": ["a" * PATTERN_LENGTH_MAX]}]},
            {"rights": [{**RIGHT, "topics": ["a" * (PATTERN_LENGTH_MAX + 1)]}]},
        ),
        ({"roles": ["viewer"] * ROLES_PER_TOKEN_MAX}, {"roles": ["viewer"] * (ROLES_PER_TOKEN_MAX + 1)}),
    ],
)
def test_limits(at_the_limit: dict[str, Any], beyond: dict[str, Any]) -> None:
    token(**at_the_limit)
    with pytest.raises(TokensFileError, match=r"rights|roles|topics|groups"):
        token(**beyond)


def test_a_roles_name_has_a_limit() -> None:
    name = "r" * ROLE_NAME_LENGTH_MAX
    token({name: [RIGHT]}, roles=[name])
    with pytest.raises(TokensFileError, match="length"):
        token({f"{name}r": [RIGHT]}, roles=["viewer"])
