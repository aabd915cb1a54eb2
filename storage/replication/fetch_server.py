"""A leader's side of the fetch sessions with one follower's node, in one of the two modes (KIP-227, adapted).

There is one session at a time; the latest life of the follower and its latest session win. Fetches of a session are
taken in order and without a gap, or the session is over.
"""

from collections import deque
from dataclasses import dataclass, replace

from storage.replication.fetch_answer import AnswerInMaking
from storage.replication.leader_events import FetchVerdict
from storage.replication.messages import FetchAnswer, FetchRequest, PartitionId
from storage.replication.replication_settings import ReplicationSettings
from storage.replication.served_session import LogView, ServedSession

_NO_PLACE = (-1, -1)


@dataclass(frozen=True, slots=True)
class _Parked:
    sequence: int
    bytes_max: int
    deadline_ms: int


class FetchServer:
    """The host lets the leader of each partition of an accepted fetch judge it (LeaderReplica) and says so in `judged`,
    tells of changes, and makes an answer whenever one `is_due`. Calls about partitions that are not in the session do
    nothing."""

    def __init__(self, settings: ReplicationSettings) -> None:
        self._settings = settings
        self._session = ServedSession()
        self._place = _NO_PLACE  # (incarnation, session)
        self._next_sequence = 0
        self._parked: deque[_Parked] = deque()
        self._abandoned: list[FetchAnswer] = []

    def accept(self, request: FetchRequest, now_ms: int) -> FetchAnswer | None:
        """None: each of `request.partitions` is to be judged. Else the fetch is refused with this answer."""
        place = (request.follower.incarnation, request.session)
        if request.sequence == 0 and place > self._place:
            self._begin(place)
        elif place != self._place or request.sequence != self._next_sequence:
            return _unknown(request)
        for partition in request.forgotten:
            self._session.forget(partition)
        added = sum(fetch.id not in self._session for fetch in request.partitions)
        is_too_large = len(self._session) + added > self._settings.session_partitions_max
        if is_too_large or len(self._parked) >= self._settings.fetches_in_flight_max:
            self._begin(place)
            self._next_sequence = -1  # none follows: whatever else comes of this session is refused as well
            return _unknown(request)
        self._next_sequence += 1
        bytes_max = min(request.bytes_max, self._settings.fetch_bytes_max)
        wait_ms = min(request.wait_ms, self._settings.fetch_wait_ms)
        self._parked.append(_Parked(request.sequence, bytes_max, now_ms + wait_ms))
        return None

    def judged(self, partition_id: PartitionId, verdict: FetchVerdict, views: tuple[LogView, ...]) -> None:
        """What the leader says of the follower's positions; `views` is empty where it refuses."""
        self._session.judged(partition_id, verdict, views)

    def changed(self, partition_id: PartitionId, views: tuple[LogView, ...]) -> None:
        """The leader's logs or high watermarks moved."""
        self._session.changed(partition_id, views)

    def refused(self, partition_id: PartitionId, verdict: FetchVerdict) -> None:
        """This node's leadership of the partition is over."""
        self._session.refused(partition_id, verdict)

    @property
    def partitions(self) -> list[PartitionId]:
        """What the follower's node follows here when it sends a fetch."""
        return self._session.partitions

    def is_due(self, now_ms: int) -> bool:
        """The oldest fetch is to be answered: there is work, a newer fetch ended its wait, or its time is over."""
        if not self._parked:
            return False
        return self._session.has_work or len(self._parked) > 1 or self._parked[0].deadline_ms <= now_ms

    def hurry(self) -> None:
        """The oldest fetch has waited long enough."""
        if self._parked:
            self._parked[0] = replace(self._parked[0], deadline_ms=0)

    def take_abandoned(self) -> list[FetchAnswer]:
        """Answers to fetches of a session that was replaced. Whoever sent them does not care; the transport may."""
        abandoned, self._abandoned = self._abandoned, []
        return abandoned

    def next_deadline(self) -> int | None:
        """When an answer is due, if nothing happens before."""
        return self._parked[0].deadline_ms if self._parked else None

    def begin_answer(self) -> AnswerInMaking:
        """Of the oldest fetch. One answer of a session is made at a time."""
        parked = self._parked.popleft()
        return AnswerInMaking(
            self._session,
            self._settings,
            place=self._place,
            sequence=parked.sequence,
            bytes_max=parked.bytes_max,
        )

    def check_invariants(self) -> None:
        """Raises AssertionError."""
        self._session.check_invariants()
        assert len(self._session) <= self._settings.session_partitions_max

    def _begin(self, place: tuple[int, int]) -> None:
        for parked in self._parked:
            self._abandoned.append(FetchAnswer(*self._place, parked.sequence, [], is_unknown=True))
        self._parked.clear()
        self._place = place
        self._session = ServedSession()
        self._next_sequence = 0


def _unknown(request: FetchRequest) -> FetchAnswer:
    return FetchAnswer(request.follower.incarnation, request.session, request.sequence, [], is_unknown=True)
