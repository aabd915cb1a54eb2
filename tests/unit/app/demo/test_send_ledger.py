"""The ledger of sends finds what a broken server would answer."""

import pytest

from app.demo.send_ledger import SendLedger


def planned(count: int) -> SendLedger:
    ledger = SendLedger()
    for index in range(count):
        ledger.planned(index, f"key-{index}", 100 + index)
    return ledger


def test_every_send_with_a_place_of_its_own_is_well() -> None:
    ledger = planned(3)
    for index in range(3):
        ledger.stored(index, 0, index)
    assert ledger.check_answers().is_ok
    assert ledger.checksum == 303


def test_a_send_without_an_acknowledgement_is_found() -> None:
    ledger = planned(2)
    ledger.stored(0, 0, 0)
    assert not ledger.check_answers().is_ok


def test_one_place_for_two_messages_is_found() -> None:
    ledger = planned(2)
    ledger.stored(0, 0, 0)
    ledger.stored(1, 0, 0)
    finding = ledger.check_answers()
    assert not finding.is_ok
    assert "both acknowledged at 0/0" in finding.examples[0]


def test_two_places_for_one_message_are_found() -> None:
    ledger = planned(1)
    ledger.stored(0, 0, 0)
    ledger.stored(0, 0, 1)
    assert "a second time" in ledger.check_answers().examples[0]


def test_nothing_sent_proves_nothing() -> None:
    assert not SendLedger().check_answers().is_ok


def test_indexes_have_no_gaps() -> None:
    with pytest.raises(ValueError, match="message 2 comes after 0"):
        planned(1).planned(2, None, 0)
