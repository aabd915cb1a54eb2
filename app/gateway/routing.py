"""Calls to whoever leads a partition, also while that changes.

What a client must not notice, as long as its deadline allows: that a leader died, handed over, or is not ready yet.
What it must not be told: that something was not done, if it may have been.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeVar

from acklog.wire.limits import PRODUCE_RETRIES_MS
from acklog.wire.problems import ProblemCode
from app.gateway.dependencies import Gateway
from app.gateway.jittered_backoff import RETRY_PAUSE_MAX_MS, JitteredBackoff
from app.gateway.leader_watch import LeaderWatch, is_led_since
from cluster.errors import ServerError
from cluster.model.values import PartitionLife
from storage.rpc.node_api import NodeApi

_Result = TypeVar("_Result")


_NOTHING_WAS_DONE = frozenset({ProblemCode.UNAVAILABLE, ProblemCode.NOT_ENOUGH_REPLICAS})
_NOBODY_KNOWS = frozenset({ProblemCode.OUTCOME_UNKNOWN, ProblemCode.TIMED_OUT})


class Try(NamedTuple):
    """`is_retry`: an earlier try may have taken effect."""

    remaining_ms: int
    is_retry: bool


class _Target(NamedTuple):
    """Who is asked, as leader of which epoch. `has_others`: another replica can take over."""

    node_id: int
    leader_epoch: int
    has_others: bool


class PartitionLeaders:
    """Three kinds of calls, by what may be done after one whose outcome nobody knows: `call` asks something and may ask
    again; `change` changes something, so that doing it twice is doing it once; `change_once` must not be repeated.

    All of them are tried again until the deadline while it is certain that nothing was done: nobody leads the
    partition, or the one who was asked does not or does not yet, or stops.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._metadata = gateway.metadata
        self._nodes = gateway.nodes
        self._clock = gateway.clock
        self._entropy = gateway.entropy
        self._shutdown = gateway.shutdown
        self.watch = LeaderWatch.following(gateway.metadata)

    def deadline_in(self, duration_ms: int) -> int:
        return self._clock.monotonic_ms() + duration_ms

    def has_leader(self, topic_id: str, partition: int) -> bool:
        return self.leader_of(topic_id, partition) >= 0

    def leader_of(self, topic_id: str, partition: int) -> int:
        """The node's number, as far as this gateway knows; negative where there is none."""
        state = self._metadata.partition(topic_id, partition)
        return -1 if state is None else state.leader

    def remaining_ms(self, deadline_ms: int) -> int:
        return deadline_ms - self._clock.monotonic_ms()

    def node_that_leads(self, topic_id: str, partition: int) -> NodeApi | None:
        """As far as this gateway knows."""
        state = self._metadata.partition(topic_id, partition)
        return None if state is None or state.leader < 0 else self._nodes.client(state.leader)

    async def wait_for_leaders(self, topic_ids: list[str], *, deadline_ms: int) -> list[int]:
        """The nodes that lead some partition of these topics, by number, once there is one: a topic that was created
        just now has none for a moment. Raises ServerError UNAVAILABLE."""
        place = tuple(topic_ids)
        while not (found := self.watch.leaders(place)):
            remaining_ms = deadline_ms - self._clock.monotonic_ms()
            if remaining_ms <= 0:
                raise ServerError(ProblemCode.UNAVAILABLE, "no partition of the topic has a leader now")
            await self.pause_for_leaders(topic_ids, [], wait_ms=min(remaining_ms, RETRY_PAUSE_MAX_MS))
        return found

    async def pause_for_leaders(self, topic_ids: list[str], leaders: list[int], *, wait_ms: float) -> None:
        """Wait, but not longer than until others than `leaders` lead the topics."""
        pause = _Pause(wait_ms)
        with self.watch.topics(tuple(topic_ids), leaders=leaders, wake=pause.end):
            await pause.wait()

    # --- calls -----------------------------------------------------------------------------------------------------

    async def call(
        self,
        topic_id: str,
        partition: int,
        call: Callable[[NodeApi, int], Awaitable[_Result]],
        *,
        deadline_ms: int,
    ) -> _Result:
        """What `call(node, remaining_ms)` returns, which changes nothing.

        Raises ServerError: the last reason why nobody could be asked, or TIMED_OUT.
        """

        async def ask(node: NodeApi, attempt: Try) -> _Result:
            return await call(node, attempt.remaining_ms)

        try:
            return await self._repeat(topic_id, partition, ask, deadline_ms)
        except _UnknownOutcomeError as unknown:
            raise unknown.last from None

    async def change(
        self,
        topic_id: str,
        partition: int,
        call: Callable[[NodeApi, Try], Awaitable[_Result]],
        *,
        deadline_ms: int,
    ) -> _Result:
        """What `call(node, attempt)` returns. It is done again, by whoever leads then, while its outcome is unknown.

        Raises ServerError: OUTCOME_UNKNOWN if it may have been done, else why it was not.
        """
        try:
            return await self._repeat(topic_id, partition, call, deadline_ms)
        except _UnknownOutcomeError as unknown:
            detail = f"it was not confirmed within the deadline and may be done all the same ({unknown.last.detail})"
            raise ServerError(ProblemCode.OUTCOME_UNKNOWN, detail) from None

    async def change_once(
        self,
        topic_id: str,
        partition: int,
        call: Callable[[NodeApi, int], Awaitable[_Result]],
        *,
        deadline_ms: int,
    ) -> _Result:
        """What `call(node, remaining_ms)` returns.

        Raises ServerError: OUTCOME_UNKNOWN if it may have been done, else why it was not.
        """

        async def in_time(node: NodeApi, remaining_ms: int) -> _Result:
            try:
                async with asyncio.timeout(remaining_ms / 1000):
                    return await call(node, remaining_ms)
            except TimeoutError:
                raise ServerError(ProblemCode.OUTCOME_UNKNOWN, _no_answer(partition)) from None

        return await self.change_once_in_time(topic_id, partition, in_time, deadline_ms=deadline_ms)

    async def change_once_in_time(
        self,
        topic_id: str,
        partition: int,
        call: Callable[[NodeApi, int], Awaitable[_Result]],
        *,
        deadline_ms: int,
    ) -> _Result:
        """As `change_once`, for a call that keeps to its `remaining_ms` by itself, as a produce does."""
        pauses: JitteredBackoff | None = None
        failure: ServerError | None = None
        while (remaining_ms := deadline_ms - self._clock.monotonic_ms()) > 0:
            state = self._metadata.partition(topic_id, partition)
            try:
                if state is None or state.leader < 0:
                    raise self._nobody_leads(topic_id, partition)
                return await call(self._nodes.client(state.leader), remaining_ms)
            except ServerError as error:
                has_others = state is not None and len(state.replicas) > 1
                if not self.is_undone(error) and not _is_anothers_to_answer(error, has_others=has_others):
                    raise
                failure = error
            pauses = pauses or JitteredBackoff(self._entropy.fraction)
            wait_ms = pauses.next_ms()
            if self._clock.monotonic_ms() + wait_ms >= deadline_ms:
                break
            epoch = -1 if state is None else state.leader_epoch
            if await self._is_led_anew(topic_id, partition, epoch, wait_ms=wait_ms):
                pauses.begin_anew()
        raise failure or _too_late()

    async def _repeat(
        self,
        topic_id: str,
        partition: int,
        call: Callable[[NodeApi, Try], Awaitable[_Result]],
        deadline_ms: int,
    ) -> _Result:
        """Raises ServerError, or _UnknownOutcomeError after any try that may have taken effect."""
        pauses: JitteredBackoff | None = None
        target: _Target | None = None
        is_unknown = False
        failure: ServerError | None = None
        while (remaining_ms := deadline_ms - self._clock.monotonic_ms()) > 0:
            begun_ms = self._clock.monotonic_ms()
            try:
                target = self._target(topic_id, partition, known=target)
                return await self._try(topic_id, partition, target, call, Try(remaining_ms, is_unknown))
            except ServerError as error:
                failure = error
            if not is_unknown and _may_have_happened(failure, target):
                is_unknown = True
                deadline_ms = min(deadline_ms, begun_ms + PRODUCE_RETRIES_MS)
            pauses = pauses or JitteredBackoff(self._entropy.fraction)
            wait_ms = pauses.next_ms()
            is_late = self._clock.monotonic_ms() + wait_ms >= deadline_ms
            if is_late or not self._is_worth_another_try(failure, target, is_unknown=is_unknown):
                break
            epoch = -1 if target is None else target.leader_epoch
            hint = _hint_of(failure, epoch)
            target = hint or target
            if hint is not None or await self._is_led_anew(topic_id, partition, epoch, wait_ms=wait_ms):
                pauses.begin_anew()
        failure = failure or _too_late()
        raise _UnknownOutcomeError(failure) if is_unknown else failure

    async def _try(
        self,
        topic_id: str,
        partition: int,
        target: _Target,
        call: Callable[[NodeApi, Try], Awaitable[_Result]],
        attempt: Try,
    ) -> _Result:
        """Ask the target until the time is up, or until somebody else leads: it may be silent for ever."""
        node = self._nodes.client(target.node_id)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(attempt.remaining_ms / 1000) as limit:

                def give_up() -> None:
                    if not limit.expired():
                        limit.reschedule(loop.time())

                with self.watch.partition(topic_id, partition, leader_epoch=target.leader_epoch, wake=give_up):
                    return await call(node, attempt)
        except TimeoutError:
            raise ServerError(ProblemCode.TIMED_OUT, _no_answer(partition)) from None

    # --- who, and whether again ------------------------------------------------------------------------------------

    def _target(self, topic_id: str, partition: int, *, known: _Target | None = None) -> _Target:
        """Who leads it, by the metadata or, if that is later, as `known` from a node.

        Raises ServerError UNAVAILABLE when nobody leads it now, TOPIC_NOT_FOUND when it was deleted, MESSAGE_EXPIRED
        when it is gone, and nobody ever leads it again.
        """
        state = self._metadata.partition(topic_id, partition)
        if state is not None and known is not None and known.leader_epoch > state.leader_epoch:
            return known
        if state is not None and state.leader >= 0:
            return _Target(state.leader, state.leader_epoch, len(state.replicas) > 1)
        raise self._nobody_leads(topic_id, partition)

    def _nobody_leads(self, topic_id: str, partition: int) -> ServerError:
        if self._metadata.topic_by_id(topic_id) is None:
            return ServerError(ProblemCode.TOPIC_NOT_FOUND, "the topic was deleted")
        if self.is_gone(topic_id, partition):
            detail = f"partition {partition} was decommissioned, and is gone since retention has removed all it held"
            return ServerError(ProblemCode.MESSAGE_EXPIRED, detail)
        return ServerError(ProblemCode.UNAVAILABLE, f"partition {partition} has no leader now")

    def is_gone(self, topic_id: str, partition: int) -> bool:
        """Whether it was decommissioned, and nothing was left in it, as far as this gateway knows."""
        state = self._metadata.partition(topic_id, partition)
        return state is not None and state.life is PartitionLife.GONE

    def is_undone(self, error: ServerError) -> bool:
        """Whether nothing was done, and may be done a little later."""
        if error.code is ProblemCode.SHUTTING_DOWN:
            return not self._shutdown.has_begun  # a node of its own; this gateway's stop is for the client to know
        return error.code in _NOTHING_WAS_DONE

    def _is_worth_another_try(self, error: ServerError, target: _Target | None, *, is_unknown: bool) -> bool:
        if is_unknown and error.code is ProblemCode.OVERLOADED:
            return True  # the client cannot be told that it was refused
        if target is not None and _is_anothers_to_answer(error, has_others=target.has_others):
            return True
        return _may_have_happened(error, target) or self.is_undone(error)

    async def _is_led_anew(self, topic_id: str, partition: int, epoch: int, *, wait_ms: float) -> bool:
        """Wait, but not longer than until the partition has a leader of a later epoch; whether it has."""
        pause = _Pause(wait_ms)
        with self.watch.partition(topic_id, partition, leader_epoch=epoch, wake=pause.end):
            await pause.wait()
        return is_led_since(self._metadata.partition(topic_id, partition), epoch)


