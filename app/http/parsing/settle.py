"""What `POST /ack`, `/nack` and `/extend` take."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from acklog.wire import limits
from acklog.wire.identifiers import MessageId, Receipt, parse_message_id, parse_receipt, parse_receipts
from acklog.wire.problems import ProblemCode
from app.calls.settle import Item, SettleCommand
from app.http.parsing.json_text import check_utf8, decode
from cluster.errors import ServerError


class _AckBody(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    receipt: str | UnsetType = UNSET
    receipts: list[str] | UnsetType = UNSET
    message_id: str | UnsetType = UNSET
    message_ids: list[str] | UnsetType = UNSET
    group: str | UnsetType = UNSET


class _NackBody(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    receipt: str | UnsetType = UNSET
    receipts: list[str] | UnsetType = UNSET
    delay_seconds: float | None = None
    reason: str | None = None


class _ExtendBody(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    visibility_seconds: float
    receipt: str | UnsetType = UNSET
    receipts: list[str] | UnsetType = UNSET


class _LooseAckBody(_AckBody, forbid_unknown_fields=True, rename="camel"):
    """As `_AckBody`, with each item left to be looked at on its own."""

    receipts: list[Raw] | UnsetType = UNSET  # type: ignore[assignment]
    message_ids: list[Raw] | UnsetType = UNSET  # type: ignore[assignment]


class _LooseNackBody(_NackBody, forbid_unknown_fields=True, rename="camel"):
    receipts: list[Raw] | UnsetType = UNSET  # type: ignore[assignment]


class _LooseExtendBody(_ExtendBody, forbid_unknown_fields=True, rename="camel"):
    receipts: list[Raw] | UnsetType = UNSET  # type: ignore[assignment]


_ack_decoder = msgspec.json.Decoder(_AckBody)
_nack_decoder = msgspec.json.Decoder(_NackBody)
_extend_decoder = msgspec.json.Decoder(_ExtendBody)
_loose_ack_decoder = msgspec.json.Decoder(_LooseAckBody)
_loose_nack_decoder = msgspec.json.Decoder(_LooseNackBody)
_loose_extend_decoder = msgspec.json.Decoder(_LooseExtendBody)
_string_decoder = msgspec.json.Decoder(str)
_Body = TypeVar("_Body")
_LooseBody = TypeVar("_LooseBody")

_PARSERS: dict[str, Callable[[str], Receipt | MessageId | None]] = {
    "receipt": parse_receipt,
    "messageId": parse_message_id,
}


def parse_ack(text: bytes) -> SettleCommand:
    """Raises ServerError."""
    check_utf8(text)
    body = _decode(_ack_decoder, _loose_ack_decoder, text)
    _exactly_one(receipt=body.receipt, receipts=body.receipts, messageId=body.message_id, messageIds=body.message_ids)
    if body.group is not UNSET and body.message_id is UNSET and body.message_ids is UNSET:
        raise ServerError(ProblemCode.INVALID_FIELD, "goes with messageId: a receipt names its group", field="group")
    group = None if body.group is UNSET else body.group
    if body.message_id is not UNSET or body.message_ids is not UNSET:
        items = _items(body.message_id, body.message_ids, "messageId")
        return SettleCommand("ack", items, body.message_ids is not UNSET, group, kind="messageId")
    return SettleCommand("ack", _items(body.receipt, body.receipts, "receipt"), body.receipts is not UNSET, group)


def parse_nack(text: bytes) -> SettleCommand:
    """Raises ServerError."""
    check_utf8(text)
    body = _decode(_nack_decoder, _loose_nack_decoder, text)
    _exactly_one(receipt=body.receipt, receipts=body.receipts)
    delay_ms = -1
    if body.delay_seconds is not None:
        delay_ms = _milliseconds(body.delay_seconds, limits.NACK_DELAY_SECONDS_MAX, "delaySeconds")
    reason = body.reason or ""
    if len(reason.encode()) > limits.NACK_REASON_BYTES_MAX:
        detail = f"must have at most {limits.NACK_REASON_BYTES_MAX} bytes as UTF-8"
        raise ServerError(ProblemCode.INVALID_FIELD, detail, field="reason")
    items = _items(body.receipt, body.receipts, "receipt")
    return SettleCommand("nack", items, body.receipts is not UNSET, delay_ms=delay_ms, reason=reason)


def parse_extend(text: bytes) -> SettleCommand:
    """Raises ServerError."""
    check_utf8(text)
    body = _decode(_extend_decoder, _loose_extend_decoder, text)
    visibility_ms = _milliseconds(body.visibility_seconds, limits.VISIBILITY_SECONDS_MAX, "visibilitySeconds")
    _exactly_one(receipt=body.receipt, receipts=body.receipts)
    items = _items(body.receipt, body.receipts, "receipt")
    return SettleCommand("extend", items, body.receipts is not UNSET, visibility_ms=visibility_ms)


def _decode(
    decoder: "msgspec.json.Decoder[_Body]", loose: "msgspec.json.Decoder[_LooseBody]", text: bytes
) -> "_Body | _LooseBody":
    """What is wrong with a single item is told of that item; nothing is made of one that is no string."""
    try:
        return decoder.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return decode(loose, text)


def _exactly_one(**fields: object) -> None:
    given = [name for name, value in fields.items() if value is not UNSET]
    if len(given) == 1:
        return
    if not given:
        names = ", ".join(fields)
        raise ServerError(ProblemCode.MISSING_FIELD, f"one of {names} is required", field=next(iter(fields)))
    raise ServerError(ProblemCode.INVALID_FIELD, f"give only one of {', '.join(fields)}", field=given[1])


def _items(single: str | UnsetType, several: Sequence[str | Raw] | UnsetType, field: str) -> list[Item]:
    if single is not UNSET:
        return [_PARSERS[field](single) or _not_an_item(single, field, field)]
    assert several is not UNSET
    plural = field + "s"
    if not several:
        raise ServerError(ProblemCode.INVALID_FIELD, "must hold at least one", field=plural)
    if len(several) > limits.RECEIPTS_MAX:
        detail = f"the request has more than {limits.RECEIPTS_MAX} {plural}"
        raise ServerError(ProblemCode.TOO_MANY_MESSAGES, detail, field=plural)
    values = [each if isinstance(each, str) else _string_of(each) for each in several]
    found: Sequence[Receipt | MessageId | None]
    if field == "receipt":
        found = parse_receipts(values)
    else:
        found = [None if value is None else parse_message_id(value) for value in values]
    return [
        _not_an_item(values[index], field, f"{plural}[{index}]") if item is None else item
        for index, item in enumerate(found)
    ]


def _string_of(raw: Raw) -> str | None:
    return _string_decoder.decode(raw) if bytes(raw).startswith(b'"') else None


def _not_an_item(value: str | None, kind: str, field: str) -> ServerError:
    if value is None:
        return ServerError(ProblemCode.INVALID_FIELD, "must be a string", field=field)
    if kind == "receipt":
        return ServerError(ProblemCode.INVALID_RECEIPT, "is not a receipt from Acklog", field=field)
    return ServerError(ProblemCode.INVALID_MESSAGE_ID, "is not a messageId from Acklog", field=field)


def _milliseconds(seconds: float, maximum: int, field: str) -> int:
    if not 0 <= seconds <= maximum:
        raise ServerError(ProblemCode.INVALID_FIELD, f"must be 0 to {maximum}", field=field)
    return round(seconds * 1000)
