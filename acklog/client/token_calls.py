"""The calls about tokens."""

from collections.abc import Sequence
from typing import Any

from acklog.client.call import JSON, Call, Request, encode_document, read_as, read_nothing, segment, target
from acklog.client.delivery_time import DeliverAt, wire_time
from acklog.tokens import KnownToken, NewToken, OwnToken, TokenDecision, TokenPage, TokenRight

_read_new = read_as(NewToken)
_read_one = read_as(KnownToken)
_read_page = read_as(TokenPage)
_read_own = read_as(OwnToken)
_read_decision = read_as(TokenDecision)


def create_token(
    name: str,
    *,
    roles: Sequence[str],
    rights: Sequence[TokenRight],
    topics: Sequence[str] | None,
    groups: Sequence[str] | None,
    expires_at: DeliverAt | None,
    requests_per_second: int | None,
    messages_per_second: int | None,
    bytes_per_second: int | None,
) -> Call[NewToken]:
    """Not repeatable: a second try finds the token of the first, and its secret is told nobody."""
    fields: dict[str, Any] = {
        "name": name,
        "roles": list(roles),
        "rights": [_right(each) for each in rights],
        "topics": None if topics is None else list(topics),
        "groups": None if groups is None else list(groups),
        "expiresAt": wire_time(expires_at),
        "requestsPerSecond": requests_per_second,
        "messagesPerSecond": messages_per_second,
        "bytesPerSecond": bytes_per_second,
    }
    body = encode_document({field: value for field, value in fields.items() if value is not None})
    return Call(Request("POST", "/tokens", body, JSON), _read_new, is_repeatable=False)


def rotate_token(name: str, *, grace_seconds: int | None, discard: str | None) -> Call[NewToken]:
    fields = {"graceSeconds": grace_seconds, "discard": discard}
    body = encode_document({field: value for field, value in fields.items() if value is not None})
    return Call(Request("POST", f"{_path(name)}/rotate", body, JSON), _read_new, is_repeatable=False)


def revoke_token(name: str) -> Call[None]:
    return Call(Request("DELETE", _path(name)), read_nothing, is_repeatable=False)


def get_token(name: str) -> Call[KnownToken]:
    return Call(Request("GET", _path(name)), _read_one)


def list_tokens(*, limit: int, after: str | None) -> Call[TokenPage]:
    return Call(Request("GET", target("/tokens", [("limit", limit), ("after", after)])), _read_page)


def own_token() -> Call[OwnToken]:
    return Call(Request("GET", "/token"), _read_own)


def ask_token(name: str | None, action: str, *, topic: str | None, group: str | None) -> Call[TokenDecision]:
    """`name` None: of the client's own token."""
    path = "/token" if name is None else _path(name)
    query = [("action", action), ("topic", topic), ("group", group)]
    return Call(Request("GET", target(f"{path}/can", query)), _read_decision)


def _path(name: str) -> str:
    return f"/tokens/{segment(name)}"


def _right(right: TokenRight) -> dict[str, Any]:
    named = {
        "allow": right.allow,
        "deny": right.deny,
        "topics": right.topics,
        "groups": right.groups,
        "cluster": right.cluster,
    }
    return {field: value for field, value in named.items() if value is not None}
