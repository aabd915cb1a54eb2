"""The check of the log finds every violation that it is there for; each is fabricated here."""

from collections.abc import Sequence

import pytest

from app.demo.records_check import RecordsCheck
from app.demo.send_ledger import SendLedger

BYTES, ONCE, ORDER, GAPS = range(4)
Record = tuple[int, int, str | None, int]

SENT: list[Record] = [(0, 0, "a", 10), (0, 1, "b", 11), (0, 2, "a", 12), (1, 0, None, 13)]


def judge(log: Sequence[Record], ends: dict[int, int], sent: Sequence[Record] = SENT) -> list[bool]:
    """Whether each of the four checks is well, for sends acknowledged at `sent` and a log that reads as `log`."""
    ledger = SendLedger()
    for index, (partition, offset, key, digest) in enumerate(sent):
        ledger.planned(index, key, digest)
        ledger.stored(index, partition, offset)
    check = RecordsCheck(ledger)
    for partition, offset, key, digest in log:
        check.record(partition, offset, key, digest)
    for partition, high_watermark in ends.items():
        check.end(partition, high_watermark)
    return [finding.is_ok for finding in check.findings()]


def failed(found: list[bool]) -> set[int]:
    return {number for number, is_ok in enumerate(found) if not is_ok}


def test_the_log_as_it_was_sent_is_well() -> None:
    assert failed(judge(SENT, {0: 3, 1: 1})) == set()


@pytest.mark.parametrize("lost", range(4))
def test_a_lost_message_is_found(lost: int) -> None:
    log = [record for number, record in enumerate(SENT) if number != lost]
    assert BYTES in failed(judge(log, {0: 3, 1: 1}))


def test_a_lost_tail_is_found_even_where_the_high_watermark_agrees_with_it() -> None:
    assert failed(judge(SENT[:2] + SENT[3:], {0: 2, 1: 1})) == {BYTES}


def test_a_partition_that_was_not_read_to_its_end_is_found() -> None:
    assert failed(judge(SENT, {0: 4, 1: 1})) == {GAPS}


def test_other_bytes_are_found() -> None:
    log = [(0, 0, "a", 99), *SENT[1:]]
    assert failed(judge(log, {0: 3, 1: 1})) == {BYTES}


def test_two_messages_that_changed_places_are_found() -> None:
    log = [(0, 0, "a", 12), SENT[1], (0, 2, "a", 10), SENT[3]]
    assert failed(judge(log, {0: 3, 1: 1})) == {BYTES}


def test_a_retry_that_was_stored_again_is_found() -> None:
    assert failed(judge([*SENT[:3], (0, 3, "a", 12), SENT[3]], {0: 4, 1: 1})) == {ONCE}


def test_a_record_that_reads_twice_is_found() -> None:
    assert ONCE in failed(judge([SENT[0], SENT[0], *SENT[1:]], {0: 3, 1: 1}))


def test_a_gap_is_found() -> None:
    sent = [SENT[0], (0, 2, "b", 11)]
    assert failed(judge(sent, {0: 3}, sent)) == {GAPS}


def test_a_key_out_of_order_is_found() -> None:
    sent: list[Record] = [(0, 1, "a", 10), (0, 0, "a", 11)]
    assert failed(judge(sorted(sent), {0: 2}, sent)) == {ORDER}


def test_a_key_in_two_partitions_is_found() -> None:
    sent: list[Record] = [(0, 0, "a", 10), (1, 0, "a", 11)]
    assert failed(judge(sent, {0: 1, 1: 1}, sent)) == {ORDER}


def test_another_key_than_was_sent_is_found() -> None:
    assert ORDER in failed(judge([(0, 0, "c", 10), *SENT[1:]], {0: 3, 1: 1}))


def test_an_empty_log_proves_nothing() -> None:
    assert failed(judge([], {0: 0}, [])) == {BYTES, ONCE, ORDER, GAPS}
