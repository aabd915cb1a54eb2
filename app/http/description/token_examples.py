"""Examples of the calls about tokens."""

from typing import Any

from app.http.description.example_forms import Examples, in_json

_TOKEN = {"token": "shop"}
_VIEW: dict[str, Any] = {
    "name": "shop",
    "id": "2nehaadj6b1yg",
    "createdAt": 1767222000000,
    "roles": ["producer"],
    "topics": ["orders.*"],
}
_MADE: dict[str, Any] = {
    "token": "ak_2nehaadj6b1yg_0kq3mdx7vw2fz9s1trb5c6h8jn4pye0000000000000000000000",
    "made": _VIEW,
}
_RIGHT: dict[str, Any] = {"from": "role 'producer'", "allow": ["send"], "topics": ["orders.*"]}
_ALLOWED: dict[str, Any] = {
    "allowed": True,
    "token": "shop",
    "action": "send",
    "resource": "topic 'orders'",
    "by": _RIGHT,
}
_NOT_ALLOWED: dict[str, Any] = {"allowed": False, "token": "shop", "action": "receive", "resource": "topic 'orders'"}
_QUESTION: dict[str, object] = {"action": "send", "topic": "orders"}

TOKEN_EXAMPLES: dict[str, Examples] = {
    "listTokens": Examples({}, {}, {200: in_json(one={"tokens": [_VIEW]})}),
    "createToken": Examples(
        {},
        in_json(
            of_a_role={"name": "shop", "roles": ["producer"], "topics": ["orders.*"]},
            of_rights={
                "name": "audit",
                "rights": [
                    {"allow": ["receive", "look"], "topics": ["*"], "groups": ["audit"]},
                    {"deny": ["receive"], "topics": ["salaries"]},
                ],
                "requestsPerSecond": 100,
            },
        ),
        {201: in_json(once=_MADE)},
    ),
    "describeToken": Examples(_TOKEN, {}, {200: in_json(while_two_are_good={**_VIEW, "earlierUntil": 1767225600000})}),
    "rotateToken": Examples(_TOKEN, in_json(at_once={"graceSeconds": 0}), {200: in_json(once=_MADE)}),
    "revokeToken": Examples(_TOKEN),
    "describeOwnToken": Examples({}, {}, {200: in_json(one={"name": "shop", "rights": [_RIGHT]})}),
    "askOfOwnToken": Examples(_QUESTION, {}, {200: in_json(it_may=_ALLOWED, nothing_allows_it=_NOT_ALLOWED)}),
    "askOfToken": Examples({**_TOKEN, **_QUESTION}, {}, {200: in_json(it_may=_ALLOWED)}),
}
