"""The call by which a node's replica of a partition is compacted soon: each one does so for itself, whoever leads."""

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.disk.port import DiskFailedError, DiskRefusedError
from storage.log.refusal import refusal_of
from storage.node.compaction.compactor import Compactor
from storage.node.replicas.replicas import Replicas
from storage.replication.leadership import UNAVAILABLE_RETRY_MS
from storage.replication.messages import PartitionId
from storage.rpc.compaction_messages import CompactRequest, CompactResponse


class CompactionCalls:
    """Of one node."""

    def __init__(self, replicas: Replicas, compactor: Compactor) -> None:
        self._replicas = replicas
        self._compactor = compactor

    async def compact(self, request: CompactRequest) -> CompactResponse:
        """Raises ServerError: PARTITION_NOT_FOUND, and why it cannot be opened; TOPIC_NOT_COMPACTED; STORAGE_FULL,
        STORAGE_FAILED."""
        partition = PartitionId(request.topic_id, request.partition)
        replica = self._replicas.held.hosts.get(partition)
        if replica is None:
            detail = f"The node holds no replica of partition {request.partition}."
            why = self._replicas.failures.get((request.topic_id, request.partition))
            raise why or ServerError(ProblemCode.PARTITION_NOT_FOUND, detail)
        if not replica.topic.config.is_compacted:
            raise ServerError(ProblemCode.TOPIC_NOT_COMPACTED, f"{replica.topic.name!r} keeps all messages of a key")
        if request.is_asked:
            self._compactor.ask(replica)
        try:
            plan = await self._compactor.plan(replica)
        except DiskRefusedError as error:
            raise refusal_of(error, retry_after_ms=UNAVAILABLE_RETRY_MS) from error
        except DiskFailedError as error:
            raise ServerError(ProblemCode.STORAGE_FAILED, str(error)) from error
        return CompactResponse(
            self._compactor.is_asked(partition),
            self._compactor.under_way == partition,
            plan.clean_bytes,
            plan.dirty_bytes,
        )
