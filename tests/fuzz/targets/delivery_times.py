"""Times as clients say them, against the standard library."""

from datetime import UTC, datetime, timedelta

from acklog.wire.limits import TIMESTAMP_MS_MAX
from app.http.parsing.delivery_time import delivery_time_fault, time_ms_of
from tests.fuzz.fuzz_target import FuzzTarget
from tests.fuzz.parts import text_of

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SEEDS = (
    b"2027-03-01T08:30:00+01:00",
    b"2027-03-01t08:30:00.123456789z",
    b"1970-01-01T00:00:00Z",
    b"9999-12-31T23:59:59-23:59",
    b"0001-01-01T00:00:00+23:59",
    b"2024-02-30T00:00:00Z",
    b"2027-03-01T24:00:00Z",
    b"1700000000000",
    b"999999999999999",
)


class NoTimeError(ValueError):
    """It is refused, as a problem's text says."""


def _read(data: bytes) -> None:
    text = text_of(data)
    found = time_ms_of(text)
    assert (found is None) == (delivery_time_fault(text) is not None)
    if found is None:
        raise NoTimeError
    assert 0 <= found <= TIMESTAMP_MS_MAX
    if text.isdigit():
        assert found == int(text)
        return
    exact = datetime.fromisoformat(text.upper()) - _EPOCH
    assert timedelta() <= timedelta(milliseconds=found) - exact < timedelta(milliseconds=1), "it is early, or late"


TARGET = FuzzTarget(_read, (NoTimeError,), lambda: _SEEDS)
