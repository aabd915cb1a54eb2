"""What a heartbeat changes of a group, or why it is refused."""

from collections.abc import Sequence

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.groups.coordinator_settings import CoordinatorSettings
from storage.groups.exclusive_group import ExclusiveGroup
from storage.groups.member import GroupMember, SubscribedTopics
from storage.groups.records import MemberGone, MemberWritten
from storage.groups.surroundings import ExclusiveTerms, TopicTable
from storage.rpc.membership_messages import JOIN, LEAVE, STEP_OUT, HeartbeatRequest


def records_of(
    request: HeartbeatRequest,
    group: ExclusiveGroup | None,
    terms: ExclusiveTerms,
    settings: CoordinatorSettings,
    now_ms: int,
) -> list[MemberWritten | MemberGone]:
    """Raises ServerError MEMBER_UNKNOWN, MEMBER_FENCED, MEMBER_EXISTS, TOO_MANY_MEMBERS, INVALID_FIELD."""
    member = None if group is None else group.members.get(request.member)
    if request.member_epoch != JOIN:
        if group is None or member is None:
            detail = f"{request.member!r} is no member of the group: it left, or was not heard for its session timeout"
            raise ServerError(ProblemCode.MEMBER_UNKNOWN, detail, field="member")
        _check_present(request, member)
        if request.member_epoch == LEAVE:
            return [MemberGone(group.group_id, group.epoch + 1, member.name, has_left=True)]
        if member.stepped_out and request.member_epoch != STEP_OUT:
            # A heartbeat that was on its way then must not keep the next process out.
            detail = f"{request.member!r} has left its name to its next process: it joins if it is that"
            raise ServerError(ProblemCode.MEMBER_UNKNOWN, detail, field="member")
        if request.member_epoch == STEP_OUT or not (request.topic_ids or request.patterns):
            return []
    _check_bounds(request, settings)
    epoch = 0 if group is None else group.epoch
    if member is None or group is None:
        if group is not None and len(group.members) >= settings.members_per_group_max:
            detail = f"the group has {len(group.members)} members, the limit"
            raise ServerError(ProblemCode.TOO_MANY_MEMBERS, detail, field="member")
        return [_written(request, terms, epoch + 1, joined_epoch=epoch + 1, member_epoch=epoch + 1)]
    if request.instance_id == member.instance_id:
        same = _written(request, terms, epoch, joined_epoch=member.joined_epoch, member_epoch=member.member_epoch)
        return [] if same == member.written(group.group_id, epoch) else [same]
    if member.is_static and member.is_alive(now_ms):
        detail = f"the static name {request.member!r} is that of another process, which was heard a moment ago"
        retry_ms = member.session_timeout_ms // 2
        raise ServerError(ProblemCode.MEMBER_EXISTS, detail, field="member", retry_after_ms=retry_ms)
    # The name is another process's now, and what the first one has in hand is not: only another ownership tells
    # partitions' leaders so.
    gone = MemberGone(group.group_id, epoch + 1, member.name, has_left=member.stepped_out)
    return [gone, _written(request, terms, epoch + 2, joined_epoch=epoch + 2, member_epoch=epoch + 2)]


def names_deleted_topics(request: HeartbeatRequest, member: GroupMember | None, topics: TopicTable) -> bool:
    """Whether the subscription that the heartbeat leaves behind names a topic that is no more, and its gateway wants to
    know. One that was made again under the name is another one (rule R14). Who only leaves needs none."""
    if not request.topics_must_exist or request.member_epoch in {LEAVE, STEP_OUT}:
        return False
    topic_ids: Sequence[str] = request.topic_ids
    if member is not None and request.member_epoch != JOIN and not (request.topic_ids or request.patterns):
        topic_ids = member.subscription.topic_ids
    return not all(map(topics.has, topic_ids))


def topics_deleted() -> ServerError:
    detail = "a topic that the member subscribes to was deleted; it joins again for those that there are now"
    return ServerError(ProblemCode.TOPIC_NOT_FOUND, detail)


def _check_present(request: HeartbeatRequest, member: GroupMember) -> None:
    is_another = bool(request.instance_id) and request.instance_id != member.instance_id
    is_stale = request.member_epoch > JOIN and not member.joined_epoch <= request.member_epoch <= member.member_epoch
    if is_another or is_stale:
        detail = f"another process is {request.member!r} now, or this one was given up and joined again"
        raise ServerError(ProblemCode.MEMBER_FENCED, detail, field="memberEpoch" if is_stale else "instanceId")
    if request.member_epoch == STEP_OUT and not member.is_static:
        detail = f"{request.member!r} is no static member: it can leave, and join again"
        raise ServerError(ProblemCode.INVALID_FIELD, detail, field="member")


def _check_bounds(request: HeartbeatRequest, settings: CoordinatorSettings) -> None:
    for field, found, limit in (
        ("topics", len(request.topic_ids), settings.topics_per_subscription_max),
        ("patterns", len(request.patterns), settings.patterns_per_subscription_max),
    ):
        if found > limit:
            raise ServerError(ProblemCode.INVALID_FIELD, f"has {found} entries, the limit is {limit}", field=field)
    longest = max(map(len, request.patterns), default=0)
    if longest > settings.pattern_length_max:
        detail = f"one has {longest} characters, the limit is {settings.pattern_length_max}"
        raise ServerError(ProblemCode.INVALID_FIELD, detail, field="patterns")
    shortest_ms, longest_ms = settings.session_timeout_ms_min, settings.session_timeout_ms_max
    if request.session_timeout_ms and not shortest_ms <= request.session_timeout_ms <= longest_ms:
        detail = f"must be from {shortest_ms} to {longest_ms}"
        raise ServerError(ProblemCode.INVALID_FIELD, detail, field="sessionTimeoutMs")


def _written(
    request: HeartbeatRequest, terms: ExclusiveTerms, epoch: int, *, joined_epoch: int, member_epoch: int
) -> MemberWritten:
    subscription = SubscribedTopics(tuple(sorted(set(request.topic_ids))), tuple(sorted(set(request.patterns))))
    return MemberWritten(
        request.group_id,
        epoch,
        request.member,
        joined_epoch,
        member_epoch,
        *subscription,
        request.rack,
        request.session_timeout_ms or terms.session_timeout_ms,
        request.is_static,
        request.instance_id,
    )
