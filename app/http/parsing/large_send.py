"""Requests too large to be parsed in one go: generators that yield every few milliseconds of work
(`app.http.exchange.turns`).

The results are those of `app.http.parsing.send` for smaller ones. What no message or envelope can need is refused by
its size before anything is made of it.
"""

import re
from dataclasses import dataclass, field

import msgspec
from msgspec import UNSET, Raw

from acklog.wire import limits
from acklog.wire.problems import ProblemCode
from app.calls.send import Message, Produce
from app.http.exchange.turns import Steps, at_once
from app.http.parsing.array_pieces import SINGLE_BYTES_MIN, ArrayPieces, Piece
from app.http.parsing.batch_messages import (
    FAULTS_PER_STEP,
    check_count,
    check_each,
    decode_each,
    line_of,
    placed,
    plain_of,
    too_many,
)
from app.http.parsing.envelope import (
    Envelope,
    MessageOutline,
    Outline,
    PlainFields,
    acks_of_both,
    envelope_decoder,
    message_outline_decoder,
    outline_decoder,
    queue_of_both,
    refuse_message_fields,
)
from app.http.parsing.json_text import check_utf8, decode, malformed, utf8_steps, without_escapes
from app.http.parsing.message import message_of
from app.http.parsing.message_properties import PROPERTIES, MessageFields, too_many_items
from app.http.parsing.query import Arguments
from cluster.errors import ServerError

LARGE_BYTES = 64 * 1024
"""Beyond it a body is parsed in steps. Fewer bytes hold fewer messages with faults, each of which takes a while."""
LIKELY_BYTES_PER_STEP = 256 * 1024
STEP_BYTES = 64 * 1024
_HEAD_BYTES_MAX = 64 * 1024
# Members before "messages" have no parts of their own, or the request is no batch. Possessive, so it never goes back.
_HEAD = re.compile(rb'\s*+\{(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")*+\[', re.DOTALL)
_MESSAGES_BEFORE = re.compile(rb'"messages"\s*+:\s*+\[\Z')
_SURROUNDINGS_BYTES_MAX = 256 * 1024

_OF_MANY_ITEMS = [each for each in PROPERTIES if each.property.strings_max]

_plain_list_decoder = msgspec.json.Decoder(list[PlainFields])
_fields_list_decoder = msgspec.json.Decoder(list[MessageFields])
_raw_list_decoder = msgspec.json.Decoder(list[Raw])


def large_envelope_steps(body: bytes, arguments: Arguments) -> Steps[Produce]:
    """Returns what the envelope asks for. Raises ServerError where the request as a whole is at fault."""
    yield from utf8_steps(body)
    head = _HEAD.match(body, 0, _HEAD_BYTES_MAX)
    if head is not None and _MESSAGES_BEFORE.search(head[0][-STEP_BYTES:]):
        pieces = ArrayPieces(body, head.end())
        messages = yield from _message_steps(body, pieces)
        return _produce(_surrounding(body, pieces), messages, arguments)
    if len(body) > limits.MESSAGE_TEXT_BYTES_MAX:
        detail = (
            f"a message has more than {limits.MESSAGE_TEXT_BYTES_MAX} bytes in JSON, or the messages begin too late"
        )
        raise ServerError(ProblemCode.MESSAGE_TOO_LARGE, detail, field="body")
    outline = decode(outline_decoder, body)
    yield
    if outline.messages is not UNSET:
        array = bytes(outline.messages)
        if not array.startswith(b"["):
            raise ServerError(ProblemCode.INVALID_FIELD, "must be an array", field="messages")
        messages = yield from _message_steps(array, ArrayPieces(array, 1))
        return _produce(outline, messages, arguments)
    _check_parts(outline)
    envelope = decode(envelope_decoder, body)
    yield
    message = message_of(envelope)
    return Produce(queue_of_both(envelope, arguments), [message], acks_of_both(envelope, arguments), False)


