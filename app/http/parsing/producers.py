"""What named producers say: when they open, and in the headers of what they send."""

import re
from typing import NamedTuple

import msgspec

from acklog.wire.problems import ProblemCode
from app.calls.producers import OpenFields
from app.http.exchange.request import RequestHeaders
from app.http.parsing.json_text import check_utf8, decode
from cluster.errors import ServerError
from storage.rpc.producer_epoch import ProducerEpoch

PRODUCER_HEADERS = ("Producer-Id", "Producer-Epoch", "Producer-Sequence")
PRODUCER_ID_PATTERN = "[0-9a-z]{1,13}"
NUMBER_MAX = (1 << 53) - 1
_KEY_MARK = "\r"
"""What a producer's numbers begin with as an idempotency key: no client's own key may hold a control character."""

_raw_names = [(name, name.lower().encode()) for name in PRODUCER_HEADERS]
_is_id = re.compile(PRODUCER_ID_PATTERN).fullmatch
_open_decoder = msgspec.json.Decoder(OpenFields)


class ProducerSend(NamedTuple):
    """Who sends a request, and which of its requests that is."""

    producer: ProducerEpoch
    sequence: int

    @property
    def idempotency_key(self) -> str:
        """The same for every try of the request, and for no other one."""
        return f"{_KEY_MARK}{self.producer.producer_id}.{self.producer.epoch}.{self.sequence}"


def parse_open(body: bytes) -> OpenFields:
    """Raises ServerError."""
    if not body:
        return OpenFields()
    check_utf8(body)
    return decode(_open_decoder, body)


def producer_of(headers: RequestHeaders) -> ProducerSend | None:
    """None where the request comes from no named producer. Raises ServerError MISSING_FIELD, INVALID_FIELD."""
    values = {name: headers.get(raw_name) for name, raw_name in _raw_names}
    given = [name for name, value in values.items() if value is not None]
    if not given:
        return None
    for name, value in values.items():
        if value is None:
            raise ServerError(ProblemCode.MISSING_FIELD, f"goes with {given[0]}", field=name)
    for name, raw_name in _raw_names:
        if headers.is_repeated(raw_name):
            raise ServerError(ProblemCode.INVALID_FIELD, "may be given once at most", field=name)
    if headers.get(b"idempotency-key") is not None:
        detail = "a named producer's requests are named by its Producer-Sequence"
        raise ServerError(ProblemCode.INVALID_FIELD, detail, field="Idempotency-Key")
    producer_id, epoch, sequence = (values[name] or "" for name in PRODUCER_HEADERS)
    if not _is_id(producer_id):
        raise ServerError(ProblemCode.INVALID_FIELD, "was not given out by Acklog", field="Producer-Id")
    claim = ProducerEpoch(producer_id, _number("Producer-Epoch", epoch, at_least=1))
    return ProducerSend(claim, _number("Producer-Sequence", sequence, at_least=0))


def _number(name: str, text: str, *, at_least: int) -> int:
    if text.isascii() and text.isdigit() and len(text) <= len(str(NUMBER_MAX)):
        number = int(text)
        if at_least <= number <= NUMBER_MAX:
            return number
    raise ServerError(ProblemCode.INVALID_FIELD, f"must be a whole number from {at_least} to {NUMBER_MAX}", field=name)
