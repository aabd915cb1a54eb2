"""Receiving in an exclusive group: being a member of it, and getting the messages of the partitions that are one's own.

Each receive is a heartbeat, too: who asks often is heard as often as needed, and while a receive waits a heartbeat
waits beside it. So a change of the assignment is heard of at once, and the receive goes on with the other partitions.
What is claimed by an assignment that is not true any more the partitions' leaders refuse.
"""

import asyncio
from collections import OrderedDict
from typing import Any, NamedTuple

from msgspec.structs import replace

from acklog.wire.problems import ProblemCode
from app.calls.members import Subscription
from app.calls.patience import Patience
from app.gateway.dependencies import Gateway
from app.gateway.jittered_backoff import JitteredBackoff
from app.services.membership import GroupMembership
from app.services.polls import SHUTTING_DOWN, Polls
from app.services.waiting import WaitingRequests
from cluster.errors import ServerError
from cluster.model.values import Group
from storage.rpc.membership_messages import JOIN, HeartbeatResponse, Ownership
from storage.rpc.messages import ReceiveRequest, ReceiveResponse

NO_PARTITIONS = "NO_PARTITIONS"
REBALANCING = "REBALANCING"
FENCED = "FENCED"
"""A node says so of claims that others have overtaken."""

HEARD_MS_MAX = 1_000
"""How old an assignment may be that a receive goes by. The leaders fence, so it costs a round where it is wrong."""

MEMBERS_KNOWN_MAX = 10_000
"""Members whose assignment one gateway remembers."""

_IS_NO_MEMBER = frozenset(
    {
        ProblemCode.MEMBER_UNKNOWN,
        ProblemCode.MEMBER_FENCED,
        ProblemCode.MEMBER_EXISTS,
        ProblemCode.TOO_MANY_MEMBERS,
        ProblemCode.WRONG_GROUP_MODE,
        ProblemCode.GROUP_NOT_FOUND,
        ProblemCode.INVALID_FIELD,
    }
)
"""What another try would not change."""


class _Member(NamedTuple):
    """Who receives: by itself (`member_epoch` JOIN), or as what it has joined as before."""

    group: Group
    name: str
    subscription: Subscription
    member_epoch: int


class _Heard(NamedTuple):
    """`overtaken`: what of it partitions' leaders have refused since."""

    at_ms: int
    answer: HeartbeatResponse
    overtaken: tuple[Ownership, ...] = ()


class ExclusiveReceived(NamedTuple):
    response: ReceiveResponse
    member_epoch: int


