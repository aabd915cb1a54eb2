"""A follower's side of the fetch sessions, hosted: requests go out, answers come in, and failures begin anew."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import structlog

from cluster.backoff import Backoff
from cluster.errors import ServerError
from cluster.ports.clock import Clock
from storage.node.replicas.peer_directory import Peers
from storage.replication.assignment import ReplicaIdentity
from storage.replication.fetch_client import FetchClient
from storage.replication.follower_events import Answered
from storage.replication.messages import FetchAnswer, FetchMode, FetchRequest, PartitionFetch, PartitionId
from storage.replication.replication_settings import ReplicationSettings

logger = structlog.get_logger(__name__)

RETRY_GROWTH_MAX = 8
"""The pause between failures grows up to so many times `ReplicationSettings.retry_ms`."""

_NEVER = -(1 << 62)


class _Place(NamedTuple):
    """Which session."""

    leader: int
    mode: FetchMode


@dataclass(slots=True, eq=False)
class _Session:
    """`calls` are the requests under way, in the order of their sequence."""

    place: _Place
    client: FetchClient
    calls: deque["asyncio.Task[FetchAnswer]"] = field(default_factory=deque)
    timer: asyncio.Handle | None = None
    is_pump_due: bool = False
    failures: int = 0
    not_before_ms: int = 0
    answered_ms: int = _NEVER


class FetchSessions:
    """One session per leader's node and mode, kept going as long as it has partitions.

    `on_answered` gets what each answer says, partition by partition; what it says of a partition that was withdrawn
    meanwhile is dropped. `on_crashed` gets what nobody expects. A partition is in one session at a time.
    """

    def __init__(
        self,
        me: ReplicaIdentity,
        peers: Peers,
        *,
        clock: Clock,
        settings: ReplicationSettings,
        on_answered: Callable[[Answered], None],
        on_crashed: Callable[[BaseException], None],
    ) -> None:
        self._me = me
        self._peers = peers
        self._clock = clock
        self._settings = settings
        self._on_answered = on_answered
        self._on_crashed = on_crashed
        self._backoff = Backoff(settings.retry_ms, settings.retry_ms * RETRY_GROWTH_MAX)
        self._sessions: dict[_Place, _Session] = {}
        self._places: dict[PartitionId, _Place] = {}
        self._unfinished: dict[asyncio.Task[FetchAnswer], None] = {}
        self._is_closed = False

    @property
    def sessions_begun(self) -> int:
        """How often one was begun, failures included."""
        return sum(session.client.sessions_begun for session in self._sessions.values())

    def answered_ms(self, partition: PartitionId) -> int:
        """When the leader of the partition answered last, by the monotonic clock, whatever it answered."""
        place = self._places.get(partition)
        return _NEVER if place is None else self._sessions[place].answered_ms

    def offer(self, leader: int, mode: FetchMode, fetch: PartitionFetch) -> None:
        """Fetch the partition from there until it is answered or withdrawn."""
        if self._is_closed:
            return
        place = _Place(leader, mode)
        before = self._places.get(fetch.id)
        if before is not None and before != place:
            self.withdraw(fetch.id)
        self._places[fetch.id] = place
        session = self._sessions.get(place)
        if session is None:
            client = FetchClient(self._me, mode, self._settings)
            session = self._sessions[place] = _Session(place, client)
        if not session.client and not session.calls:
            session.failures = session.not_before_ms = 0  # nothing is known of how its leader is now
        session.client.offer(fetch)
        self._pump_soon(session)

    def withdraw(self, partition: PartitionId) -> None:
        """Fetch it no more, in whatever session it is."""
        place = self._places.pop(partition, None)
        if place is not None:
            session = self._sessions[place]
            session.client.withdraw(partition)
            self._pump_soon(session)

    async def close(self) -> None:
        """Nothing is handed out any more."""
        self._is_closed = True
        for session in self._sessions.values():
            self._give_up_calls(session)
            if session.timer is not None:
                session.timer.cancel()
        await asyncio.gather(*self._unfinished, return_exceptions=True)

    # --- a session's turn --------------------------------------------------------------------------------------------

    def _pump_soon(self, session: _Session) -> None:
        """Once for everything that is offered at this moment: one request names it all."""
        if not session.is_pump_due and not self._is_closed:
            session.is_pump_due = True
            asyncio.get_running_loop().call_soon(self._pump, session)

    def _pump(self, session: _Session) -> None:
        session.is_pump_due = False
        if self._is_closed:
            return
        now_ms = self._clock.monotonic_ms()
        begun = session.client.sessions_begun
        session.client.expire(now_ms)
        if session.client.sessions_begun != begun:
            logger.warning("fetch_answer_overdue", leader=session.place.leader, mode=session.place.mode.name)
            self._give_up_calls(session)
        if now_ms >= session.not_before_ms:
            while (request := session.client.next_request(now_ms)) is not None:
                self._send(session, request)
        self._arm(session, now_ms)

    def _arm(self, session: _Session, now_ms: int) -> None:
        if session.timer is not None:
            session.timer.cancel()
            session.timer = None
        deadline_ms = session.client.next_deadline()
        if now_ms < session.not_before_ms and len(session.client):
            deadline_ms = session.not_before_ms
        if deadline_ms is not None:
            wait_s = max(1, deadline_ms - now_ms) / 1000
            session.timer = asyncio.get_running_loop().call_later(wait_s, self._pump, session)

    def _send(self, session: _Session, request: FetchRequest) -> None:
        call = asyncio.get_running_loop().create_task(self._call(session.place.leader, request))
        session.calls.append(call)
        self._unfinished[call] = None
        call.add_done_callback(lambda done: self._ended(session, done))

    async def _call(self, leader: int, request: FetchRequest) -> FetchAnswer:
        return await self._peers.peer(leader).fetch(request)

    # --- how calls end -----------------------------------------------------------------------------------------------

    def _ended(self, session: _Session, call: "asyncio.Task[FetchAnswer]") -> None:
        """Answers are taken in the order of their requests, whichever comes first."""
        del self._unfinished[call]
        if call.cancelled():  # given up, or the whole process ends
            return
        if call not in session.calls:
            call.exception()  # seen
            return
        try:
            while session.calls and session.calls[0].done():
                self._take(session, session.calls.popleft())
        except Exception as error:
            self._on_crashed(error)
        self._pump_soon(session)

    def _take(self, session: _Session, call: "asyncio.Task[FetchAnswer]") -> None:
        """Raises what nobody expects."""
        try:
            answer = call.result()
        except ServerError as error:
            self._failed(session, error)
            return
        except Exception:
            self._failed(session, None)
            raise
        session.failures = 0
        now_ms = self._clock.monotonic_ms()
        session.answered_ms = now_ms
        begun = session.client.sessions_begun
        answered = session.client.answered(answer, now_ms)
        if session.client.sessions_begun != begun:
            self._give_up_calls(session)
        for each in answered:
            if each.answer.id in self._places:
                self._on_answered(each)

    def _failed(self, session: _Session, error: ServerError | None) -> None:
        session.client.begin_anew()
        self._give_up_calls(session)
        session.failures += 1
        pause_ms = self._backoff.delay_ms(session.failures)
        session.not_before_ms = self._clock.monotonic_ms() + pause_ms
        if session.failures == 1:
            logger.warning(
                "fetch_failed", leader=session.place.leader, mode=session.place.mode.name, reason=repr(error)
            )

    def _give_up_calls(self, session: _Session) -> None:
        """Their session is over."""
        for call in session.calls:
            call.cancel()
        session.calls.clear()
