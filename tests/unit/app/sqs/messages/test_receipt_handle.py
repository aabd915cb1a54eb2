"""Handles of deliveries."""

import pytest

from acklog.wire.identifiers import Receipt, id_from_bits
from app.sqs.messages.receipt_handle import ReceiptHandle, handle_text, parse_handle

RECEIPT = Receipt(id_from_bits(1), 2, 3, id_from_bits(4), 0, 5, 6)


def test_it_says_what_it_was_given() -> None:
    text = handle_text(str(RECEIPT), epoch=7, received_at_ms=1_000, visibility_ms=30)
    handle = parse_handle(text)
    assert handle == ReceiptHandle(RECEIPT, 7, 1_000, 30)
    assert str(handle.message_id) == f"m-{id_from_bits(1)}-2-7-3"
    assert (handle.may_be_over(1_029), handle.may_be_over(1_030)) == (False, True)
    assert len(text) <= 1024, "as long as a handle of SQS may be"


def test_a_receipt_is_one_too() -> None:
    assert parse_handle(str(RECEIPT)) == ReceiptHandle(RECEIPT)


@pytest.mark.parametrize("text", ["", "x", ".", f"{RECEIPT}.", f"{RECEIPT}.1", f"{RECEIPT}.1.2", f"{RECEIPT}.1.2.3.4"])
def test_what_is_none(text: str) -> None:
    assert parse_handle(text) is None
    assert parse_handle(f"{RECEIPT}.1.2.-3") is None
    assert parse_handle(f"{RECEIPT}.1.2.{'9' * 19}") is None
