"""The ledger of a group finds every violation that it is there for; each is fabricated here."""

from app.demo.findings import PromiseCheck
from app.demo.group_ledger import GroupLedger, check_lag
from app.demo.send_ledger import SendLedger

DONE, CONTENT, AGAIN = range(3)
COUNT = 3


def sent() -> SendLedger:
    ledger = SendLedger()
    for index in range(COUNT):
        ledger.planned(index, None, 100 + index)
        ledger.stored(index, 0, index)
    return ledger


def deliver(ledger: GroupLedger, began: int, offset: int, digest: int) -> None:
    """An answer holds the message, and a handler gets it."""
    ledger.delivered(began, 0, offset)
    ledger.handled(0, offset, digest)


def with_all_delivered(ledger: GroupLedger) -> None:
    began = ledger.receive_began()
    for offset in range(COUNT):
        deliver(ledger, began, offset, 100 + offset)


def failed(ledger: GroupLedger) -> set[int]:
    findings: list[PromiseCheck] = ledger.findings(sent())
    return {number for number, finding in enumerate(findings) if not finding.is_ok}


def test_delivered_and_done_once_is_well() -> None:
    ledger = GroupLedger("group")
    with_all_delivered(ledger)
    assert [ledger.acknowledged(0, offset) for offset in range(COUNT)] == [True] * COUNT
    assert failed(ledger) == set()
    assert (ledger.deliveries, ledger.redeliveries, ledger.done_count) == (COUNT, 0, COUNT)


def test_a_message_that_was_never_done_is_found() -> None:
    ledger = GroupLedger("group")
    with_all_delivered(ledger)
    for offset in range(COUNT - 1):
        ledger.acknowledged(0, offset)
    assert failed(ledger) == {DONE}


def test_one_message_done_in_the_place_of_another_is_found_by_the_checksum() -> None:
    ledger = GroupLedger("group")
    began = ledger.receive_began()
    for offset, digest in enumerate((100, 101, 101)):
        deliver(ledger, began, offset, digest)
        ledger.acknowledged(0, offset)
    findings = ledger.findings(sent())
    assert failed(ledger) == {DONE, CONTENT}
    assert any("checksum" in text for text in findings[DONE].examples)


def test_a_message_done_without_a_delivery_is_found() -> None:
    ledger = GroupLedger("group")
    began = ledger.receive_began()
    for offset in range(COUNT):
        if offset:
            deliver(ledger, began, offset, 100 + offset)
        ledger.acknowledged(0, offset)
    assert DONE in failed(ledger)


def test_done_twice_counts_once() -> None:
    ledger = GroupLedger("group")
    with_all_delivered(ledger)
    for offset in range(COUNT):
        ledger.acknowledged(0, offset)
    assert not ledger.acknowledged(0, 0)
    assert ledger.done_count == COUNT


def test_a_delivery_that_began_after_the_acknowledgement_is_found() -> None:
    ledger = GroupLedger("group")
    with_all_delivered(ledger)
    for offset in range(COUNT):
        ledger.acknowledged(0, offset)
    deliver(ledger, ledger.receive_began(), 1, 101)
    assert failed(ledger) == {AGAIN}


def test_a_delivery_that_was_under_way_when_the_acknowledgement_returned_is_allowed() -> None:
    ledger = GroupLedger("group")
    with_all_delivered(ledger)
    began = ledger.receive_began()
    for offset in range(COUNT):
        ledger.acknowledged(0, offset)
    deliver(ledger, began, 1, 101)
    assert failed(ledger) == set()
    assert ledger.redeliveries == 1


def test_a_second_acknowledgement_does_not_excuse_a_delivery_between_both() -> None:
    ledger = GroupLedger("group")
    with_all_delivered(ledger)
    for offset in range(COUNT):
        ledger.acknowledged(0, offset)
    began = ledger.receive_began()
    ledger.acknowledged(0, 1)
    deliver(ledger, began, 1, 101)
    assert failed(ledger) == {AGAIN}


def test_a_redelivery_before_the_acknowledgement_is_allowed() -> None:
    ledger = GroupLedger("group")
    with_all_delivered(ledger)
    with_all_delivered(ledger)
    for offset in range(COUNT):
        ledger.acknowledged(0, offset)
    assert failed(ledger) == set()


def test_a_redelivery_with_other_bytes_is_found() -> None:
    ledger = GroupLedger("group")
    with_all_delivered(ledger)
    deliver(ledger, ledger.receive_began(), 0, 999)
    for offset in range(COUNT):
        ledger.acknowledged(0, offset)
    assert failed(ledger) == {CONTENT}


def test_a_delivery_of_what_nobody_sent_is_found() -> None:
    ledger = GroupLedger("group")
    with_all_delivered(ledger)
    deliver(ledger, ledger.receive_began(), COUNT, 999)
    for offset in range(COUNT):
        ledger.acknowledged(0, offset)
    assert failed(ledger) == {CONTENT}


def test_a_delivery_after_the_acknowledgement_is_found_even_if_no_handler_got_it() -> None:
    ledger = GroupLedger("group")
    with_all_delivered(ledger)
    for offset in range(COUNT):
        ledger.acknowledged(0, offset)
    ledger.delivered(ledger.receive_began(), 0, 1)
    assert failed(ledger) == {AGAIN}


def test_a_message_that_was_received_and_never_handled_is_not_done() -> None:
    ledger = GroupLedger("group")
    began = ledger.receive_began()
    deliver(ledger, began, 0, 100)
    deliver(ledger, began, 1, 101)
    ledger.delivered(began, 0, 2)
    for offset in range(COUNT):
        ledger.acknowledged(0, offset)
    assert failed(ledger) == {DONE}


def test_a_message_that_no_answer_held_is_found() -> None:
    ledger = GroupLedger("group")
    began = ledger.receive_began()
    deliver(ledger, began, 0, 100)
    deliver(ledger, began, 1, 101)
    ledger.handled(0, 2, 102)
    for offset in range(COUNT):
        ledger.acknowledged(0, offset)
    assert failed(ledger) == {CONTENT}


def test_no_delivery_proves_nothing() -> None:
    assert failed(GroupLedger("group")) == {DONE, CONTENT, AGAIN}


def test_lag_must_be_shown_and_zero_in_every_partition_with_messages() -> None:
    assert check_lag("group", {0: 0, 1: 0}, partitions=[0, 1]).is_ok
    assert check_lag("group", {0: 0, 1: 0}, partitions=[1]).is_ok
    assert not check_lag("group", {0: 0, 1: 1}, partitions=[0]).is_ok
    assert not check_lag("group", {0: 0}, partitions=[0, 1]).is_ok
    assert not check_lag("group", {}, partitions=[]).is_ok
