"""Whether a receipt may still settle its message.

A receipt is valid until a newer lease of that message exists (rule R22): after its deadline and after a failover, too.
Deliveries of one message are ordered by (leader epoch, attempt) within a generation. A lease that was released because
its answer could not be written is the exception: the next one has the same attempt and so the same receipt, which
nobody has seen.
"""

from typing import Protocol

from acklog.wire.problems import ProblemCode

BY_MESSAGE_ID = 0
"""In place of an attempt: the message itself is meant."""


class SettleItem(Protocol):
    """A delivery as its receipt names it; `attempt` may be BY_MESSAGE_ID, then only `offset` counts."""

    @property
    def offset(self) -> int: ...
    @property
    def generation(self) -> int: ...
    @property
    def leader_epoch(self) -> int: ...
    @property
    def attempt(self) -> int: ...


def forged(item: SettleItem, *, generation: int, leader_epoch: int, high_watermark: int) -> bool:
    """Whether no leader up to this one can have made the receipt, whatever became of the message."""
    return item.offset >= high_watermark or item.generation > generation or item.leader_epoch > leader_epoch


def judge(
    item: SettleItem, *, generation: int, leader_epoch: int, newest: tuple[int, int] | None
) -> ProblemCode | None:
    """`newest` is the newest known delivery of the message, as (leader epoch, attempt); None for success.

    Returns RECEIPT_STALE or INVALID_RECEIPT.
    """
    if item.generation < generation:
        return ProblemCode.RECEIPT_STALE
    given = (item.leader_epoch, item.attempt)
    if given == newest:
        return None
    if newest is not None and given < newest:
        return ProblemCode.RECEIPT_STALE
    # Newer than all that is known: a lease of an earlier leader, forgotten in the failover, or an invention.
    return ProblemCode.INVALID_RECEIPT if item.leader_epoch == leader_epoch else None