class ExclusiveReceive:
    def __init__(self, gateway: Gateway, membership: GroupMembership, polls: Polls, waiting: WaitingRequests) -> None:
        self._clock = gateway.clock
        self._entropy = gateway.entropy
        self._membership = membership
        self._polls = polls
        self._waiting = waiting
        self._heard: OrderedDict[tuple[str, str, tuple[str, ...], int], _Heard] = OrderedDict()

    async def receive(
        self, group: Group, request: ReceiveRequest, *, member_epoch: int, wait_ms: int, patience: Patience
    ) -> ExclusiveReceived:
        """`request` without claims; `member_epoch` as the member was told, or JOIN to take part just by this. Raises
        ServerError MISSING_FIELD, MEMBER_UNKNOWN and MEMBER_FENCED (for who was told an epoch), MEMBER_EXISTS, and what
        `Polls` and routing raise."""
        if not request.consumer:
            detail = "in an exclusive group who receives is a member of it, and has a name"
            raise ServerError(ProblemCode.MISSING_FIELD, detail, field="consumer")
        topic_ids = tuple(request.topic_ids)
        subscription = Subscription(topic_ids if member_epoch == JOIN else ())
        member = _Member(group, request.consumer, subscription, member_epoch)
        answer = await self._assignment(member, topic_ids)
        response = await self._ask(request, answer, topic_ids)
        if response.overtaken:
            self._overtaken(member, topic_ids, response.overtaken)
        if response.reason == FENCED or (response.overtaken and not response.messages):
            answer = await self._beat(member, topic_ids)
            response = await self._ask(request, answer, topic_ids)
        if not response.messages and wait_ms > 0:
            with self._waiting.one_more():
                waited = await patience.wait(self._wait(member, request, answer, topic_ids, wait_ms))
            if waited is None:
                return ExclusiveReceived(ReceiveResponse([], SHUTTING_DOWN), answer.member_epoch)
            return waited
        return _received(response, answer)

    # --- being a member --------------------------------------------------------------------------------------------

    async def _assignment(self, member: _Member, topic_ids: tuple[str, ...]) -> HeartbeatResponse:
        heard = self._heard.get(_key(member, topic_ids))
        if heard is not None and not heard.overtaken and self._clock.monotonic_ms() - heard.at_ms < HEARD_MS_MAX:
            return heard.answer
        return await self._beat(member, topic_ids)

    async def _beat(
        self, member: _Member, topic_ids: tuple[str, ...], *, known_epoch: int = 0, wait_ms: int = 0
    ) -> HeartbeatResponse:
        key = _key(member, topic_ids)
        heard = self._heard.pop(key, None)
        answer = await self._membership.heartbeat(
            member.group,
            member.name,
            member.subscription,
            member_epoch=member.member_epoch,
            known_epoch=known_epoch,
            wait_ms=wait_ms,
            overtaken=() if heard is None else heard.overtaken,
        )
        self._heard[key] = _Heard(self._clock.monotonic_ms(), answer)
        if len(self._heard) > MEMBERS_KNOWN_MAX:
            self._heard.popitem(last=False)
        return answer

    def _overtaken(self, member: _Member, topic_ids: tuple[str, ...], claims: list[Ownership]) -> None:
        """The coordinator is told of it with the next heartbeat, which is due."""
        heard = self._heard.get(_key(member, topic_ids))
        if heard is not None:
            self._heard[_key(member, topic_ids)] = heard._replace(overtaken=tuple(claims))

    # --- receiving -------------------------------------------------------------------------------------------------

    async def _ask(
        self, request: ReceiveRequest, answer: HeartbeatResponse, topic_ids: tuple[str, ...]
    ) -> ReceiveResponse:
        claiming = _claiming(request, answer, topic_ids)
        if not claiming.claims:
            return ReceiveResponse([], NO_PARTITIONS)
        return await self._polls.ask(claiming)

    async def _wait(
        self,
        member: _Member,
        request: ReceiveRequest,
        answer: HeartbeatResponse,
        topic_ids: tuple[str, ...],
        wait_ms: int,
    ) -> ExclusiveReceived:
        deadline_ms = self._clock.monotonic_ms() + wait_ms
        while True:
            change = asyncio.ensure_future(self._change(member, answer, topic_ids, deadline_ms))
            poll = asyncio.ensure_future(self._poll(_claiming(request, answer, topic_ids), deadline_ms))
            try:
                await _until_one_is_done(change, poll)
                changed = None if poll.done() else change.result()
                if changed is None:
                    return _received(await poll, answer)
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
        self, member: _Member, answer: HeartbeatResponse, topic_ids: tuple[str, ...], deadline_ms: int
    ) -> HeartbeatResponse | None:
        """Another assignment than this one; None at the deadline. While nobody coordinates the group, its members keep
        what they have: the partitions' leaders decide."""
        pauses = JitteredBackoff(self._entropy.fraction)
        while (left_ms := deadline_ms - self._clock.monotonic_ms()) > 0:
            try:
                latest = await self._beat(member, topic_ids, known_epoch=answer.member_epoch, wait_ms=left_ms)
            except ServerError as error:
                if error.code in _IS_NO_MEMBER:
                    raise
                await self._clock.sleep(min(left_ms, pauses.next_ms()))
                continue
            if latest.member_epoch != answer.member_epoch or latest.assigned != answer.assigned:
                return latest
        return None


async def _until_one_is_done(*futures: "asyncio.Future[Any]") -> None:
    is_one_done = asyncio.Event()
    for future in futures:
        future.add_done_callback(lambda _: is_one_done.set())
    await is_one_done.wait()


def _key(member: _Member, topic_ids: tuple[str, ...]) -> tuple[str, str, tuple[str, ...], int]:
    return member.group.id, member.name, topic_ids, member.member_epoch


def _claiming(request: ReceiveRequest, answer: HeartbeatResponse, topic_ids: tuple[str, ...]) -> ReceiveRequest:
    """For what is the member's of these topics."""
    claims = [each for each in answer.assigned if each.topic_id in topic_ids]
    return replace(request, topic_ids=list(dict.fromkeys(each.topic_id for each in claims)), claims=claims)


def _received(response: ReceiveResponse, answer: HeartbeatResponse) -> ExclusiveReceived:
    if response.reason == FENCED:
        response.reason = REBALANCING
    return ExclusiveReceived(response, answer.member_epoch)
