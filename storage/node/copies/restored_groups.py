"""The groups of a partition that is restored: how far they were, and what came back to them."""

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.delivery.adopted_state import adopted_state
from storage.delivery.partition_delivery import decode_snapshot
from storage.delivery.records import DeliveryFormatError, StateRestored
from storage.node.replicas.led_partition import Partition
from storage.rpc.copy_messages import CopyRequest


async def restore_groups(partition: Partition, request: CopyRequest, *, groups_max: int) -> None:
    """Durable on return; to be done again is the same. Groups that the request gives no id here are left out. Raises
    ServerError INVALID_FIELD, OVERLOADED, and as an append does."""
    host = partition.host
    try:
        records = [
            StateRestored(
                request.group_ids[found.group_id],
                adopted_state(
                    found,
                    request.group_ids[found.group_id],
                    end=host.high_watermark,
                    leader_epoch=host.leader_epoch,
                ),
            )
            for found in decode_snapshot(request.content)
            if found.group_id in request.group_ids
        ]
    except DeliveryFormatError as error:
        raise ServerError(ProblemCode.INVALID_FIELD, f"cannot be restored: {error}", field="state") from error
    known = set(partition.groups.group_ids())
    if len(known | {record.group_id for record in records}) > groups_max:
        detail = f"A partition has {groups_max} groups at most."
        raise ServerError(ProblemCode.INVALID_FIELD, detail, field="groups")
    await partition.delivery.commit_together(records)
