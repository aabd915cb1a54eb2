"""Asking the nodes that lead some topics for messages, also while some of them are away.

Without waiting, one node after the other is asked, so that no more is leased than was asked for. Who waits, waits at
all of them at once: what comes too much then is released, and its attempts do not count.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import structlog
from msgspec.structs import replace

from acklog.wire.problems import ProblemCode
from app.gateway.dependencies import Gateway
from app.gateway.jittered_backoff import JitteredBackoff
from app.gateway.routing import PartitionLeaders
from app.services.node_lag import answer_of_node
from cluster.errors import ServerError
from storage.rpc.membership_messages import Ownership
from storage.rpc.messages import DeliveredMessage, ReceiveRequest, ReceiveResponse
from storage.rpc.receive_attempt import ReceiveAttempt

logger = structlog.get_logger(__name__)

EMPTY = "EMPTY"
UNAVAILABLE = "UNAVAILABLE"
SHUTTING_DOWN = "SHUTTING_DOWN"
PATIENCE_MS = 1_000
"""How long one of several nodes may take to answer a request that does not wait."""
SUSPICION_MS = 2_000
"""How long a node that took longer is left out while others answer."""
ANSWER_MARGIN_MS = 250
"""What the nodes get on top of the wait, so that their answers, with their reasons, come first."""
SLICE_MS = 500
"""What is acknowledged when it is sent, or may be asked for again, cannot be released: such a request waits at one node
after the other."""

TURNS_MAX = 10_000
"""Groups whose turn among the nodes is remembered; one that was not here for longest begins anew."""

_PASSING = frozenset(
    {
        ProblemCode.UNAVAILABLE,
        ProblemCode.TIMED_OUT,
        ProblemCode.SHUTTING_DOWN,
        ProblemCode.STORAGE_FAILED,
        ProblemCode.NOT_ENOUGH_REPLICAS,
    }
)


class Polls:
    """`release` gives back leases that nobody will see, some time."""

    def __init__(
        self, gateway: Gateway, leaders: PartitionLeaders, release: Callable[[list[DeliveredMessage]], None]
    ) -> None:
        self.gateway = gateway
        self.leaders = leaders
        self.release = release
        self._clock = gateway.clock
        self._suspects: dict[int, int] = {}
        self._turns: OrderedDict[tuple[str, str], int] = OrderedDict()

    # --- without waiting -------------------------------------------------------------------------------------------

    async def ask(self, request: ReceiveRequest) -> ReceiveResponse:
        """What there is now. While no node answers, they and their successors are asked again, until the deadline.

        Raises ServerError.
        """

        async def ask(nodes: list[int], deadline_ms: int) -> ReceiveResponse:
            return await self._ask_in_turn(request, nodes, 0, deadline_ms)

        return await self._ask_until_answered(request, ask)

    async def ask_for_repeated(self, request: ReceiveRequest) -> ReceiveResponse:
        """What was received by the request's `attempt_id` before, if it can be given again. Each node has to say so:
        what one of them has would else be overtaken. Raises ServerError."""
        asked = replace(request, max_messages=0)

        async def ask(nodes: list[int], deadline_ms: int) -> ReceiveResponse:
            for node_id in nodes:
                response = await self._ask(node_id, asked, nodes, deadline_ms)
                if response.messages:
                    return response
            return ReceiveResponse([], EMPTY)

        return await self._ask_until_answered(asked, ask)

    async def _ask_until_answered(
        self, request: ReceiveRequest, ask: Callable[[list[int], int], Awaitable[ReceiveResponse]]
    ) -> ReceiveResponse:
        deadline_ms = self.leaders.deadline_in(self.gateway.settings.request_timeout_ms)
        pauses = JitteredBackoff(self.gateway.entropy.fraction)
        while True:
            nodes = await self.leaders.wait_for_leaders(request.topic_ids, deadline_ms=deadline_ms)
            try:
                return await ask(nodes, deadline_ms)
            except ServerError as error:
                wait_ms = pauses.next_ms()
                if not self.is_passing(error, nodes, request) or self._clock.monotonic_ms() + wait_ms >= deadline_ms:
                    raise
            await self.leaders.pause_for_leaders(request.topic_ids, nodes, wait_ms=wait_ms)

    async def _ask_in_turn(
        self, request: ReceiveRequest, nodes: list[int], wait_ms: int, deadline_ms: int
    ) -> ReceiveResponse:
        """Ask each node once, from another one on each time; the last one may wait. Raises ServerError if none
        answered, what a person has to decide where nobody has messages, and OUTCOME_UNKNOWN if one may have
        acknowledged what it could not send: the others are not asked then, or as much could be lost at each."""
        if len(nodes) == 1:
            part = request if wait_ms == request.wait_ms else narrowed(request, [], wait_ms)
            response = await self._ask(nodes[0], part, nodes, deadline_ms)
            response.reason = "" if response.messages else response.reason or EMPTY
            return response
        turn = self._next_turn(request) % len(nodes)
        order = sorted(nodes[turn:] + nodes[:turn], key=self._is_suspect)
        messages: list[DeliveredMessage] = []
        reasons: list[str] = []
        overtaken: list[Ownership] = []
        attempt: ReceiveAttempt | None = None
        failure: ServerError | None = None
        for position, node_id in enumerate(order):
            if reasons and self._is_suspect(node_id):
                failure = failure or _silent(node_id)
                continue
            is_last = position == len(order) - 1
            part = narrowed(request, messages, wait_ms if is_last and not messages else 0)
            try:
                response = await self._ask(node_id, part, nodes, deadline_ms)
            except ServerError as error:
                failure = failure if failure is not None and _waits_for_a_person(failure) else error
                if error.code is not ProblemCode.OUTCOME_UNKNOWN:
                    continue
                if not messages:
                    raise
                _log_what_may_be_lost(node_id, part)
                break
            messages.extend(response.messages)
            overtaken.extend(response.overtaken)
            reasons.append(response.reason)
            attempt = response.attempt
            if attempt is not None or len(messages) >= request.max_messages or bytes_left(request, messages) <= 0:
                break
        if failure is not None and (not reasons or (not messages and _waits_for_a_person(failure))):
            raise failure
        reason = "" if messages else reason_of(reasons, is_complete=failure is None)
        return ReceiveResponse(messages, reason, overtaken, attempt)

    def _next_turn(self, request: ReceiveRequest) -> int:
        """Counted by group, or by member: with one count for all, groups that take turns would begin at the same node
        for ever."""
        who = (request.group_id, request.consumer if request.claims else "")
        turn = self._turns[who] = self._turns.pop(who, 0) + 1
        if len(self._turns) > TURNS_MAX:
            self._turns.popitem(last=False)
        return turn

    async def _ask(self, node_id: int, request: ReceiveRequest, nodes: list[int], deadline_ms: int) -> ReceiveResponse:
        """What is being acknowledged by being sent is waited for as long as may be, or it would be lost."""
        limit_ms = max(1, deadline_ms - self._clock.monotonic_ms())
        if len(nodes) > 1 and not request.auto_ack:
            limit_ms = min(limit_ms, PATIENCE_MS)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout((limit_ms + request.wait_ms) / 1000) as limit:

                def give_up() -> None:
                    if not limit.expired() and not request.auto_ack:
                        limit.reschedule(loop.time())

                with self.leaders.watch.topics(tuple(request.topic_ids), leaders=nodes, wake=give_up):
                    response = await self.receive(node_id, request)
        except TimeoutError:
            self._suspects[node_id] = self._clock.monotonic_ms() + SUSPICION_MS
            if request.auto_ack:
                raise ServerError(ProblemCode.OUTCOME_UNKNOWN, f"node {node_id} did not answer in time") from None
            raise _silent(node_id) from None
        self._suspects.pop(node_id, None)
        return response

    async def receive(self, node_id: int, request: ReceiveRequest) -> ReceiveResponse:
        call = self.gateway.nodes.client(node_id).receive(request)
        return await answer_of_node(call, self.gateway.metadata, group_id=request.group_id, topic_ids=request.topic_ids)

    def _is_suspect(self, node_id: int) -> bool:
        until_ms = self._suspects.get(node_id)
        if until_ms is None:
            return False
        if until_ms <= self._clock.monotonic_ms():
            del self._suspects[node_id]
            return False
        return True

    def is_passing(self, error: ServerError, nodes: list[int], request: ReceiveRequest) -> bool:
        """Whether the same question may be answered a little later."""
        if error.code is ProblemCode.STORAGE_FAILED:
            return len(nodes) > 1
        if error.code is ProblemCode.RECORDS_CORRUPT:  # a damaged replica makes room for another
            topics = [self.gateway.metadata.topic_by_id(topic_id) for topic_id in request.topic_ids]
            return any(topic is not None and topic.replication_factor > 1 for topic in topics)
        return error.code in _PASSING and not self.gateway.shutdown.has_begun

    # --- waiting ---------------------------------------------------------------------------------------------------

    async def wait(self, request: ReceiveRequest, wait_ms: int) -> ReceiveResponse:
        """The first messages that come within `wait_ms`. Raises ServerError."""
        deadline_ms = self.leaders.deadline_in(wait_ms)
        if request.auto_ack or request.attempt_id:
            return await self._wait_in_turn(request, deadline_ms)
        return await LongPoll(self, request, deadline_ms).run()

    async def _wait_in_turn(self, request: ReceiveRequest, deadline_ms: int) -> ReceiveResponse:
        pauses = JitteredBackoff(self.gateway.entropy.fraction)
        patience_ms = self.gateway.settings.request_timeout_ms
        while True:
            failure: ServerError | None = None
            response = ReceiveResponse([], UNAVAILABLE)
            remaining_ms = max(0, deadline_ms - self._clock.monotonic_ms())
            nodes = await self.leaders.wait_for_leaders(request.topic_ids, deadline_ms=deadline_ms + patience_ms)
            slice_ms = remaining_ms if len(nodes) == 1 else min(remaining_ms, SLICE_MS)
            try:
                response = await self._ask_in_turn(request, nodes, slice_ms, self.leaders.deadline_in(patience_ms))
            except ServerError as error:
                if not self.is_passing(error, nodes, request):
                    raise
                failure = error
            if response.messages or remaining_ms <= 0 or response.reason == SHUTTING_DOWN:
                return response
            if failure is not None:
                wait_ms = min(remaining_ms, pauses.next_ms())
                await self.leaders.pause_for_leaders(request.topic_ids, nodes, wait_ms=wait_ms)


def _waits_for_a_person(failure: ServerError) -> bool:
    """It does not pass, so that the others have nothing is not to hide it."""
    return failure.code is ProblemCode.POSITION_MISSING


class LongPoll:
    """One request that waits at every node that leads its topics, whoever that is in the meantime."""

    def __init__(self, polls: Polls, request: ReceiveRequest, deadline_ms: int) -> None:
        self._polls = polls
        self._request = request
        self._deadline_ms = deadline_ms
        self._last_ms = deadline_ms + ANSWER_MARGIN_MS
        self._clock = polls.gateway.clock
        self._polling: dict[int, asyncio.Task[ReceiveResponse]] = {}
        self._left: list[asyncio.Task[ReceiveResponse]] = []
        self._failing: set[int] = set()
        self._news = asyncio.Event()

    async def run(self) -> ReceiveResponse:
        """Raises ServerError for what will not pass, if every node says so."""
        try:
            with self._alarm():
                await self._poll_until_there_is_something()
            await self._end()
        except BaseException:
            await self._end()
            self._polls.release([message for response in self._answers() for message in response.messages])
            raise
        return self._answer()

    @contextmanager
    def _alarm(self) -> Iterator[None]:
        remaining_ms = max(0, self._last_ms - self._clock.monotonic_ms())
        timer = asyncio.get_running_loop().call_later(remaining_ms / 1000, self._news.set)
        try:
            yield
        finally:
            timer.cancel()

    async def _poll_until_there_is_something(self) -> None:
        leaders, topic_ids = self._polls.leaders, tuple(self._request.topic_ids)
        while True:
            nodes = leaders.watch.leaders(topic_ids)
            self._poll_exactly(nodes)
            self._news.clear()
            with leaders.watch.topics(topic_ids, leaders=nodes, wake=self._news.set):
                if not self._is_over(nodes):
                    await self._news.wait()
            if self._is_over(nodes):
                return

    def _is_over(self, nodes: list[int]) -> bool:
        if self._clock.monotonic_ms() >= self._last_ms:
            return True
        if any(response.messages or response.reason == SHUTTING_DOWN for response in self._answers()):
            return True
        return bool(nodes) and all(task.done() for task in self._polling.values())

    def _poll_exactly(self, nodes: list[int]) -> None:
        loop = asyncio.get_running_loop()
        self._left = [task for task in self._left if not task.done() or _has_messages(task)]
        for node_id in [node_id for node_id in self._polling if node_id not in nodes]:
            task = self._polling.pop(node_id)
            task.cancel()
            self._left.append(task)
            self._failing.discard(node_id)
        for node_id in nodes:
            if node_id not in self._polling:
                task = self._polling[node_id] = loop.create_task(self._poll(node_id, nodes))
                task.add_done_callback(lambda _task: self._news.set())

    async def _poll(self, node_id: int, nodes: list[int]) -> ReceiveResponse:
        """What the node has; empty when the time is up. Raises ServerError for what will not pass."""
        pauses = JitteredBackoff(self._polls.gateway.entropy.fraction)
        while (remaining_ms := self._deadline_ms - self._clock.monotonic_ms()) > 0:
            pause_ms = pauses.next_ms()
            try:
                part = narrowed(self._request, [], remaining_ms)
                response = await self._polls.receive(node_id, part)
            except ServerError as error:
                if not self._polls.is_passing(error, nodes, self._request):
                    raise
                self._failing.add(node_id)
            else:
                self._failing.discard(node_id)
                is_stopping = response.reason == SHUTTING_DOWN and self._polls.gateway.shutdown.has_begun
                is_late = self._clock.monotonic_ms() + pause_ms >= self._deadline_ms
                if response.messages or is_stopping or is_late:
                    return response
            await self._clock.sleep(pause_ms)
        return ReceiveResponse([], EMPTY)

    async def _end(self) -> None:
        """Nothing is asked any more. Who gives up waiting at a node has what still comes released."""
        tasks = [*self._polling.values(), *self._left]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _answers(self) -> list[ReceiveResponse]:
        return [
            task.result()
            for task in (*self._polling.values(), *self._left)
            if task.done() and not task.cancelled() and task.exception() is None
        ]

    def _answer(self) -> ReceiveResponse:
        answers = self._answers()
        messages: list[DeliveredMessage] = []
        too_many: list[DeliveredMessage] = []
        for message in (message for response in answers for message in response.messages):
            fits = len(messages) < self._request.max_messages and bytes_left(self._request, messages) > 0
            (messages if fits else too_many).append(message)
        self._polls.release(too_many)
        if messages:
            return ReceiveResponse(messages)
        faults = [
            error
            for task in self._polling.values()
            if task.done() and not task.cancelled() and (error := task.exception()) is not None
        ]
        if faults and len(faults) == len(self._polling):
            raise faults[0]
        is_complete = self._polling and not faults and not self._failing
        return ReceiveResponse([], reason_of([each.reason for each in answers], is_complete=bool(is_complete)))


def _has_messages(task: "asyncio.Task[ReceiveResponse]") -> bool:
    return task.done() and not task.cancelled() and task.exception() is None and bool(task.result().messages)


def reason_of(reasons: list[str], *, is_complete: bool) -> str:
    """Why there is nothing: what the nodes say, or that not all of them could be asked."""
    said = next((reason for reason in reasons if reason and reason != EMPTY), "")
    return said or (EMPTY if is_complete else UNAVAILABLE)


def narrowed(request: ReceiveRequest, messages: list[DeliveredMessage], wait_ms: int) -> ReceiveRequest:
    """The request for what `messages` leave room for."""
    return replace(
        request,
        max_messages=request.max_messages - len(messages),
        max_bytes=bytes_left(request, messages),
        wait_ms=wait_ms,
    )


def bytes_left(request: ReceiveRequest, messages: list[DeliveredMessage]) -> int:
    return request.max_bytes - sum(message.record.large_bytes for message in messages)


def _log_what_may_be_lost(node_id: int, request: ReceiveRequest) -> None:
    """The client gets messages of other nodes, and cannot know."""
    logger.warning(
        "auto_acked_messages_may_be_lost", node=node_id, group_id=request.group_id, messages_max=request.max_messages
    )


def _silent(node_id: int) -> ServerError:
    return ServerError(ProblemCode.TIMED_OUT, f"node {node_id} did not answer within the deadline")
