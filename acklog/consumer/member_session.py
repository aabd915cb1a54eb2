"""Being a member of an exclusive group: joins, keeps the session alive, hears of changes, leaves."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from acklog.client import catalog_calls, member_calls
from acklog.client.caller import Caller
from acklog.client.retry import Backoff
from acklog.consumer.consumer_settings import ConsumerSettings
from acklog.consumer.source import MemberSource
from acklog.errors import AcklogError, GroupExists, GroupNotFound, MemberUnknown
from acklog.members import AssignedToMember, TopicPartition
from acklog.wire.limits import WAIT_SECONDS_MAX

CALL_TIMEOUT_S = 5.0
"""How long an answer may be late: a heartbeat that hangs must not cost the session."""
NOTHING_KNOWN = 0
NO_PARTITIONS: frozenset[TopicPartition] = frozenset()
_logger = logging.getLogger("acklog.consumer")


class MemberSession:
    """One heartbeat is always under way: it waits at the server until the member's assignment changes, so a change is
    known at once. `on_assignment` is called with all partitions of the member whenever they change, on the loop.

    A member that was given up (it was not heard for its session timeout) joins again; one whose name another process
    has taken ends with MemberFenced.
    """

    def __init__(
        self,
        source: MemberSource,
        caller: Caller,
        settings: ConsumerSettings,
        *,
        now_ms: Callable[[], float],
        on_assignment: Callable[[frozenset[TopicPartition]], None],
    ) -> None:
        self.epoch = NOTHING_KNOWN
        """What the last answer said; 0: no member."""
        self._source = source
        self._caller = caller
        self._now_ms = now_ms
        self._on_assignment = on_assignment
        self._backoff = Backoff(min_ms=settings.backoff_min_ms, max_ms=settings.backoff_max_ms)
        self._assigned = NO_PARTITIONS
        self._session_timeout_ms = 0.0
        self._heard_ms = 0.0

    async def run(self) -> None:
        """Until it is cancelled. Raises AcklogError where there is no use in going on."""
        failures = 0
        while True:
            try:
                self._heard(await self._next())
                failures = 0
            except MemberUnknown:
                _logger.warning(
                    "the session of %s in %s was over: joining again", self._source.name, self._source.group
                )
                self.epoch = NOTHING_KNOWN
                self._assign(NO_PARTITIONS)
            except AcklogError as error:
                if not error.retriable:
                    self._assign(NO_PARTITIONS)
                    raise
                failures += 1
                log = _logger.warning if failures == 1 else _logger.debug
                log("no answer to %s as a member of %s, trying again: %s", self._source.name, self._source.group, error)
                await self._pause(failures, error)

    async def look_again(self) -> None:
        """Ask for the assignment now: somebody was told another one."""
        joined = self.epoch
        if joined == NOTHING_KNOWN:
            return
        with suppress(AcklogError):  # the one that waits hears of it, too
            answer = await self._beat(wait_s=0)
            if self.epoch >= joined:
                self._heard(answer)

    async def leave(self) -> None:
        """The partitions are others' at once; those of a static member after its session timeout, unless it is back."""
        if self.epoch == NOTHING_KNOWN:
            return
        self.epoch = NOTHING_KNOWN
        subscription = self._source.subscription
        call = member_calls.leave(
            self._source.group,
            self._source.member,
            instance=subscription.instance,
            comes_back=subscription.is_static,
        )
        try:
            await self._caller.perform(call, timeout_s=CALL_TIMEOUT_S)
        except AcklogError as error:
            _logger.warning("%s could not leave %s: %s", self._source.name, self._source.group, error)

    async def _next(self) -> AssignedToMember:
        if self.epoch == NOTHING_KNOWN:
            return await self._join()
        return await self._beat(wait_s=WAIT_SECONDS_MAX)

    async def _beat(self, *, wait_s: float) -> AssignedToMember:
        source = self._source
        call = member_calls.heartbeat(
            source.group,
            source.member,
            member_epoch=self.epoch,
            wait_s=wait_s,
            instance=source.subscription.instance,
        )
        return await self._caller.perform(call, retries_max=0, timeout_s=CALL_TIMEOUT_S)

    async def _join(self) -> AssignedToMember:
        source = self._source
        join = member_calls.join(source.group, source.member, source.subscription)
        try:
            return await self._caller.perform(join, retries_max=0, timeout_s=CALL_TIMEOUT_S)
        except GroupNotFound:
            with suppress(GroupExists):
                await self._caller.perform(catalog_calls.create_group(source.group, mode="exclusive", settings={}))
            return await self._caller.perform(join, retries_max=0, timeout_s=CALL_TIMEOUT_S)

    def _heard(self, answer: AssignedToMember) -> None:
        self._heard_ms = self._now_ms()
        self._session_timeout_ms = answer.session_timeout_ms
        if answer.member_epoch >= self.epoch:
            self.epoch = answer.member_epoch
            self._assign(frozenset(each.place for each in answer.assignment))

    def _assign(self, assigned: frozenset[TopicPartition]) -> None:
        if assigned != self._assigned:
            self._assigned = assigned
            self._on_assignment(assigned)

    async def _pause(self, failures: int, error: AcklogError) -> None:
        """Who is not heard for a session timeout has lost its partitions, as far as it can know."""
        if self._assigned and self._now_ms() - self._heard_ms > self._session_timeout_ms:
            self._assign(NO_PARTITIONS)
        pause_ms = self._backoff.delay_ms(failures, chance=self._caller.chance(), error=error)
        await asyncio.sleep(pause_ms / 1000)
