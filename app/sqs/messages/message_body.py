"""The body of a message: text in SQS, JSON or bytes of some content type in the log.

What is JSON is stored as JSON, byte for byte, so that other readers see JSON; other text as bytes. The other way round,
what is neither JSON nor text is shown as base64.
"""

import base64
from typing import NamedTuple

import msgspec

from acklog.wire.record import Record
from app.http.parsing.json_text import is_too_deep
from app.sqs.messages.sqs_text import escaped_in_json, is_sqs_text

TEXT = "text/plain; charset=utf-8"
_BEGINS_JSON = frozenset(' \t\n\r{["-0123456789tfn')
_UTF8_CHARSETS = frozenset({"", "utf-8", "utf8", "us-ascii"})
_check_json = msgspec.json.Decoder(msgspec.Raw).decode


class RecordBody(NamedTuple):
    """`content_type` None: it is JSON."""

    data: bytes
    content_type: str | None


def stored_body(text: str) -> RecordBody:
    """Of characters that SQS takes."""
    data = text.encode()
    return RecordBody(data, None if _is_json(text, data) else TEXT)


def body_text(record: Record) -> str:
    """Of a message from whomever: all that is in it is told, in characters that SQS allows."""
    data, content_type = record.body, record.content_type
    if content_type is None or _is_text(content_type):
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return base64.b64encode(data).decode()
        if content_type is None:
            return escaped_in_json(text)
        if is_sqs_text(text):
            return text
    return base64.b64encode(data).decode()


def _is_json(text: str, data: bytes) -> bool:
    """As bodies that come by HTTP are: valid, and not too deep."""
    if text[:1] not in _BEGINS_JSON:
        return False
    try:
        _check_json(data)
    except (msgspec.DecodeError, RecursionError):
        return False
    return not is_too_deep(data)


def _is_text(content_type: str) -> bool:
    kind, _, parameters = content_type.lower().partition(";")
    charset = next((each.partition("=")[2] for each in parameters.split(";") if "charset=" in each), "")
    return kind.strip().startswith("text/") and charset.strip(' "') in _UTF8_CHARSETS
