"""The calls that move a group in a partition: operators' seeks, and commits of readers that keep their own position."""

import structlog

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.projected_offsets import ProjectedPartition
from cluster.model.values import Group, MissingPosition
from storage.delivery.group_in_partition import GroupInPartition
from storage.delivery.group_snapshot import CommittedPosition
from storage.delivery.handover import ClaimVerdict, OwnershipClaim
from storage.delivery.records import Sought
from storage.node.group_starts import GroupStarts
from storage.node.known_groups import KnownGroups
from storage.node.log_calls import check_not_diverged, check_range, seek_target
from storage.node.offset_projection import OffsetProjection
from storage.node.replicas.led_partition import Partition
from storage.replication.leadership import UNAVAILABLE_RETRY_MS, confirm
from storage.rpc.messages import CommitRequest, CommitResponse, SeekRequest, SeekResponse

logger = structlog.get_logger(__name__)

CONFLICT_RETRY_MS = 50
RELATIVE = "relative"


class PositionCalls:
    """Of one node."""

    def __init__(self, groups: KnownGroups, starts: GroupStarts, projection: OffsetProjection) -> None:
        self._groups = groups
        self._starts = starts
        self._projection = projection

    async def seek(self, partition: Partition, request: SeekRequest) -> SeekResponse:
        """A dry run begins nothing either: it says where the group would begin. Raises ServerError as `seek_target` and
        `PartitionGroups.start` do."""
        group = await self._groups.served(request.group_id)
        is_relative = request.to == RELATIVE
        if is_relative:
            await confirm(partition.leadership)  # another leader may know better where the group is
        target = 0 if is_relative else await seek_target(partition, request)
        known = await self._known(partition, group)
        if known is None and not is_relative and _is_to_be_told(partition, group):
            if request.dry_run:
                return SeekResponse(target, target)
            known = ProjectedPartition(target, 0, partition.host.leader_epoch, 0)
        topic = partition.host.topic
        contacts = self._starts.contacts
        contact = await (contacts.earlier if request.dry_run else contacts.meet)(group, topic)
        if not request.dry_run:
            await partition.start_group(group, known, contact)
        previous = await partition.position_of(group, known, contact)
        offset = _moved(partition, previous, request.value) if is_relative else target
        if request.dry_run:
            return SeekResponse(offset, previous)
        previous = await partition.groups.seek(group, offset)
        await self._projection.project([partition])
        return SeekResponse(offset, previous)

    async def _known(self, partition: Partition, group: Group) -> ProjectedPartition | None:
        """What the offset store knows of the group, where that says where it begins."""
        known = (await self._projection.read(group.id, partition.topic_id)).get(partition.number)
        return (
            None if known is not None and partition.groups.start_positions.is_overtaken(group, known.offset) else known
        )

    async def commit(self, partition: Partition, request: CommitRequest) -> CommitResponse:
        """Durable on return. Raises ServerError UNAVAILABLE, OFFSET_OUT_OF_RANGE, LOG_DIVERGED (rule R4),
        COMMIT_CONFLICT, CONFLICT, MEMBER_FENCED; nothing has changed then."""
        group = await self._groups.served(request.group_id)
        await _check_log_has_it(partition, request)
        await self._starts.start_at(group, partition, request.offset, is_known=request.expected >= 0)
        state = partition.delivery.state.as_it_is_set(group)
        if state is None:
            raise ServerError(ProblemCode.UNAVAILABLE, "The group has no state in the partition yet.")
        is_owner = await _is_owner(partition, state, request)
        previous = state.progress
        position = CommittedPosition(request.offset, request.leader_epoch, request.metadata)
        expected = request.expected if request.expected >= 0 else previous if is_owner else None
        decision = state.commit(position, expected=expected)
        if decision.problem is not None:
            raise _refusal(decision.problem, state, request)
        await partition.delivery.commit_together(decision.records)
        if decision.records:
            partition.groups.something_returned(group.id)
        if any(isinstance(record, Sought) for record in decision.records):
            await self._projection.project([partition])  # as with a seek: what is shown is never above what is done
            logger.info(
                "group_committed_back",
                group=group.name,
                topic=partition.host.topic.name,
                partition=partition.number,
                previous=previous,
                offset=request.offset,
            )
        return CommitResponse(state.progress, previous)


def _is_to_be_told(partition: Partition, group: Group) -> bool:
    """It has no position here, and begins nowhere by itself."""
    return group.settings.on_missing_position is MissingPosition.REFUSE and not partition.groups.knows(group.id)


async def _is_owner(partition: Partition, state: GroupInPartition, request: CommitRequest) -> bool:
    """Of a partition that members own one by one; False where nobody does. Raises ServerError MEMBER_FENCED, and
    UNAVAILABLE while it changes hands."""
    claim = None
    if request.ownership >= 0:
        claim = OwnershipClaim(request.member, request.ownership, request.gone_since, request.left_since)
        if await partition.groups.claim(state, claim) is ClaimVerdict.WAITING:
            detail = "The partition's owner before has not finished."
            raise ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=UNAVAILABLE_RETRY_MS)
    problem = state.fencing_problem(claim)
    if problem is not None:
        raise ServerError(problem, "The partition is another member's by now.", field="member")
    return claim is not None


def _moved(partition: Partition, progress: int, messages: int) -> int:
    """So many messages behind where a group is, or before it, within the log."""
    return max(partition.host.readable_start, min(progress + messages, partition.host.readable_end))


async def _check_log_has_it(partition: Partition, request: CommitRequest) -> None:
    """What the reader says it has read. Raises ServerError UNAVAILABLE, OFFSET_OUT_OF_RANGE, LOG_DIVERGED."""
    await confirm(partition.leadership)
    host = partition.host
    check_range(host, request.offset, field="offset")
    check_not_diverged(
        host.log, host.leader_epoch, offset=request.offset, read_in_epoch=request.leader_epoch, field="leaderEpoch"
    )


def _refusal(problem: ProblemCode, state: GroupInPartition, request: CommitRequest) -> ServerError:
    if problem is ProblemCode.CONFLICT:
        detail = "Another commit of the group is being written here."
        return ServerError(problem, detail, retry_after_ms=CONFLICT_RETRY_MS)
    progress = state.progress
    if request.expected >= 0:
        detail, field = f"The group is at {progress}, not at {request.expected}.", "expected"
    else:
        detail = f"The group is at {progress} already; to go back to {request.offset}, say that in `expected`, or seek."
        field = "offset"
    return ServerError(problem, detail, field=field, extra={"progress": progress})
