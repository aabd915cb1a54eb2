"""What a scheduled message counts as, against what may be read and handed over at once."""

from acklog.wire.record import Record
from storage.schedule.changes import _size_of


def test_headers_beyond_those_of_http_count() -> None:
    """A call of SQS may put a megabyte of attributes into one."""
    plain, large = Record(b"x"), Record(b"x", headers={"sqs.attributes": "a" * 1_000_000})
    assert _size_of(large) - _size_of(plain) == 1_000_000
