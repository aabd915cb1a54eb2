"""Each of the checkers for readers accepts a good history and catches a fabricated violation."""

from typing import Any

from tests.sim.checkers import Checker
from tests.sim.history import EndListed, Event, History, MessageLooked, ReadRecord, ReadRefused, RecordsRead
from tests.sim.log_checkers import LogNeverChanges, NothingAboveTheHighWatermark
from tests.sim.reader_checkers import AcknowledgedIsReadable, PagesBeginWhereTheyWereAsked, ReadersNeverSeeTheEndFall
from tests.sim.test_checkers import delivered, log, record, sent


def page(*records: ReadRecord, offset: int = 0, **changes: Any) -> RecordsRead:
    end = records[-1].offset + 1 if records else offset
    values: dict[str, Any] = {
        "began_ms": 100,
        "ended_ms": 101,
        "reader": "r",
        "queue": "q",
        "partition": 0,
        "offset": offset,
        "next_offset": end,
        "high_watermark": end,
        "records": list(records),
    }
    return RecordsRead(**{**values, **changes})


def refused(offset: int, code: str = "OFFSET_OUT_OF_RANGE", **changes: Any) -> ReadRefused:
    values: dict[str, Any] = {
        "began_ms": 100,
        "ended_ms": 101,
        "reader": "r",
        "queue": "q",
        "partition": 0,
        "offset": offset,
        "code": code,
    }
    return ReadRefused(**{**values, **changes})


def listed(high_watermark: int, **changes: Any) -> EndListed:
    values: dict[str, Any] = {
        "began_ms": 100,
        "ended_ms": 101,
        "reader": "r",
        "queue": "q",
        "partition": 0,
        "high_watermark": high_watermark,
    }
    return EndListed(**{**values, **changes})


def found(checker: Checker, *events: Event) -> list[str]:
    history = History()
    for event in events:
        history.add(event)
    return checker.check(history)


def test_what_was_acknowledged_is_not_denied() -> None:
    checker = AcknowledgedIsReadable()
    assert found(checker, sent("m1", 4), refused(6), refused(4, "UNAVAILABLE")) == []
    assert found(checker, sent("m1", 4, ended_ms=100.5), refused(4)) == []  # nobody knew when the reader asked
    [violation] = found(checker, sent("m1", 4), refused(4))
    assert "was told OFFSET_OUT_OF_RANGE for ('q', 0, 4), 5 were known" in violation
    [violation] = found(checker, sent("m1", 4), refused(5))
    assert "for the end ('q', 0, 5)" in violation
    [violation] = found(checker, sent("m1", 4), refused(4, "MESSAGE_NOT_FOUND"))
    assert "was told MESSAGE_NOT_FOUND" in violation


def test_what_others_have_got_counts_as_well() -> None:
    checker = AcknowledgedIsReadable()
    assert found(checker, delivered(4), refused(4))
    assert found(checker, page(record(0, "m0"), ended_ms=50), refused(0))
    looked = MessageLooked(
        began_ms=1, ended_ms=2, reader="o", queue="q", partition=0, offset=3, epoch=1, uid="m3", body="<m3>"
    )
    assert found(checker, looked, refused(3))


def test_who_reads_from_the_leader_is_given_what_was_acknowledged() -> None:
    checker = AcknowledgedIsReadable()
    assert found(checker, sent("m1", 0), page(record(0, "m1"))) == []
    assert found(checker, sent("m1", 0), page(is_nearest=True)) == []
    assert "was given nothing from ('q', 0, 0) on" in found(checker, sent("m1", 0), page())[0]
    assert found(checker, sent("m1", 0), listed(1)) == []
    assert "ends at 0, 1 were known" in found(checker, sent("m1", 0), listed(0))[0]


def test_a_reader_never_sees_the_end_fall() -> None:
    checker = ReadersNeverSeeTheEndFall()
    assert found(checker, page(high_watermark=5), listed(5), page(high_watermark=6)) == []
    assert found(checker, page(high_watermark=5), page(high_watermark=4, reader="another")) == []
    assert "fell from 5 to 4" in found(checker, page(high_watermark=5), page(high_watermark=4))[0]
    assert "fell from 5 to 4" in found(checker, page(high_watermark=5), listed(4))[0]


def test_the_nearest_may_be_behind_but_not_behind_the_reader() -> None:
    checker = ReadersNeverSeeTheEndFall()
    assert found(checker, page(high_watermark=5), page(high_watermark=4, is_nearest=True)) == []
    behind = page(offset=3, high_watermark=2, is_nearest=True)
    assert "fell from 3 to 2" in found(checker, behind)[0]
    after = page(record(0, "m0"), record(1, "m1"), is_nearest=True)
    assert "fell from 2 to 1" in found(checker, after, page(high_watermark=1))[0]


def test_a_page_has_no_gaps() -> None:
    checker = PagesBeginWhereTheyWereAsked()
    assert found(checker, page(record(2, "m2"), record(3, "m3"), offset=2)) == []
    assert found(checker, page(record(3, "m3"), offset=2))
    assert found(checker, page(record(2, "m2"), offset=2, next_offset=4))


def test_a_page_shows_what_the_log_holds_for_good() -> None:
    checker = LogNeverChanges()
    assert found(checker, page(record(0, "m0")), log(record(0, "m0"))) == []
    assert "held m0 of epoch 1, then m1" in found(checker, page(record(0, "m0")), log(record(0, "m1")))[0]


def test_a_page_is_within_the_log() -> None:
    checker = NothingAboveTheHighWatermark()
    assert found(checker, page(record(0, "m0")), log(record(0, "m0"))) == []
    assert "went to 1" in found(checker, page(record(0, "m0"), high_watermark=0))[0]
    assert "told a high watermark of 2" in found(checker, page(high_watermark=2), log(record(0, "m0")))[0]
