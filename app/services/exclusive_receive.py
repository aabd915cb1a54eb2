"""Receiving in an exclusive group: being a member of it, and getting the messages of the partitions that are one's own.

Each receive is a heartbeat, too: behind those of who asks often one waits for a moment (`WatchedAssignments`), and
while a receive waits one waits beside it. So a change of the assignment is heard of at once, and the receive goes on
with the other partitions. What is claimed by an assignment that is not true any more the partitions' leaders refuse.
"""

import asyncio
from typing import Any, NamedTuple

from msgspec.structs import replace

from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.calls.patience import Patience
from app.gateway.dependencies import Gateway
from app.gateway.jittered_backoff import JitteredBackoff
from app.services.membership import GroupMembership
from app.services.polls import SHUTTING_DOWN, Polls
from app.services.waiting import WaitingRequests
from app.services.watched_assignments import ReceivingMember, WatchedAssignments
from cluster.errors import ServerError
from cluster.model.values import Group
from storage.rpc.membership_messages import HeartbeatResponse
from storage.rpc.messages import ReceiveRequest, ReceiveResponse

NO_PARTITIONS = "NO_PARTITIONS"
REBALANCING = "REBALANCING"
FENCED = "FENCED"
"""A node says so of claims that others have overtaken."""

_IS_FINAL = frozenset(
    {
        ProblemCode.MEMBER_UNKNOWN,
        ProblemCode.MEMBER_FENCED,
        ProblemCode.MEMBER_EXISTS,
        ProblemCode.TOO_MANY_MEMBERS,
        ProblemCode.WRONG_GROUP_MODE,
        ProblemCode.GROUP_NOT_FOUND,
        ProblemCode.TOPIC_NOT_FOUND,
        ProblemCode.INVALID_FIELD,
    }
)
"""What another try would not change."""


class ExclusiveReceived(NamedTuple):
    response: ReceiveResponse
    member_epoch: int


