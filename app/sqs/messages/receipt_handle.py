"""The handle of a delivery: the receipt of Acklog, and what SQS wants to know of the receive besides.

    <receipt>.<epoch of the message's batch>.<received at, in ms since 1970>.<leased for, in ms>

A receipt alone, as Acklog's own API gives it, is a handle that does not say these.
"""

import re
from typing import NamedTuple

from acklog.wire.identifiers import MessageId, Receipt, parse_receipt

_NUMBER = r"(?:0|[1-9][0-9]{0,17})"
_TAIL = re.compile(rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})")


class ReceiptHandle(NamedTuple):
    """-1 stands for what is not known."""

    receipt: Receipt
    epoch: int = -1
    received_at_ms: int = -1
    visibility_ms: int = -1

    @property
    def message_id(self) -> MessageId:
        return MessageId(self.receipt.topic_id, self.receipt.partition, self.epoch, self.receipt.offset)

    def may_be_over(self, now_ms: int) -> bool:
        """Whether the lease has run out, unless it was extended."""
        return now_ms >= self.received_at_ms + self.visibility_ms


def handle_text(receipt: str, *, epoch: int, received_at_ms: int, visibility_ms: int) -> str:
    return f"{receipt}.{epoch}.{received_at_ms}.{visibility_ms}"


def parse_handle(text: str) -> ReceiptHandle | None:
    """None where it is none."""
    receipt_text, point, tail = text.partition(".")
    receipt = parse_receipt(receipt_text)
    if receipt is None:
        return None
    if not point:
        return ReceiptHandle(receipt)
    found = _TAIL.fullmatch(tail)
    return None if found is None else ReceiptHandle(receipt, *map(int, found.groups()))
