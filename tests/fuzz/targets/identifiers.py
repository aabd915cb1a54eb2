"""Message ids, schedule ids and receipts, as clients show them."""

from acklog.wire.identifiers import (
    MessageId,
    Receipt,
    ScheduleId,
    id_from_bits,
    parse_message_id,
    parse_receipt,
    parse_schedule_id,
)
from app.http.parsing.scheduled import SCHEDULED_QUERY, cursor_text
from cluster.errors import ServerError
from tests.fuzz.fuzz_target import FuzzTarget
from tests.fuzz.parts import text_of

_TOPIC, _GROUP = id_from_bits(0x9E3779B97F4A7C15), id_from_bits(0xBF58476D1CE4E5B9)
_LAST = 10**18 - 1


def _seeds() -> list[bytes]:
    shown = (
        MessageId(_TOPIC, 0, 0, 0),
        MessageId(_TOPIC, 999_999_999, 999_999_999, _LAST),
        ScheduleId(_TOPIC, 3, 2, 17),
        Receipt(_TOPIC, 7, 1234, _GROUP, 1, 3, 2),
        Receipt(_TOPIC, 7, _LAST, _GROUP, 999_999_999, 999_999_999, _LAST),
    )
    return [*(str(each).encode() for each in shown), b"1700000000000.3.17", b"m-" + _TOPIC.encode() + b"-01-0-0"]


def _read(data: bytes) -> None:
    text = text_of(data)
    found = [
        each for each in (parse_message_id(text), parse_schedule_id(text), parse_receipt(text)) if each is not None
    ]
    assert len(found) <= 1, "an id is of one kind"
    for each in found:
        assert str(each) == text, "whoever is shown an id names it in one way"
        assert all(part >= 0 for part in each if isinstance(part, int))
    cursor = SCHEDULED_QUERY.parse(b"cursor=" + data).value("cursor")
    assert SCHEDULED_QUERY.parse(f"cursor={cursor_text(cursor)}".encode()).value("cursor") == cursor


TARGET = FuzzTarget(_read, (ServerError,), _seeds)