class ExclusiveReceive:
    def __init__(self, gateway: Gateway, membership: GroupMembership, polls: Polls, waiting: WaitingRequests) -> None:
        self._clock = gateway.clock
        self._entropy = gateway.entropy
        self._assignments = WatchedAssignments(membership, clock=gateway.clock)
        self._polls = polls
        self._waiting = waiting

    async def receive(
        self,
        group: Group,
        request: ReceiveRequest,
        principal: Principal,
        *,
        member_epoch: int,
        wait_ms: int,
        patience: Patience,
    ) -> ExclusiveReceived:
        """`request` without claims; `member_epoch` as in `ReceivingMember`. Raises
        ServerError MISSING_FIELD, MEMBER_UNKNOWN and MEMBER_FENCED (for who was told an epoch), MEMBER_EXISTS,
        TOPIC_NOT_FOUND (also where another topic of the member's subscription was deleted), and what
        `Polls` and routing raise."""
        member = _member(group, request, member_epoch)
        answer = self._assignments.known(member) or await self._assignments.beat(member)
        response = await self._ask(request, answer)
        if response.reason == FENCED or (response.overtaken and not response.messages):
            answer = await self._assignments.beat(member, overtaken=response.overtaken)
            response = await self._ask(request, answer)
        if not response.messages and wait_ms > 0:
            with self._waiting.one_more(principal):
                waited = await patience.wait(self._wait(member, request, answer, wait_ms))
            if waited is None:
                return ExclusiveReceived(ReceiveResponse([], SHUTTING_DOWN), answer.member_epoch)
            response, answer = waited
        if response.messages or wait_ms <= 0:  # else it waited beside a heartbeat, and will do so again
            self._assignments.watch(member, answer, response.overtaken)
        if response.reason == FENCED:
            response.reason = REBALANCING
        return ExclusiveReceived(response, answer.member_epoch)

    async def stay(self, group: Group, request: ReceiveRequest, *, member_epoch: int) -> None:
        """Be a member without receiving anything. Raises ServerError as `receive` does."""
        member = _member(group, request, member_epoch)
        if self._assignments.known(member) is None:
            self._assignments.watch(member, await self._assignments.beat(member))

    # --- receiving -------------------------------------------------------------------------------------------------

    async def _ask(self, request: ReceiveRequest, answer: HeartbeatResponse) -> ReceiveResponse:
        claiming = _claiming(request, answer)
        if not claiming.claims:
            return ReceiveResponse([], NO_PARTITIONS)
        return await self._polls.ask(claiming)

    async def _wait(
        self,
        member: ReceivingMember,
        request: ReceiveRequest,
        answer: HeartbeatResponse,
        wait_ms: int,
    ) -> tuple[ReceiveResponse, HeartbeatResponse]:
        """With the assignment that it is by."""
        deadline_ms = self._clock.monotonic_ms() + wait_ms
        while True:
            change = asyncio.ensure_future(self._change(member, answer, deadline_ms))
            poll = asyncio.ensure_future(self._poll(_claiming(request, answer), deadline_ms))
            try:
                await _until_one_is_done(change, poll)
                changed = None if poll.done() else change.result()
                if changed is None:
                    return await poll, answer
                answer = changed
            finally:
                await self._end(change, poll)

    async def _poll(self, claiming: ReceiveRequest, deadline_ms: int) -> ReceiveResponse:
        left_ms = max(0, deadline_ms - self._clock.monotonic_ms())
        if claiming.claims:
            return await self._polls.wait(claiming, left_ms)
        await self._clock.sleep(left_ms)
        return ReceiveResponse([], NO_PARTITIONS)

    async def _end(
        self, change: "asyncio.Future[HeartbeatResponse | None]", poll: "asyncio.Future[ReceiveResponse]"
    ) -> None:
        """What came too late to be seen goes back."""
        is_seen = poll.done()  # else it is cancelled, and may have got something all the same
        change.cancel()
        poll.cancel()
        await asyncio.gather(change, poll, return_exceptions=True)
        if not is_seen and not poll.cancelled() and poll.exception() is None:
            self._polls.release(poll.result().messages)

    async def _change(
        self, member: ReceivingMember, answer: HeartbeatResponse, deadline_ms: int
    ) -> HeartbeatResponse | None:
        """Another assignment than this one; None at the deadline. While nobody coordinates the group, its members keep
        what they have: the partitions' leaders decide."""
        pauses = JitteredBackoff(self._entropy.fraction)
        while (left_ms := deadline_ms - self._clock.monotonic_ms()) > 0:
            try:
                latest = await self._assignments.beat(member, known_epoch=answer.member_epoch, wait_ms=left_ms)
            except ServerError as error:
                if error.code in _IS_FINAL:
                    raise
                await self._clock.sleep(min(left_ms, pauses.next_ms()))
                continue
            if latest.member_epoch != answer.member_epoch or latest.assigned != answer.assigned:
                return latest
        return None


def _member(group: Group, request: ReceiveRequest, member_epoch: int) -> ReceivingMember:
    """Raises ServerError MISSING_FIELD."""
    if not request.consumer:
        detail = "in an exclusive group who receives is a member of it, and has a name"
        raise ServerError(ProblemCode.MISSING_FIELD, detail, field="consumer")
    return ReceivingMember(group, request.consumer, tuple(request.topic_ids), member_epoch)


async def _until_one_is_done(*futures: "asyncio.Future[Any]") -> None:
    is_one_done = asyncio.Event()
    for future in futures:
        future.add_done_callback(lambda _: is_one_done.set())
    await is_one_done.wait()


def _claiming(request: ReceiveRequest, answer: HeartbeatResponse) -> ReceiveRequest:
    """For what is the member's of the topics that it asks for."""
    claims = [each for each in answer.assigned if each.topic_id in request.topic_ids]
    return replace(request, topic_ids=list(dict.fromkeys(each.topic_id for each in claims)), claims=claims)
