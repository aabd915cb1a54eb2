"""What groups have surely done where a part of a delivery log, or the snapshot before it, cannot be read.

Fed with what can be read, in its order, and told where something is missing. Nothing may be skipped: what comes out
counts a message as done only if it was, or was passed by a seek that is still in force, so at worst messages are
delivered again. The one thing that makes a group go back is a seek, and it has a generation of its own. So a projected
offset is a lower bound where it is of the generation that the group is in, and of no other.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.group_progress import GroupProgress
from storage.delivery.group_snapshot import GroupSnapshot
from storage.delivery.records import (
    Acked,
    Claimed,
    DeadLettered,
    DeliveryRecord,
    GroupRemoved,
    Jumped,
    PositionCommitted,
    Returned,
    Skipped,
    Sought,
    Started,
    StateRestored,
)

UNKNOWN_GENERATION = -1
GENERATIONS_UNSEEN = 1 << 20
"""More seeks than a group has made of which nothing is left: receipts of before stay older than what comes."""


class Basis(Enum):
    """What a group's state was made of."""

    EXACT = "the delivery log: nothing of the group is lost"
    LOG = "the delivery log, without what stood in its damaged part"
    PROJECTED = "the progress that the coordination file has, and what is left of the delivery log"
    EARLIEST = "the first message of the partition, as nothing says surely how far the group was"


class Projection(NamedTuple):
    """A group had done everything below `offset` when it had sought `generation` times (UNKNOWN_GENERATION: earlier
    versions did not say)."""

    offset: int
    generation: int


@dataclass(slots=True)
class SalvagedGroup:
    """`is_confirmed`: since the last loss a record, or a projection, showed that no seek is missing."""

    progress: GroupProgress
    basis: Basis
    is_confirmed: bool = True

    def snapshot(self, group_id: str) -> GroupSnapshot:
        return self.progress.snapshot(group_id)


