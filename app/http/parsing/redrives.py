"""What `POST /groups/{group}/redrive` takes."""

import msgspec

from acklog.wire.identifiers import MessageId, parse_message_id
from acklog.wire.problems import ProblemCode
from app.calls.filters import read_filter
from app.calls.redrives import RedriveCommand, RedriveFields
from app.http.parsing.json_text import check_utf8, decode
from cluster.errors import ServerError

_decoder = msgspec.json.Decoder(RedriveFields)


def parse_redrive(body: bytes) -> RedriveCommand:
    """An empty body names all letters that the group has not handled. Raises ServerError."""
    if not body:
        return RedriveCommand()
    check_utf8(body)
    fields = decode(_decoder, body)
    if fields.filter is not None and fields.message_ids is not None:
        detail = "says which letters, as filter does: give one of them"
        raise ServerError(ProblemCode.INVALID_FIELD, detail, field="messageIds")
    letters = (
        None if fields.message_ids is None else tuple(map(_letter, range(len(fields.message_ids)), fields.message_ids))
    )
    text = None if fields.filter is None else read_filter(fields.filter, field="filter").text
    return RedriveCommand(fields.topic, fields.to, text, letters, fields.rate_per_second)


def _letter(index: int, text: str) -> MessageId:
    found = parse_message_id(text)
    if found is None:
        raise ServerError(
            ProblemCode.INVALID_MESSAGE_ID, "is not a messageId from Acklog", field=f"messageIds[{index}]"
        )
    return found
