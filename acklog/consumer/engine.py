"""What a consumer does in the background: receives ahead, keeps leases, sends acks and nacks.

Tasks on one event loop: one receives, one settles, and one keeps a member of an exclusive group alive. Whoever works on
messages may be in other threads: what both touch is in `holdings`.
"""

import asyncio
import logging
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from acklog.client import message_calls
from acklog.client.alarm import Alarm
from acklog.client.call import Call
from acklog.client.caller import Caller
from acklog.client.retry import Backoff
from acklog.consumer.consumer_settings import ConsumerSettings
from acklog.consumer.holdings import Holdings
from acklog.consumer.lanes import Worker
from acklog.consumer.member_partitions import Asking, MemberPartitions
from acklog.consumer.settlements import SettlementProblem, SettlementRequest
from acklog.consumer.source import MemberSource, Source, lanes_of
from acklog.errors import (
    AcklogError,
    DeadlineExceeded,
    InvalidArgument,
    MemberFenced,
    MemberUnknown,
    SettlementsLost,
    Unavailable,
)
from acklog.messages import Message, Settled

AT_ONCE_S = 0.05  # an empty answer that comes so fast was not waited for
LAST_ANSWER_S_MAX = 1.0
"""A stop lets a request for messages become so old: a server that has messages has leased them, and answers soon. To
drop the connection would leave them leased to nobody until their visibility timeout."""
SETTLE_TIMEOUT_S_MIN = 1.0
_logger = logging.getLogger("acklog.consumer")
OnProblem = Callable[[SettlementProblem], None]


@dataclass(frozen=True, slots=True)
class Hooks:
    """`on_change`: messages have come, or none will. `wake` has the engine's own `wake` called on its loop, from any
    thread. `now_ms` is the loop's clock."""

    on_change: Callable[[], None]
    wake: Callable[[Callable[[], None]], None]
    now_ms: Callable[[], float]
    on_problem: OnProblem | None