class _UnknownOutcomeError(Exception):
    """The time is up, and one of the tries may have taken effect. `last` is how the last one failed."""

    def __init__(self, last: ServerError) -> None:
        super().__init__(str(last))
        self.last = last


class _Pause:
    """A wait that can be ended early."""

    def __init__(self, wait_ms: float) -> None:
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._timer = asyncio.get_running_loop().call_later(wait_ms / 1000, self.end)

    def end(self) -> None:
        if not self._over.done():
            self._over.set_result(None)

    async def wait(self) -> None:
        try:
            await self._over
        finally:
            self._timer.cancel()


def _may_have_happened(error: ServerError, target: _Target | None) -> bool:
    if error.code is ProblemCode.STORAGE_FAILED:
        return target is not None and target.has_others  # else the answer is final, and says more than "unknown"
    return error.code in _NOBODY_KNOWS


def _is_anothers_to_answer(error: ServerError, *, has_others: bool) -> bool:
    """A damaged replica did nothing, and makes room for another one. Where none can take over, the damage is what the
    client is told in the end."""
    return has_others and error.code is ProblemCode.RECORDS_CORRUPT


def _hint_of(error: ServerError, epoch: int) -> _Target | None:
    """Who leads, if the node that refused knows it better."""
    leader, leader_epoch = error.extra.get("leader"), error.extra.get("leaderEpoch")
    if isinstance(leader, int) and isinstance(leader_epoch, int) and leader >= 0 and leader_epoch > epoch:
        return _Target(leader, leader_epoch, True)
    return None


def _too_late() -> ServerError:
    return ServerError(ProblemCode.TIMED_OUT, "the request was not done within its deadline")


def _no_answer(partition: int) -> str:
    return f"partition {partition} did not answer in time; what was asked may still happen"
