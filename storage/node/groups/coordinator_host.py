"""Runs the coordinator of one partition of `__groups` over its log: what it decides is durable before anybody hears.

What comes while a decision is on its way to the disks is decided together afterwards. Where a decision cannot be made
durable, nobody knows what of it stays: the coordinator is void, those who wait are told to come again, and another one
is made from the log.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import structlog

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.ports.clock import Clock
from storage.groups.coordinator import Coordinator
from storage.groups.coordinator_settings import CoordinatorSettings
from storage.groups.events import Beat, BeatGivenUp, CoordinatorEvent, GroupDecision
from storage.groups.surroundings import GroupSurroundings
from storage.node.groups.group_log import GroupLog
from storage.node.partition.deadline_timer import DeadlineTimer
from storage.node.partition.partition_host import PartitionHost
from storage.replication.leadership import UNAVAILABLE_RETRY_MS, Leadership, check_sure
from storage.rpc.membership_messages import HeartbeatRequest, HeartbeatResponse, MembersResponse

logger = structlog.get_logger(__name__)

_Answer = HeartbeatResponse | ServerError


class CoordinatorHost:
    """`open` begins; `close` ends. `on_crashed` is told of bugs."""

    def __init__(
        self,
        host: PartitionHost,
        leadership: Leadership,
        surroundings: GroupSurroundings,
        *,
        clock: Clock,
        settings: CoordinatorSettings,
        on_crashed: Callable[[BaseException], None],
    ) -> None:
        self.partition_host = host
        self._leadership = leadership
        self._surroundings = surroundings
        self._clock = clock
        self._settings = settings
        self._on_crashed = on_crashed
        self._log = GroupLog(
            host, commit_timeout_ms=settings.commit_timeout_ms, batch_bytes_max=settings.batch_bytes_max
        )
        self._coordinator: Coordinator | None = None  # while it may be asked
        self._events: list[CoordinatorEvent] = []
        self._answers: dict[int, asyncio.Future[HeartbeatResponse]] = {}
        self._token = 0
        self._is_turn_due = False
        self._task: asyncio.Task[None] | None = None  # opening, or making a decision durable
        self._at_rest = asyncio.Event()  # nothing is being read or made durable
        self._timer = DeadlineTimer(self._next_deadline, lambda _now_ms: self._turn(), clock=clock)
        self._ended: ServerError | None = None

    # --- life ------------------------------------------------------------------------------------------------------

    def open(self) -> None:
        self._begin(self._open())

    async def close(self, error: ServerError) -> None:
        """Whoever waits is told."""
        self.stop_waiting(error)
        self._timer.close()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def stop_waiting(self, error: ServerError) -> None:
        """Nothing is taken any more, and whoever waits is told."""
        self._ended = self._ended or error
        self._at_rest.set()
        self._fail_all(error)

    async def _open(self) -> None:
        while True:
            coordinator = Coordinator(self._settings)
            try:
                await self._log.read_into(coordinator, self._clock.monotonic_ms())
            except (ServerError, ValueError) as error:  # of batches, and of the records in them
                logger.error("group_coordinator_not_opened", partition=self.partition_host.partition, reason=str(error))
                await self._clock.sleep(self._settings.reopen_pause_ms)
                continue
            self._coordinator = coordinator
            return

    # --- what is asked ---------------------------------------------------------------------------------------------

    async def heartbeat(self, request: HeartbeatRequest) -> HeartbeatResponse:
        """Raises ServerError."""
        if self._ended is not None:
            raise self._ended
        if len(self._answers) >= 2 * self._settings.waiting_heartbeats_max:
            raise ServerError(ProblemCode.OVERLOADED, "Too many heartbeats are on their way.", retry_after_ms=1_000)
        self._token += 1
        token = self._token
        answer: asyncio.Future[HeartbeatResponse] = asyncio.get_running_loop().create_future()
        self._answers[token] = answer
        self.tell(Beat(token, request))
        try:
            return await answer
        except asyncio.CancelledError:
            if self._answers.pop(token, None) is not None:
                self.tell(BeatGivenUp(token))
            raise

    def tell(self, event: CoordinatorEvent) -> None:
        """It is taken together with what else comes in this turn of the loop."""
        self._events.append(event)
        self._call_turn()

    async def members(self, group_id: str) -> MembersResponse:
        """Raises ServerError. What is decided and not durable yet is waited for."""
        while self._task is not None and self._ended is None:
            await self._at_rest.wait()
        if self._ended is not None or self._coordinator is None:
            raise self._ended or _come_again("is read from its log")
        check_sure(self._leadership)
        return self._coordinator.describe(group_id, self._clock.monotonic_ms())

    def group_ids(self) -> list[str]:
        """Those with state here."""
        return [] if self._coordinator is None else list(self._coordinator.groups)

    @property
    def waiting(self) -> int:
        """Heartbeats that wait for news."""
        return 0 if self._coordinator is None else self._coordinator.waiting

    # --- turns -----------------------------------------------------------------------------------------------------

    def _call_turn(self) -> None:
        if not self._is_turn_due and self._task is None:
            self._is_turn_due = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        self._is_turn_due = False
        if self._task is not None or self._coordinator is None or self._ended is not None:
            return
        events, self._events = self._events, []
        try:
            decision = self._coordinator.decide(events, self._surroundings, self._clock.monotonic_ms())
        except Exception as error:
            self._on_crashed(error)
            return
        if decision.records:
            self._begin(self._commit(decision, self._coordinator))
        else:
            self._give(decision.answers)
            self._timer.arm()

    async def _commit(self, decision: GroupDecision, coordinator: Coordinator) -> None:
        try:
            await self._log.append(decision.records)
            self._give(decision.answers)
            if self._log.is_long(self._settings.log_bytes_max):
                await self._log.rewrite(coordinator.written())
        except ServerError as error:
            logger.warning("group_change_failed", partition=self.partition_host.partition, reason=str(error))
            self._coordinator = None
            self._events = []
            self._fail_all(_come_again(f"could not make a change durable: {error}"))
            await self._clock.sleep(self._settings.reopen_pause_ms)
            await self._open()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self._at_rest.clear()
        self._task = asyncio.get_running_loop().create_task(work)
        self._task.add_done_callback(self._task_done)

    def _task_done(self, task: "asyncio.Task[None]") -> None:
        self._task = None
        self._at_rest.set()
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            self._on_crashed(error)
            return
        self._call_turn()

    def _next_deadline(self) -> int | None:
        """None while a decision is on its way: the turn behind it looks again."""
        return None if self._coordinator is None or self._task is not None else self._coordinator.next_deadline()

    def _give(self, answers: list[tuple[int, _Answer]]) -> None:
        """Where somebody else may coordinate by now, nobody is told anything."""
        try:
            check_sure(self._leadership)
        except ServerError as error:
            answers = [(token, error) for token, _ in answers]
        for token, answer in answers:
            self._tell(token, answer)

    def _tell(self, token: int, answer: _Answer) -> None:
        future = self._answers.pop(token, None)
        if future is None or future.done():
            return
        if isinstance(answer, ServerError):
            future.set_exception(answer)
        else:
            future.set_result(answer)

    def _fail_all(self, error: ServerError) -> None:
        for token in list(self._answers):
            self._tell(token, error)


def _come_again(what: str) -> ServerError:
    detail = f"The group's coordinator {what}."
    return ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=UNAVAILABLE_RETRY_MS)
