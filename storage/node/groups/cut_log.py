"""What a leader does about messages that an unclean election has given up (rule R9): groups that were done with them go
back, and who was delivered them cannot settle what stands at their offsets now."""

from collections.abc import Sequence

import structlog

from acklog.wire.problems import ProblemCode
from storage.delivery.cut_log import records_of_cut
from storage.node.groups.delivery_host import DeliveryHost
from storage.node.partition.partition_host import PartitionHost
from storage.rpc.messages import SettleItem

logger = structlog.get_logger(__name__)


async def put_groups_back(host: PartitionHost, delivery: DeliveryHost) -> None:
    """What comes behind the log's end now is not done. That is committed before anything is appended there, and logged.

    Raises ServerError as an append of the delivery log does.
    """
    log_end = host.log.log_end
    for state in delivery.state.groups():
        before = state.snapshot()
        records = records_of_cut(before, log_end)
        if not records:
            continue
        logger.error(
            "group_cut_with_log",
            group_id=state.group_id,
            topic=host.topic.name,
            partition=host.partition,
            progress=before.progress,
            log_end=log_end,
        )
        await delivery.commit_together(records)


def gone_with_log(items: Sequence[SettleItem], host: PartitionHost) -> list[str] | None:
    """What was delivered by a leader of before the message at its offset was written is another message. A code per
    item, "" for one that is as it was; None where all are."""
    epochs = host.log.leader_epochs
    if min([item.leader_epoch for item in items], default=epochs.last_epoch) >= epochs.last_epoch:
        return None
    below = host.high_watermark
    gone = [item.offset < below and item.leader_epoch < epochs.epoch_at(item.offset) for item in items]
    if not any(gone):
        return None
    return [
        (ProblemCode.RECEIPT_STALE if item.attempt else ProblemCode.MESSAGE_NOT_FOUND).name if is_gone else ""
        for item, is_gone in zip(items, gone, strict=True)
    ]