class ConsumerEngine:
    """The `Settler` of its messages: `take`, `ack`, `nack` and `end` may be called from any thread, everything else
    belongs to the loop."""

    def __init__(self, source: Source, caller: Caller, settings: ConsumerSettings, hooks: Hooks) -> None:
        self.failure: AcklogError | None = None
        """Why no more messages will come."""
        self.is_stopping = False
        self._source = source
        self._caller = caller
        self._settings = settings
        self._hooks = hooks
        self._backoff = Backoff(min_ms=settings.backoff_min_ms, max_ms=settings.backoff_max_ms)
        # A request that hangs must not keep the next extension waiting until leases run out.
        self._settle_timeout_s = max(SETTLE_TIMEOUT_S_MIN, settings.visibility_s / 4)
        self._holdings = Holdings(
            settings, lanes_of(source), hooks.now_ms, lambda: hooks.wake(self.wake), auto_ack=source.auto_ack
        )
        self.membership = (
            MemberPartitions(source, caller, settings, self._holdings, wake=self._hear, now_ms=hooks.now_ms)
            if isinstance(source, MemberSource)
            else None
        )
        """Of a member of an exclusive group."""
        self._fetch_alarm = Alarm()
        self._asked_ms: float | None = None
        self._last_answer_timer: asyncio.TimerHandle | None = None
        self._settle_alarm = Alarm()
        self._has_settled = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    # For whoever works on messages, in any thread

    def has_for(self, worker: Worker) -> bool:
        return self._holdings.has_for(worker)

    @property
    def is_over(self) -> bool:
        """Whether no message will be handed out any more: there was a stop, and what the server may have given
        already has come, where it cannot be given back."""
        return self.is_stopping and (not self._source.auto_ack or self._asked_ms is None)

    def take(self, worker: Worker) -> Message | None:
        """A message for this worker, if there is one now. After a stop only those that cannot be given back."""
        if self.is_stopping and not self._source.auto_ack:
            return None
        return self._holdings.take(worker)

    def ack(self, message: Message) -> None:
        kept = message.__dict__  # most is acked: as `_is_first_decision`, without the call
        if "settled" in kept or self._source.auto_ack:
            return
        kept["settled"] = True
        if self._holdings.ack(message):
            self._hooks.on_change()

    def nack(self, message: Message, delay_s: float | None, reason: str = "") -> None:
        if not self._is_first_decision(message):
            return
        is_freed = self._holdings.nack(message, delay_s, reason)
        self._hooks.wake(self.wake)
        if is_freed:
            self._hooks.on_change()

    def end(self, message: Message, error: BaseException | None) -> None:
        """The work on the message has ended: well, in an error, or because everything ends."""
        if error is None:
            self.ack(message)
        elif isinstance(error, Exception):
            self.nack(message, self._settings.nack_delay_s)
        else:
            self.nack(message, 0)

    def _is_first_decision(self, message: Message) -> bool:
        """The first decision about a message counts; a block's end comes behind what was said by hand."""
        kept = message.__dict__
        if "settled" in kept or self._source.auto_ack:
            return False
        kept["settled"] = True
        return True

    @property
    def partitions(self) -> MemberPartitions:
        """Raises InvalidArgument where there are none."""
        if self.membership is None:
            raise InvalidArgument('partitions are members\' in exclusive groups: mode="exclusive"', field="mode")
        return self.membership

    # On the loop

    @property
    def is_started(self) -> bool:
        return bool(self._tasks)

    def start(self) -> None:
        """Begin to receive."""
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._fetch()), loop.create_task(self._settle())]
        if self.membership is not None:
            self._tasks.append(loop.create_task(self._be_a_member(self.membership)))
        for task in self._tasks:
            task.add_done_callback(self._ended)

    def wake(self) -> None:
        """Something has changed that both tasks should look at."""
        self._fetch_alarm.ring()
        self._settle_alarm.ring()

    def stop(self) -> None:
        """Receive no more. Messages that nobody works on yet go back at `close`."""
        self.is_stopping = True
        if self._tasks and self._last_answer_timer is None:
            now_ms = self._hooks.now_ms()
            asked_ms = -math.inf if self._asked_ms is None else self._asked_ms
            wait_s = max(0.0, LAST_ANSWER_S_MAX + (asked_ms - now_ms) / 1000)
            self._last_answer_timer = asyncio.get_running_loop().call_later(wait_s, self._tasks[0].cancel)
        self._hooks.on_change()

    async def flush(self, timeout_s: float | None) -> None:
        """Wait until all acks and nacks are confirmed or given up. Raises DeadlineExceeded."""
        try:
            async with asyncio.timeout(timeout_s):
                while not self._holdings.is_settled:
                    self._has_settled.clear()
                    await self._has_settled.wait()
        except TimeoutError:
            raise DeadlineExceeded(f"acks and nacks were not confirmed within {timeout_s:g} s; they go on") from None

    async def close(self) -> None:
        """Give back what nobody works on, and wait, `stop_timeout_s` at most, for acks and nacks to be confirmed.
        Raises SettlementsLost."""
        self.stop()
        await asyncio.gather(*self._tasks[:1], return_exceptions=True)
        left = self._holdings.close()
        self._settle_alarm.ring()
        if self._source.auto_ack and left:
            _logger.warning("%d messages were received with auto_ack and not handed out: they are lost", left)
        if self._last_answer_timer is not None:
            self._last_answer_timer.cancel()
        if self._tasks:
            with suppress(DeadlineExceeded):
                await self.flush(self._settings.stop_timeout_s)
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            self._tasks = []
        if self.membership is not None:
            await self.membership.leave()
        lost = self._holdings.abandon()
        if lost:
            detail = f"{len(lost)} acks and nacks could not be confirmed: those messages may come again"
            raise SettlementsLost(detail, receipts=lost)

    def _hear(self) -> None:
        """The partitions have changed, or which of them are paused."""
        self.wake()
        self._hooks.on_change()

    async def _be_a_member(self, membership: MemberPartitions) -> None:
        try:
            await membership.run()
        except AcklogError as error:
            self.failure = error

    def _ended(self, task: "asyncio.Task[None]") -> None:
        """A task of the engine's never ends by itself but after a failure or a stop."""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            _logger.error("the consumer failed", exc_info=error)
            self.failure = self.failure or AcklogError(f"the consumer failed: {error!r}", code="CONSUMER_FAILED")
        self._hooks.on_change()

    async def _fetch(self) -> None:
        failures = 0
        while not self.is_stopping:
            messages, size_bytes = self._holdings.wanted()
            asking = self._asking() if messages else None
            if asking is None:
                await self._fetch_alarm.wait(None)
                continue
            error = await self._receive(asking, messages, size_bytes)
            if error is None:
                failures = 0
            elif not error.retriable and not self._is_news(error):
                self.failure = error
                return
            else:
                failures += 1
                log = _logger.warning if failures == 1 else _logger.debug
                log("nothing could be received from %s, trying again: %s", ", ".join(asking.topics), error)
                pause_ms = self._backoff.delay_ms(failures, chance=self._caller.chance(), error=error)
                await asyncio.sleep(pause_ms / 1000)

    def _asking(self) -> Asking | None:
        """From where to receive now. None: from nowhere, before something changes."""
        if self.membership is None:
            return Asking(self._source.topics, self._settings.wait_s, None)
        return self.membership.asking()

    def _is_news(self, error: AcklogError) -> bool:
        """A member that was told that it is none: its session knows more, or finds out."""
        return self.membership is not None and isinstance(error, MemberUnknown | MemberFenced)

    async def _receive(self, asking: Asking, messages: int, size_bytes: int) -> AcklogError | None:
        """Why nothing could be received; None for messages, and for a wait in which none came."""
        source, settings = self._source, self._settings
        call = message_calls.receive(
            asking.topics,
            group=source.group,
            max_messages=messages,
            max_bytes=size_bytes,
            wait_s=asking.wait_s,
            visibility_s=settings.visibility_s,
            consumer=source.name,
            auto_ack=source.auto_ack,
            mode=source.mode,
            member_epoch=asking.member_epoch,
            message_filter=source.message_filter,
        )
        serial = self._holdings.begin_receive()
        self._asked_ms = asked_ms = self._hooks.now_ms()
        try:
            received = await self._caller.perform(call, retries_max=0)
        except AcklogError as error:
            return error
        finally:
            self._asked_ms = None
        if received.messages:
            self._arrived(received.messages, serial)
        elif self._hooks.now_ms() - asked_ms < 1000 * min(AT_ONCE_S, asking.wait_s / 2):
            return Unavailable(f"the server has nothing now: {received.reason}")
        return None

    def _arrived(self, messages: list[Message], serial: int) -> None:
        self._holdings.arrived(messages, serial, self)
        if self.membership is not None:
            self.membership.arrived()
        self._settle_alarm.ring()
        self._hooks.on_change()

    async def _settle(self) -> None:
        while True:
            step, due_ms, problems, is_settled = self._holdings.next_step()
            self._report(problems)
            if step is not None:
                await self._perform(step)
                self._fetch_alarm.ring()
            else:
                if is_settled:
                    self._has_settled.set()
                await self._settle_alarm.wait(None if due_ms is None else due_ms / 1000)

    async def _perform(self, step: SettlementRequest) -> None:
        chance = self._caller.chance()
        error: AcklogError | None = DeadlineExceeded("the consumer was closed")  # unless something else happens
        results: list[Settled] = []
        try:
            results = await self._caller.perform(self._call_of(step), retries_max=0, timeout_s=self._settle_timeout_s)
            error = None
        except AcklogError as failure:
            _logger.debug("%d messages: %s failed: %s", len(step.receipts), step.action, failure)
            error = failure
        finally:
            if error is None:
                self._holdings.finished(step, results, chance=chance)
            else:
                self._holdings.failed(step, error, chance=chance)

    def _call_of(self, step: SettlementRequest) -> Call[list[Settled]]:
        if step.action == "ack":
            return message_calls.ack(step.receipts)
        if step.action == "nack":
            return message_calls.nack(step.receipts, delay_s=step.delay_s, reason=step.reason)
        return message_calls.extend(step.receipts, visibility_s=self._settings.visibility_s)

    def _report(self, problems: list[SettlementProblem]) -> None:
        if not problems:
            return
        self._fetch_alarm.ring()  # they count as unsettled no longer
        first = problems[0]
        _logger.warning(
            "%d messages could not be settled; the first (%s): %s", len(problems), first.action, first.error
        )
        if self._hooks.on_problem is not None:
            for problem in problems:
                try:
                    self._hooks.on_problem(problem)
                except Exception:
                    _logger.exception("on_problem failed")
