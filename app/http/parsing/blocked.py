"""What `/groups/{group}/keys` takes."""

import msgspec

from acklog.wire import limits
from acklog.wire.identifiers import parse_message_id
from acklog.wire.problems import ProblemCode
from app.calls.blocked import BlockedCommand, BlockedFields, BlockedKey, BlockedPlace
from app.http.parsing import query
from app.http.parsing.json_text import check_utf8, decode
from cluster.errors import ServerError

BLOCKED_QUERY = query.QueryTable(
    (
        query.name("topic", "only this topic; may repeat (default: all)", values_max=limits.RECEIVE_TOPICS_MAX),
        query.name("queue", "another word for topic", values_max=limits.RECEIVE_TOPICS_MAX),
        query.integer("limit", 1, limits.BLOCKED_LISTED_MAX, "messages at most", default=limits.BLOCKED_LISTED_DEFAULT),
    )
)
_WAYS = "give a messageId, a topic with partition and offset, or a topic with a key"
_decoder = msgspec.json.Decoder(BlockedFields)


def parse_blocked_listing(query_string: bytes) -> tuple[list[str], int]:
    """The topics' names (empty for all), and how many messages at most. Raises ServerError."""
    arguments = BLOCKED_QUERY.parse(query_string)
    names = list(dict.fromkeys(arguments.texts("topic") + arguments.texts("queue")))
    return names, arguments.integer("limit") or limits.BLOCKED_LISTED_DEFAULT


def parse_blocked(body: bytes) -> BlockedCommand:
    """Raises ServerError."""
    check_utf8(body)
    fields = decode(_decoder, body)
    given = {name for name in fields.__struct_fields__ if getattr(fields, name) is not None}
    if fields.message_id is not None:
        if given != {"message_id"}:
            raise ServerError(ProblemCode.INVALID_FIELD, f"says it all: {_WAYS}", field="messageId")
        message = parse_message_id(fields.message_id)
        if message is None:
            raise ServerError(ProblemCode.INVALID_MESSAGE_ID, "is not a messageId from Acklog", field="messageId")
        return message
    if fields.topic is None:
        raise ServerError(ProblemCode.MISSING_FIELD, _WAYS, field="topic")
    if fields.key is not None:
        if given != {"topic", "key"}:
            raise ServerError(ProblemCode.INVALID_FIELD, f"is not for one offset: {_WAYS}", field="key")
        return BlockedKey(fields.topic, fields.key)
    if fields.partition is None:
        raise ServerError(ProblemCode.MISSING_FIELD, _WAYS, field="partition")
    if fields.offset is None:
        raise ServerError(ProblemCode.MISSING_FIELD, _WAYS, field="offset")
    return BlockedPlace(fields.topic, fields.partition, fields.offset)
