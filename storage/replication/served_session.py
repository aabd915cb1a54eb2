"""What a leader's node keeps of one fetch session: its partitions, and which of them have news.

A partition of the session is either waiting (its position is known, and it is answered when there is news) or with the
follower (it was given work, and says its new position when that is durable). Waiting ones with work stand in a line;
of the others those are remembered whose log start or high watermark the follower was not told.
"""

from collections import OrderedDict
from itertools import islice
from typing import NamedTuple

from storage.replication.divergence import Diverged, Restart
from storage.replication.leader_events import FetchVerdict, LogVerdict
from storage.replication.messages import PartitionAnswer, PartitionId


class LogView(NamedTuple):
    """The leader's log as it is now; `end` is behind what may be sent."""

    log_start: int
    high_watermark: int
    end: int


class ServedPartition:
    """`views` are of the logs that the follower named, none where the leader refuses. `turn` is the log that is read
    first."""

    __slots__ = ("told_bounds", "turn", "verdict", "views")

    def __init__(self, verdict: FetchVerdict, views: tuple[LogView, ...]) -> None:
        self.verdict = verdict
        self.views = views[: len(verdict.logs)]
        self.told_bounds: tuple[tuple[int, int], ...] = ()
        self.turn = 0

    def show(self, views: tuple[LogView, ...]) -> None:
        """The leader's logs as they are now."""
        self.views = views[: len(self.verdict.logs)]

    @property
    def has_work(self) -> bool:
        if self.verdict.refusal is not None:
            return True
        return any(
            parting(log, view) is not None or view.end > log.position.offset
            for log, view in zip(self.verdict.logs, self.views, strict=True)
        )

    def told(self, answer: PartitionAnswer) -> None:
        """This answer goes out."""
        if not answer.refusal:
            self.told_bounds = tuple((log.log_start, log.high_watermark) for log in answer.logs)

    @property
    def has_news(self) -> bool:
        return tuple((view.log_start, view.high_watermark) for view in self.views) != self.told_bounds


def parting(log: LogVerdict, view: LogView) -> Diverged | Restart | None:
    """How the follower gets back on the leader's path, whose log start may have moved since it fetched."""
    if log.parting is None and log.position.offset < view.log_start:
        return Restart(view.log_start)
    return log.parting


class ServedSession:
    """One session; a follower that begins a new one gets a new object."""

    def __init__(self) -> None:
        self._partitions: dict[PartitionId, ServedPartition] = {}
        self._with_follower: dict[PartitionId, None] = {}
        self._line: OrderedDict[PartitionId, None] = OrderedDict()
        self._news: dict[PartitionId, None] = {}

    def __len__(self) -> int:
        return len(self._partitions)

    def __contains__(self, partition_id: PartitionId) -> bool:
        return partition_id in self._partitions

    def __getitem__(self, partition_id: PartitionId) -> ServedPartition:
        return self._partitions[partition_id]

    @property
    def partitions(self) -> list[PartitionId]:
        return list(self._partitions)

    @property
    def has_work(self) -> bool:
        return bool(self._line)

    def judged(self, partition_id: PartitionId, verdict: FetchVerdict, views: tuple[LogView, ...]) -> None:
        """The follower is at a new position, of which the leader says this."""
        known = self._partitions.get(partition_id)
        partition = self._partitions[partition_id] = ServedPartition(verdict, views)
        if known is not None:
            partition.turn = known.turn % max(len(partition.views), 1)
            partition.told_bounds = known.told_bounds
        self._with_follower.pop(partition_id, None)
        self._line.pop(partition_id, None)
        self._news.pop(partition_id, None)
        self._sort_in(partition_id, partition)

    def changed(self, partition_id: PartitionId, views: tuple[LogView, ...]) -> None:
        partition = self._partitions.get(partition_id)
        if partition is not None and partition.verdict.refusal is None:
            partition.show(views)
            self._sort_in(partition_id, partition)

    def refused(self, partition_id: PartitionId, verdict: FetchVerdict) -> None:
        partition = self._partitions.get(partition_id)
        if partition is not None:
            partition.verdict, partition.views = verdict, ()
            self._sort_in(partition_id, partition)

    def forget(self, partition_id: PartitionId) -> None:
        for kept in (self._partitions, self._with_follower, self._line, self._news):
            kept.pop(partition_id, None)

    # --- answering ---------------------------------------------------------------------------------------------------

    def take_from_line(self) -> PartitionId | None:
        """The first in line, which is with the follower from now on."""
        partition_id = next(iter(self._line), None)
        if partition_id is not None:
            del self._line[partition_id]
            self._with_follower[partition_id] = None
        return partition_id

    def put_back(self, partition_id: PartitionId, answered: FetchVerdict, *, is_next: bool) -> None:
        """Nothing was sent of it after all. It `is_next` where that was for lack of room; else nothing was there, and
        it waits for the next change, unless there was one meanwhile."""
        partition = self._partitions.get(partition_id)
        if partition is None or partition_id not in self._with_follower:
            return  # it has left the session, or the follower has moved on
        del self._with_follower[partition_id]
        if partition.verdict is not answered:
            self._sort_in(partition_id, partition)
        elif is_next:
            self._line[partition_id] = None
            self._line.move_to_end(partition_id, last=False)
        elif partition.has_news:
            self._news[partition_id] = None

    def take_news(self, count_max: int) -> list[PartitionId]:
        """Waiting partitions with bounds that the follower was not told of."""
        taken = list(islice(self._news, count_max))
        for partition_id in taken:
            del self._news[partition_id]
        return taken

    def check_invariants(self) -> None:
        """Raises AssertionError."""
        for part in (self._with_follower, self._line, self._news):
            assert part.keys() <= self._partitions.keys()
        assert not self._with_follower.keys() & self._line.keys()
        assert not self._news.keys() & (self._with_follower.keys() | self._line.keys())

    def _sort_in(self, partition_id: PartitionId, partition: ServedPartition) -> None:
        if partition_id in self._with_follower:
            return
        if partition.has_work:
            self._line[partition_id] = None
            self._news.pop(partition_id, None)
        elif partition.has_news:
            self._news[partition_id] = None
