"""What of a request stands in a record."""

import msgspec
import pytest

from app.audit.asked import NAMES, asked_in_body, asked_in_query
from app.audit.changes import CHANGES_MAX, changes, settings_of
from app.audit.plain_value import VALUE_LENGTH_MAX, plain
from app.calls.groups import GroupFields, SeekFields
from app.calls.tokens import TokenFields
from app.http.audit.administrative import fields_of
from app.http.description.needed_rights import NEEDED
from app.http.description.operations import OPERATIONS
from cluster.model.stored_token import StoredToken, secret_of


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        (b"", {}),
        (b'{"to": "latest", "topic": "orders"}', {"to": "latest", "topic": "orders"}),
        (b'{"key": "of a message", "body": 1, "secret": 1, "token": "ak"}', {}),
        (b'{"t\\u006fpic": "orders"}', {"topic": "orders"}),
        (b'{"topic": "orders"', {}),
        (b"[1]", {}),
        (b'{"topic": "\xff"}', {}),
        (b'{"topic": ' + b"[" * 100_000, {}),
    ],
)
def test_of_a_body(body: bytes, asked: dict[str, object]) -> None:
    assert asked_in_body(body, SeekFields) == asked


@pytest.mark.parametrize(
    ("fields", "body", "asked"),
    [
        (GroupFields, {"settings": {"password": "p", "maxAttempts": 3}}, {"settings": {"maxAttempts": 3}}),
        (GroupFields, {"settings": {"maxAttempts": {"body": "p"}}}, {"settings": {}}),
        (GroupFields, {"settings": {"maxAttempts": True, "retryJitter": None}}, {"settings": {"retryJitter": None}}),
        (GroupFields, {"settings": {"retryDelaysMs": [1, "p", 2]}}, {"settings": {"retryDelaysMs": [1, 2]}}),
        (GroupFields, {"settings": "p", "mode": "p"}, {}),
        (GroupFields, {"settings": None, "mode": "keyOrdered"}, {"settings": None, "mode": "keyOrdered"}),
        (GroupFields, {"topic": "p", "name": "p", "to": "p"}, {}),
        (SeekFields, {"to": {"body": "p", "offset": 3}, "partition": {"body": "p"}}, {"to": {"offset": 3}}),
        (SeekFields, {"to": ["p"], "topic": {"body": "p"}, "dryRun": "p"}, {}),
        (
            TokenFields,
            {"rights": [{"allow": ["send", "p"], "topics": ["a"], "token": "p"}, "p"]},
            {"rights": [{"allow": ["send"], "topics": ["a"]}]},
        ),
        (None, {"topic": "p"}, {}),
    ],
)
def test_of_a_body_nothing_but_what_the_call_takes(
    fields: type[msgspec.Struct] | None, body: object, asked: dict[str, object]
) -> None:
    assert asked_in_body(msgspec.json.encode(body), fields) == asked


def test_what_each_act_takes_is_known() -> None:
    for operation, needed in NEEDED.items():
        if needed.is_administrative:
            assert (fields_of(operation) is not None) == bool(OPERATIONS[operation].body), operation


def test_of_a_query() -> None:
    assert asked_in_query([("allowDataLoss", "true"), ("key", "k")]) == {"allowDataLoss": "true"}
    assert not {"key", "body", "headers", "token", "secret"} & NAMES


def test_a_value_is_cut_at_the_limit() -> None:
    fits = "x" * (VALUE_LENGTH_MAX - 2)
    assert plain(fits) == fits
    cut = plain(fits + "x")
    assert isinstance(cut, str)
    assert len(cut) == VALUE_LENGTH_MAX + 1


def test_what_would_move_text_about_is_replaced() -> None:
    """Of a terminal's control characters, and of those that turn the direction of writing."""
    value = {"to\u202e": ["a\x1b[31mb", {"c": "\u2066d\n"}], "e": 1, "f": None, "g": "Zoë, 東京"}
    assert plain(value) == {"to?": ["a?[31mb", {"c": "?d?"}], "e": 1, "f": None, "g": "Zoë, 東京"}


def test_changes_are_cut_at_the_limit() -> None:
    after: dict[str, object] = {f"s{number}": number for number in range(CHANGES_MAX + 1)}
    assert len(changes({}, after)) == CHANGES_MAX
    assert changes({"a": 1, "b": 2}, {"a": 1, "c": 3}) == {"b": [2, None], "c": [None, 3]}


def test_settings_of_a_token_have_no_secret() -> None:
    secret = secret_of("secret", "salt")
    token = StoredToken(id="i", name="n", created_at_ms=1, secrets=(secret,), roles=("admin",))
    found = settings_of(token, without=frozenset({"secrets"}))
    assert (found["roles"], "secrets" in found) == (("admin",), False)