def lines_steps(body: bytes) -> Steps[list[Message]]:
    """One message per line of NDJSON; empty lines are skipped, but there may not be more of them than of messages."""
    if body.count(b"\n") > 2 * limits.REQUEST_MESSAGES_MAX:
        raise too_many()
    lines = [line for line in body.split(b"\n") if line and not line.isspace()]
    check_count(lines)
    is_ascii = body.isascii()
    if len(body) > LARGE_BYTES:
        yield
    messages: list[Message] = []
    size_bytes = 0
    for number, line in enumerate(lines):
        size_bytes += max(len(line), STEP_BYTES // FAULTS_PER_STEP)
        messages.append(line_of(line, number) if is_ascii and len(line) <= LARGE_BYTES else _line(line, number))
        if size_bytes > STEP_BYTES:
            size_bytes = 0
            yield
    return messages


def _line(line: bytes, number: int) -> Message:
    try:
        if len(line) <= LARGE_BYTES:
            check_utf8(line)
        else:
            if len(line) > limits.MESSAGE_TEXT_BYTES_MAX:
                raise _text_too_large()
            check_utf8(line)
            _check_parts(decode(message_outline_decoder, line))
    except ServerError as fault:
        return placed(fault, number)
    return line_of(line, number)


@dataclass(slots=True)
class _Messages:
    """The messages found so far, and their keys as long as all of them are plain."""

    found: list[Message] = field(default_factory=list)
    keys: list[str | None] | None = field(default_factory=list)

    def add_likely(self, text: bytes, piece: Piece) -> bool:
        """Whether the piece is one, and its messages have been added."""
        array = b"[%b]" % text[piece.start : piece.end]
        if self.keys is not None:
            return self._add_plain(array, self.keys)
        try:
            fields = _fields_list_decoder.decode(array)
            self.found += at_once(check_each(fields, first=len(self.found)))
        except (msgspec.DecodeError, RecursionError):
            return False
        return True

    def add(self, text: bytes, piece: Piece) -> Steps[None]:
        """In steps. Raises ServerError where the whole request is at fault."""
        if piece.size_bytes > limits.MESSAGE_TEXT_BYTES_MAX:
            self.keys = None
            self.found.append(placed(_text_too_large(), len(self.found)))
            return
        array = b"[%b]" % text[piece.start : piece.end]
        if self.keys is not None and self._add_plain(array, self.keys):
            return
        self.keys = None
        self.found += yield from self._checked_of(array, len(self.found))

    def _add_plain(self, array: bytes, keys: list[str | None]) -> bool:
        try:
            fields = _plain_list_decoder.decode(array)
        except (msgspec.DecodeError, RecursionError):
            return False
        if not fields:
            return False
        plain = plain_of(fields)
        if plain is None:
            return False
        self.found += plain[0]
        keys += plain[1]
        return True

    def _checked_of(self, array: bytes, first: int) -> Steps[list[Message]]:
        if len(array) > SINGLE_BYTES_MIN:
            return (yield from self._one_large(array, first))
        try:
            fields = _fields_list_decoder.decode(array)
        except (msgspec.ValidationError, RecursionError):
            raws = decode(_raw_list_decoder, array, prefix="messages")
            _check_not_too_many(first + len(raws))
            return (yield from decode_each(raws, first=first))
        except msgspec.DecodeError:
            decode(_raw_list_decoder, array, prefix="messages")
            raise
        _check_not_too_many(first + len(fields))
        return (yield from check_each(fields, first=first))

    def _one_large(self, array: bytes, first: int) -> Steps[list[Message]]:
        raws = decode(_raw_list_decoder, array, prefix="messages")
        for raw in raws:
            try:
                _check_parts(decode(message_outline_decoder, raw))
            except ServerError as fault:
                return [placed(fault, first)]
        return (yield from decode_each(raws, first=first))


def _check_not_too_many(count: int) -> None:
    if count > limits.REQUEST_MESSAGES_MAX:
        raise too_many()


def _message_steps(text: bytes, pieces: ArrayPieces) -> Steps[_Messages]:
    messages = _Messages()
    size_bytes = 0
    scanned = iter(pieces)
    while True:
        likely = pieces.likely()
        if likely is not None and messages.add_likely(text, likely):
            pieces.confirm(likely)
            size_bytes += likely.size_bytes
            if size_bytes < LIKELY_BYTES_PER_STEP:
                continue
        else:
            try:
                piece = next(scanned)
            except StopIteration:
                break
            if piece is not None and not _is_blank(text, piece):
                yield from messages.add(text, piece)
            elif piece is not None and not pieces.is_whole(piece):
                raise malformed(ValueError(f"an element is missing (byte {piece.start})"))
        _check_not_too_many(len(messages.found))
        size_bytes = 0
        yield
    if not messages.found:
        check_count([])
    return messages


def _surrounding(body: bytes, pieces: ArrayPieces) -> Envelope:
    """The envelope without its messages."""
    text = body[: pieces.start] + body[pieces.end :]
    if len(text) > _SURROUNDINGS_BYTES_MAX:
        detail = f"has more than {_SURROUNDINGS_BYTES_MAX} bytes around its messages"
        raise ServerError(ProblemCode.INVALID_FIELD, detail, field="body")
    envelope = decode(envelope_decoder, text)
    if envelope.messages:
        raise ServerError(ProblemCode.INVALID_FIELD, "may be given once at most", field="messages")
    return envelope


def _produce(envelope: Envelope, messages: _Messages, arguments: Arguments) -> Produce:
    refuse_message_fields(envelope)
    queue, acks = queue_of_both(envelope, arguments), acks_of_both(envelope, arguments)
    return Produce(queue, messages.found, acks, True, messages.keys)


def _is_blank(body: bytes, piece: Piece) -> bool:
    return body[piece.start : piece.end].isspace() or piece.start == piece.end


def _text_too_large() -> ServerError:
    detail = f"the message has more than {limits.MESSAGE_TEXT_BYTES_MAX} bytes in JSON"
    return ServerError(ProblemCode.MESSAGE_TOO_LARGE, detail, field="body")


def _check_parts(outline: Outline | MessageOutline) -> None:
    """Refuse more headers and tags than a message may have before any is made."""
    for attribute, name, each in _OF_MANY_ITEMS:
        raw = getattr(outline, attribute)
        if raw is UNSET:
            continue
        text = bytes(raw)
        if without_escapes(text).count(b'"') > 2 * each.strings_max:
            raise ServerError(ProblemCode.INVALID_FIELD, too_many_items(each.items_max), field=name)
