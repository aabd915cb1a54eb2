"""What `/tokens` takes."""

from typing import NamedTuple

import msgspec

from acklog.wire import limits
from acklog.wire.problems import ProblemCode
from app.calls.names import check_name
from app.calls.tokens import Resource, RotateFields, TokenFields
from app.http.parsing import query
from app.http.parsing.json_text import check_utf8, decode
from cluster.errors import ServerError
from cluster.model.action import Action

LISTED_DEFAULT = 100
TOKENS_QUERY = query.QueryTable(
    (
        query.integer("limit", 1, limits.TOKENS_LISTED_MAX, "tokens at most", default=LISTED_DEFAULT),
        query.text("after", limits.TOKEN_NAME_LENGTH_MAX, "only names behind this one: `next` of the page before"),
    )
)
_ACTION = query.choice("action", tuple(each.value for each in Action), "what would be done")
CAN_QUERY = query.QueryTable(
    (
        query.Parameter(
            _ACTION.name, _ACTION.parse, _ACTION.schema, _ACTION.description, example="send", is_required=True
        ),
        query.name("topic", "on this topic"),
        query.name("group", "on this group, and not on a topic; without either, on the cluster"),
    )
)

_fields_decoder = msgspec.json.Decoder(TokenFields)
_rotate_decoder = msgspec.json.Decoder(RotateFields)


class Question(NamedTuple):
    """Whether this may be done to that."""

    action: Action
    resource: Resource


def parse_token(body: bytes) -> TokenFields:
    """Raises ServerError."""
    check_utf8(body)
    return decode(_fields_decoder, body)


def parse_rotate(body: bytes) -> RotateFields:
    """An empty body says nothing else. Raises ServerError."""
    if not body:
        return RotateFields()
    check_utf8(body)
    return decode(_rotate_decoder, body)


def parse_token_page(query_string: bytes) -> tuple[int, str]:
    """(how many, after which name). Raises ServerError."""
    arguments = TOKENS_QUERY.parse(query_string)
    return arguments.integer("limit") or LISTED_DEFAULT, arguments.text("after") or ""


def parse_question(query_string: bytes) -> Question:
    """Raises ServerError."""
    arguments = CAN_QUERY.parse(query_string)
    topic, group = arguments.text("topic"), arguments.text("group")
    if topic is not None and group is not None:
        raise ServerError(ProblemCode.INVALID_FIELD, "name a topic or a group, each by itself", field="group")
    for field, name in (("topic", topic), ("group", group)):
        if name is not None:
            check_name(name, field=field)
    return Question(Action(arguments.text("action") or ""), Resource(topic, group))
