"""Bodies of `POST /ack`, `/nack` and `/extend`."""

from acklog.wire.identifiers import MessageId, Receipt, id_from_bits
from acklog.wire.limits import NACK_DELAY_SECONDS_MAX, NACK_REASON_BYTES_MAX, RECEIPTS_MAX, VISIBILITY_SECONDS_MAX
from app.http.parsing.settle import parse_ack, parse_extend, parse_nack
from cluster.errors import ServerError
from tests.fuzz.fuzz_target import FuzzTarget
from tests.fuzz.parts import joined, parts_of

_PARSERS = {b"ack": parse_ack, b"nack": parse_nack, b"extend": parse_extend}
_TOPIC, _GROUP = id_from_bits(1), id_from_bits(2)
_RECEIPT = str(Receipt(_TOPIC, 7, 1234, _GROUP, 1, 3, 2)).encode()
_MESSAGE = str(MessageId(_TOPIC, 7, 3, 1234)).encode()
_SEEDS = (
    joined(b"ack", b'{"receipt":"%b"}' % _RECEIPT),
    joined(b"ack", b'{"receipts":["%b",5,"no","\\ud800",null,"%b"]}' % (_RECEIPT, _RECEIPT)),
    joined(b"ack", b'{"messageId":"%b","group":"mail"}' % _MESSAGE),
    joined(b"ack", b'{"messageIds":["%b"]}' % _MESSAGE),
    joined(b"nack", b'{"receipt":"%b","delaySeconds":1.5,"reason":"\\u00e9"}' % _RECEIPT),
    joined(b"nack", b'{"receipts":["%b",[]]}' % _RECEIPT),
    joined(b"extend", b'{"receipts":["%b"],"visibilitySeconds":30}' % _RECEIPT),
    joined(b"extend", b'{"receipt":"%b","visibilitySeconds":1e400}' % _RECEIPT),
)


class NoSettlementError(ValueError):
    """The first part names none of the calls."""


def _read(data: bytes) -> None:
    name, body = parts_of(data, 2)
    if name not in _PARSERS:
        raise NoSettlementError
    command = _PARSERS[name](body)
    assert 1 <= len(command.items) <= RECEIPTS_MAX
    assert len(command.items) == 1 or command.is_batch
    for number, item in enumerate(command.items):
        if isinstance(item, ServerError):
            assert 400 <= item.code.status < 500
            assert item.field is not None
            assert not command.is_batch or f"[{number}]" in item.field
    assert -1 <= command.delay_ms <= NACK_DELAY_SECONDS_MAX * 1000
    assert -1 <= command.visibility_ms <= VISIBILITY_SECONDS_MAX * 1000
    assert len(command.reason.encode()) <= NACK_REASON_BYTES_MAX


TARGET = FuzzTarget(_read, (ServerError, NoSettlementError), lambda: _SEEDS)
