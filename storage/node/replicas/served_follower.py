"""What a leader's node keeps of one follower's node in one mode: the session, the fetches that wait, what is due."""

import asyncio
from collections import deque
from typing import NamedTuple

from storage.replication.fetch_answer import AnswerInMaking
from storage.replication.fetch_server import FetchServer
from storage.replication.followers import NEVER
from storage.replication.leader_events import FetchVerdict
from storage.replication.messages import FetchAnswer, FetchMode, FetchRequest, PartitionId
from storage.replication.replication_settings import ReplicationSettings
from storage.replication.served_session import LogView

_Waiter = asyncio.Future[FetchAnswer]
_NO_PLACE = (-1, -1)
_NOTHING_FOLLOWS = 1 << 62


class _Answered(NamedTuple):
    sequence: int
    at_ms: int


class ServedFollower:
    """`served` are the partitions of the session that no leader refuses; `heard_ms` is when it last fetched. Its fetch
    may have been long on its way: `followed_ms` is when something was answered that it had before it sent that fetch,
    so then it followed what it still follows by it."""

    def __init__(self, place: tuple[int, FetchMode], settings: ReplicationSettings) -> None:
        self.place = place
        self.served: dict[PartitionId, None] = {}
        self.heard_ms = 0
        self.followed_ms = NEVER
        self.timer: asyncio.TimerHandle | None = None
        self._settings = settings
        self._server = FetchServer(settings)
        self._session = _NO_PLACE
        self._next_sequence = 0
        self._early: dict[tuple[int, int, int], asyncio.Future[None]] = {}
        self._waiters: deque[_Waiter] = deque()  # as many as fetches are parked in the server, in the same order
        self._making: _Waiter | None = None
        self._behind: dict[PartitionId, FetchVerdict | tuple[LogView, ...]] = {}
        self._answers: deque[_Answered] = deque(maxlen=settings.fetches_in_flight_max)  # of this session, the last ones

    @property
    def node_id(self) -> int:
        return self.place[0]

    @property
    def is_making(self) -> bool:
        """An answer is being read, and whatever leaders say meanwhile waits: part of what an answer is made of may not
        change under it, and what it turns out to have nothing of is looked at again afterwards."""
        return self._making is not None

    # --- fetches come ------------------------------------------------------------------------------------------------

    async def wait_for_predecessor(self, request: FetchRequest) -> None:
        """Requests of a session may overtake each other on their way through tasks, by as many as are in flight. One
        that came first waits, for a moment."""
        turn = (request.follower.incarnation, request.session, request.sequence)
        if not self._is_early(request) or turn in self._early:
            return
        if len(self._early) >= self._settings.fetches_in_flight_max:
            return
        arrived = self._early[turn] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(self._settings.retry_ms / 1000):
                await arrived
        except TimeoutError:
            return
        finally:
            del self._early[turn]

    def _is_early(self, request: FetchRequest) -> bool:
        session = (request.follower.incarnation, request.session)
        if session < self._session:
            return False
        expected = self._next_sequence if session == self._session else 0
        return 0 < request.sequence - expected < self._settings.fetches_in_flight_max

    def accept(self, request: FetchRequest, now_ms: int) -> FetchAnswer | _Waiter:
        """The refusal; or what the answer will come by, and then each of its partitions is to be judged. `served` is
        another dict when a session began, or ended."""
        refused = self._server.accept(request, now_ms)
        for abandoned in self._server.take_abandoned():
            _settle(self._waiters.popleft(), abandoned)
        session = (request.follower.incarnation, request.session)
        if refused is not None:
            if session == self._session and not self._server.partitions:
                self._next_sequence = _NOTHING_FOLLOWS
                self._begin()
            return refused
        self.heard_ms = now_ms
        if request.sequence == 0:
            self._session = session
            self._begin()
        self._note_followed(request)
        self._next_sequence = request.sequence + 1
        successor = self._early.get((*session, self._next_sequence))
        if successor is not None and not successor.done():
            successor.set_result(None)
        for partition in request.forgotten:
            self.served.pop(partition, None)
        waiter: _Waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        return waiter

    def _begin(self) -> None:
        self.served = {}
        self._behind.clear()
        self._answers.clear()

    def _note_followed(self, request: FetchRequest) -> None:
        """Who has something to say may have another fetch under way; who has not waits for its answer first."""
        says_something = bool(request.partitions or request.forgotten)
        had = request.sequence - (self._settings.fetches_in_flight_max if says_something else 1)
        for sequence, at_ms in self._answers:
            if sequence <= had:
                self.followed_ms = max(self.followed_ms, at_ms)

    def judged(self, partition: PartitionId, verdict: FetchVerdict, views: tuple[LogView, ...]) -> None:
        self._behind.pop(partition, None)
        if verdict.refusal is None:
            self.served[partition] = None
        else:
            self.served.pop(partition, None)
        self._server.judged(partition, verdict, views)

    # --- leaders have news -------------------------------------------------------------------------------------------

    def changed(self, partition: PartitionId, views: tuple[LogView, ...]) -> None:
        if self.is_making:
            self._behind[partition] = views
        else:
            self._server.changed(partition, views)

    def refused(self, partition: PartitionId, verdict: FetchVerdict) -> None:
        self.served.pop(partition, None)
        if self.is_making:
            self._behind[partition] = verdict
        else:
            self._server.refused(partition, verdict)

    def hurry(self) -> None:
        """The oldest fetch that waits is to be answered now."""
        self._server.hurry()

    # --- answers go --------------------------------------------------------------------------------------------------

    def begin_answer(self, now_ms: int) -> AnswerInMaking | None:
        """The next answer that is due; `end_answer` follows. None while one is being made, or if none is due."""
        if self.is_making:
            return None
        while self._server.is_due(now_ms):
            making = self._server.begin_answer()
            waiter = self._waiters.popleft()
            if not waiter.done():  # else nobody waits for it any more: what is due stays due
                self._making = waiter
                return making
        return None

    def end_answer(self, answer: FetchAnswer, now_ms: int) -> None:
        assert self._making is not None
        waiter, self._making = self._making, None
        if (answer.incarnation, answer.session) == self._session:
            self._answers.append(_Answered(answer.sequence, now_ms))
        _settle(waiter, answer)
        behind, self._behind = self._behind, {}
        for partition, news in behind.items():
            if isinstance(news, FetchVerdict):
                self._server.refused(partition, news)
            else:
                self._server.changed(partition, news)

    def next_deadline(self) -> int | None:
        """When the oldest waiting fetch is to be answered in any case."""
        return self._server.next_deadline()

    def fail(self, error: BaseException) -> None:
        """Whoever waits learns this, and this object is of no use any more."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        waiters = [*self._waiters] if self._making is None else [self._making, *self._waiters]
        for waiter in waiters:
            if not waiter.done():
                waiter.set_exception(error)
        for arrived in self._early.values():
            if not arrived.done():
                arrived.set_result(None)


def _settle(waiter: _Waiter, answer: FetchAnswer) -> None:
    if not waiter.done():
        waiter.set_result(answer)