class DeliverySalvage:
    """`messages_start` is where the log of messages begins. `projections` go by group id; `readers` are groups that
    read the topic and may have read this partition, too."""

    def __init__(
        self, projections: Mapping[str, Projection], *, readers: Collection[str] = (), messages_start: int
    ) -> None:
        self._projections = projections
        self._readers = readers
        self._messages_start = messages_start
        self._groups: dict[str, SalvagedGroup] = {}
        self._removed: set[str] = set()
        self._has_lost = False

    def begin(self, snapshots: Iterable[GroupSnapshot]) -> None:
        """With the state of a snapshot that is sound."""
        for snapshot in snapshots:
            self._begin_with(snapshot)

    def _begin_with(self, snapshot: GroupSnapshot) -> None:
        progress = _new_progress(snapshot.progress)
        progress.restore(snapshot)
        self._groups[snapshot.group_id] = SalvagedGroup(progress, Basis.EXACT)

    def lost(self) -> None:
        """Here records are missing, of whatever kind."""
        self._has_lost = True
        for group in self._groups.values():
            group.is_confirmed = False
            if group.basis is Basis.EXACT:
                group.basis = Basis.LOG

    def apply(self, records: Iterable[DeliveryRecord]) -> None:
        for record in records:
            if isinstance(record, Started):
                self._removed.discard(record.group_id)
                if record.group_id not in self._groups:
                    self._groups[record.group_id] = SalvagedGroup(_new_progress(record.offset), Basis.EXACT)
            elif isinstance(record, StateRestored):
                self._removed.discard(record.group_id)
                self._begin_with(record.state)
            elif record.group_id in self._removed:
                continue
            elif isinstance(record, GroupRemoved):
                self._groups.pop(record.group_id, None)
                self._removed.add(record.group_id)
            elif isinstance(record, Sought):
                self._sought(record)
            elif isinstance(record, Claimed):
                self._claimed(record)
            elif isinstance(record, Jumped):
                group = self._groups.get(record.group_id)
                if group is not None:
                    group.progress.jumped(record)
            else:
                self._settled(record)

    def finish(self) -> dict[str, SalvagedGroup]:
        """The groups, by id, each at a state that is a lower bound of what it had done."""
        if self._has_lost:
            for group_id in sorted({*self._groups, *self._projections, *self._readers} - self._removed):
                self._settle_doubts(group_id)
        return dict(sorted(self._groups.items()))

    # --- records ---------------------------------------------------------------------------------------------------

    def _sought(self, record: Sought) -> None:
        """Whatever was lost before it: the group's state is known again, to the offset."""
        group = self._groups.get(record.group_id)
        if group is None:
            if not self._has_lost:
                return  # of a group that was removed before it in the log
            group = self._groups[record.group_id] = SalvagedGroup(_new_progress(record.offset), Basis.LOG)
        if group.progress.sought(record):
            group.basis, group.is_confirmed = Basis.EXACT, True

    def _claimed(self, record: Claimed) -> None:
        """A claim makes no message done. One that follows the generation that is known shows that no seek is missing
        between them."""
        group = self._groups.get(record.group_id)
        if self._has_lost and (group is None or record.generation > group.progress.generation + 1):
            group = self._begin_again(record.group_id, record.generation)
        if group is not None and group.progress.claimed(record):
            group.is_confirmed = True

    def _settled(self, record: Acked | Returned | DeadLettered | Skipped | PositionCommitted) -> None:
        group = self._groups.get(record.group_id)
        if self._has_lost and (group is None or record.generation > group.progress.generation):
            group = self._begin_again(record.group_id, record.generation)
        if group is None or record.generation != group.progress.generation:
            return
        group.is_confirmed = True
        if isinstance(record, Acked):
            group.progress.acked(record)
        elif isinstance(record, DeadLettered):
            group.progress.dead_lettered(record.runs)
        elif isinstance(record, Skipped):
            group.progress.skipped(record)
        elif isinstance(record, PositionCommitted):
            group.progress.position_committed(record)
        else:
            for item in record.items:
                group.progress.returned(item, record.wall_ms)

    # --- what was lost ---------------------------------------------------------------------------------------------

    def _begin_again(self, group_id: str, generation: int) -> SalvagedGroup:
        """How the group came to be in the generation is lost: it begins with what is surely done in that."""
        projection = self._projections.get(group_id)
        offset, basis = self._messages_start, Basis.EARLIEST
        # A group that has never sought had not done so at the time of a projection that does not say, either.
        if projection is not None and (projection.generation == generation or _is_of_first(projection, generation)):
            offset, basis = max(projection.offset, offset), Basis.PROJECTED
        progress = _new_progress(offset)
        progress.generation = generation
        before = self._groups.get(group_id)
        if before is not None:
            progress.lost_count = before.progress.lost_count
            progress.dead_lettered_count = before.progress.dead_lettered_count
            progress.expired_count = before.progress.expired_count
            progress.overtaken_count = before.progress.overtaken_count
            progress.deleted_count = before.progress.deleted_count
            progress.owner = before.progress.owner
            progress.claimed_generations = before.progress.claimed_generations
        group = self._groups[group_id] = SalvagedGroup(progress, basis)
        return group

    def _settle_doubts(self, group_id: str) -> None:
        group, projection = self._groups.get(group_id), self._projections.get(group_id)
        known = UNKNOWN_GENERATION if projection is None else projection.generation
        generation = UNKNOWN_GENERATION if group is None else group.progress.generation
        if group is None or known > generation or not (group.is_confirmed or known == generation):
            # Where not even the projection knows, seeks may be missing, and nothing of the group is sure.
            is_known = known >= max(generation, 0)
            self._begin_again(group_id, known if is_known else generation + GENERATIONS_UNSEEN)
        elif projection is not None and known == generation:
            group.progress.jumped(Jumped(group_id, projection.offset, 0))


def _is_of_first(projection: Projection, generation: int) -> bool:
    return generation == 0 and projection.generation == UNKNOWN_GENERATION


def _new_progress(offset: int) -> GroupProgress:
    return GroupProgress(offset, DeliverySettings())
