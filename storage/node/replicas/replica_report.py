"""How far a replica goes, for operators: the same for a leader, a follower, and one that nobody leads."""

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.log.log_table import LogKind
from storage.node.replicas.replicas import Replicas
from storage.replication.assignment import ReplicaIdentity
from storage.rpc.messages import LogReach, ReplicaReportRequest, ReplicaReportResponse


def report_of(replicas: Replicas, request: ReplicaReportRequest, me: ReplicaIdentity) -> ReplicaReportResponse:
    """What is durable on this node. Raises ServerError: PARTITION_NOT_FOUND, and why it cannot be opened."""
    place = (request.topic_id, request.partition)
    replica = next((each for each in replicas.held if (each.topic.id, each.number) == place), None)
    if replica is None:
        detail = f"Node {me.node_id} holds no replica of partition {request.partition}."
        raise replicas.failures.get(place) or ServerError(ProblemCode.PARTITION_NOT_FOUND, detail)
    reaches = [
        LogReach(log.log_start, log.log_end, log.leader_epochs.last_epoch, high_watermark)
        for log, high_watermark in zip(replica.logs, replica.high_watermarks, strict=True)
    ]
    return ReplicaReportResponse(
        me.incarnation,
        me.directory_id,
        replica.leader_epoch,
        reaches[LogKind.MESSAGES],
        reaches[LogKind.DELIVERY],
        replica.is_damaged,
    )
