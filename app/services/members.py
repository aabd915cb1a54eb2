"""Members of exclusive groups that say so themselves: joining, heartbeats, leaving; and a look at all of them.

Taking part is receiving: it takes that right on the group, and on every topic that is subscribed to.
"""

from functools import partial

import structlog

from acklog.wire.name_patterns import covers
from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.calls.members import (
    GroupMemberView,
    HeartbeatFields,
    JoinFields,
    LeaveCommand,
    MemberAssignment,
    MembersView,
    OwnedPartition,
    Subscription,
)
from app.calls.names import check_member
from app.calls.patience import Patience
from app.calls.same_namespace import check_pattern_of_namespace, check_same_namespace, pattern_within
from app.services.catalog import Catalog
from app.services.membership import GroupMembership
from app.services.waiting import WaitingRequests
from cluster.errors import ServerError
from cluster.model.action import Action
from cluster.model.values import Group, GroupMode
from storage.rpc.membership_messages import LEAVE, STEP_OUT, HeartbeatResponse, MemberDescription, Ownership

logger = structlog.get_logger(__name__)

HEARTBEATS_PER_SESSION = 3
"""A member that is told to be heard so often may miss two."""


class MemberService:
    """Calls raise ServerError: FORBIDDEN, GROUP_NOT_FOUND, WRONG_GROUP_MODE beside what they name, and what
    `GroupMembership` raises."""

    def __init__(self, catalog: Catalog, membership: GroupMembership, waiting: WaitingRequests) -> None:
        self._catalog = catalog
        self._membership = membership
        self._waiting = waiting

    async def join(self, group_name: str, member: str, fields: JoinFields, principal: Principal) -> MemberAssignment:
        """Also for a member that is there: it subscribes to this from now on. Raises ServerError TOPIC_NOT_FOUND,
        NAMESPACE_MISMATCH, MEMBER_EXISTS, TOO_MANY_MEMBERS."""
        group = await self._group(group_name, member, principal)
        for name in fields.topics:
            check_same_namespace(group_name, name, field="topics")
        for pattern in fields.patterns:
            check_pattern_of_namespace(group_name, pattern, field="patterns")
        topics = [await self._catalog.topic(name, principal, Action.RECEIVE, field="topics") for name in fields.topics]
        own = principal.topic_patterns(Action.RECEIVE) if fields.patterns else None
        for pattern in fields.patterns:
            wanted = pattern_within(group_name, pattern)
            if own is not None and not any(covers(each, wanted) for each in own):
                detail = f"the token is not for all topics like {pattern!r}: it may name patterns of its own, or topics"
                raise ServerError(ProblemCode.FORBIDDEN, detail, field="patterns")
        subscription = Subscription(
            tuple(topic.id for topic in topics),
            tuple(fields.patterns),
            fields.rack,
            fields.session_timeout_ms or 0,
            fields.is_static,
            fields.instance_id,
        )
        answer = await self._membership.heartbeat(group, member, subscription)
        return self._assignment(group, member, answer, principal)

    async def heartbeat(
        self, group_name: str, member: str, fields: HeartbeatFields, principal: Principal, patience: Patience
    ) -> MemberAssignment:
        """Raises ServerError MEMBER_UNKNOWN, MEMBER_FENCED, TOPIC_NOT_FOUND, TOO_MANY_WAITING."""
        group = await self._group(group_name, member, principal)
        beat = partial(
            self._membership.heartbeat,
            group,
            member,
            Subscription((), instance_id=fields.instance_id),
            member_epoch=fields.member_epoch,
            known_epoch=fields.member_epoch,
            wait_ms=round(fields.wait_seconds * 1000),
        )
        if not fields.wait_seconds:
            return self._assignment(group, member, await beat(), principal)
        with self._waiting.one_more(principal):
            answer = await patience.wait(beat())
        if answer is None:
            raise ServerError(ProblemCode.SHUTTING_DOWN, "the server is shutting down", retry_after_ms=1000)
        return self._assignment(group, member, answer, principal)

    async def leave(self, group_name: str, member: str, command: LeaveCommand, principal: Principal) -> None:
        """Its partitions are others' at once, unless its next process is to take them over. Raises ServerError
        MEMBER_UNKNOWN, MEMBER_FENCED, INVALID_FIELD."""
        group = await self._group(group_name, member, principal)
        subscription = Subscription((), instance_id=command.instance_id)
        epoch = STEP_OUT if command.comes_back else LEAVE
        await self._membership.heartbeat(group, member, subscription, member_epoch=epoch)

    async def prepare(self, group: Group) -> None:
        """For an exclusive group that is new. What cannot be done now, the first heartbeat does."""
        if group.mode is GroupMode.EXCLUSIVE:
            try:
                await self._membership.prepare()
            except ServerError as error:
                logger.info("groups_topic_not_prepared", reason=str(error))

    async def members(self, group_name: str, principal: Principal) -> MembersView:
        """Without the topics that the token is not for."""
        principal.require_progress_of(group_name)
        return await self.members_of(_exclusive(await self._catalog.group(group_name)), principal)

    async def members_of(self, group: Group, principal: Principal) -> MembersView:
        """As `members`, of a group that the caller may see."""
        answer = await self._membership.members(group)
        return MembersView(group.name, answer.group_epoch, [self._view(each, principal) for each in answer.members])

    async def _group(self, name: str, member: str, principal: Principal) -> Group:
        principal.require_on_group(Action.RECEIVE, name)
        check_member(member)
        return _exclusive(await self._catalog.group(name))

    def _assignment(
        self, group: Group, member: str, answer: HeartbeatResponse, principal: Principal
    ) -> MemberAssignment:
        """Without the topics that the token is not for: whoever receives for the group may name any member."""
        return MemberAssignment(
            group.name,
            member,
            answer.member_epoch,
            answer.group_epoch,
            answer.session_timeout_ms,
            answer.session_timeout_ms // HEARTBEATS_PER_SESSION,
            self._owned(answer.assigned, principal),
        )

    def _view(self, member: MemberDescription, principal: Principal) -> GroupMemberView:
        return GroupMemberView(
            member=member.member,
            member_epoch=member.member_epoch,
            joined_epoch=member.joined_epoch,
            topics=sorted(filter(None, (self._name(topic_id, principal) for topic_id in member.topic_ids))),
            patterns=member.patterns,
            rack=member.rack,
            session_timeout_ms=member.session_timeout_ms,
            is_static=member.is_static,
            instance_id=member.instance_id,
            silent_ms=member.silent_ms,
            assignment=self._owned(member.assigned, principal),
        )

    def _owned(self, assigned: list[Ownership], principal: Principal) -> list[OwnedPartition]:
        """By topics' names. A topic that was deleted a moment ago has none any more."""
        named = ((self._name(each.topic_id, principal), each) for each in assigned)
        owned = [OwnedPartition(name, each.partition, each.ownership) for name, each in named if name]
        return sorted(owned, key=lambda each: (each.topic, each.partition))

    def _name(self, topic_id: str, principal: Principal) -> str:
        """ "" where it is not known here, or not for the principal to see."""
        name = self._catalog.topic_name(topic_id) or ""
        return name if principal.knows_topic(name) else ""


def _exclusive(group: Group) -> Group:
    """Raises ServerError WRONG_GROUP_MODE."""
    if group.mode is not GroupMode.EXCLUSIVE:
        detail = f"the group {group.name!r} is {group.mode.value!r}; only exclusive groups have members"
        raise ServerError(ProblemCode.WRONG_GROUP_MODE, detail, field="group")
    return group
