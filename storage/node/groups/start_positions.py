"""Where a group begins in a partition, and where it does not go on by itself."""

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.projected_offsets import FirstContact
from cluster.model.values import Group, MissingPosition, StartPosition
from storage.delivery.group_in_partition import GroupInPartition
from storage.node.partition.partition_host import PartitionHost


class StartPositions:
    """Of one partition."""

    def __init__(self, host: PartitionHost) -> None:
        self._host = host

    async def start_of(self, group: Group, projected_offset: int | None, contact: FirstContact | None) -> int:
        """Raises ServerError POSITION_MISSING."""
        start = self._host.readable_start
        if projected_offset is not None:
            if self.is_overtaken(group, projected_offset):
                raise self._no_position()
            return projected_offset
        if _is_to_be_told(group) and (contact is None or start):
            raise self._no_position()  # of a new partition of a topic that it reads nothing can have been missed
        if group.settings.start_position is StartPosition.EARLIEST:
            return start
        if contact is None:
            return self._host.readable_end
        if self._host.partition >= contact.partitions:
            return start
        return await self._host.log.offset_at_time(contact.at_ms)

    def within_log(self, offset: int) -> int:
        return min(max(offset, self._host.readable_start), self._host.readable_end)

    def is_overtaken(self, group: Group, offset: int) -> bool:
        """Whether retention has passed this position of a group that is to be told where it goes on then. What a person
        deleted he has decided about."""
        start = self._host.readable_start
        return _is_to_be_told(group) and offset < start and self._host.deleted_below < start

    def check_not_overtaken(self, group: Group, state: GroupInPartition) -> None:
        """What the group has leased stays its own. Raises ServerError POSITION_MISSING where retention has removed what
        it had not done, and nobody has said since where it goes on."""
        overtaken = state.totals.overtaken
        if overtaken and _is_to_be_told(group):
            detail = f"Retention has removed {overtaken} messages that the group had not done in {self._where}"
            raise ServerError(ProblemCode.POSITION_MISSING, f"{detail}, {_WHAT_TO_DO}", field="group")

    def _no_position(self) -> ServerError:
        detail = f"The group has no position in {self._where}, {_WHAT_TO_DO}"
        return ServerError(ProblemCode.POSITION_MISSING, detail, field="group")

    @property
    def _where(self) -> str:
        return f"partition {self._host.partition} of {self._host.topic.name!r}"


_WHAT_TO_DO = "and its onMissingPosition is refuse: seek, or commit one."


def _is_to_be_told(group: Group) -> bool:
    return group.settings.on_missing_position is MissingPosition.REFUSE
