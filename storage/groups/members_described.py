"""A group as operators see it."""

from storage.groups.exclusive_group import ExclusiveGroup
from storage.rpc.membership_messages import MemberDescription, MembersResponse


def described(group: ExclusiveGroup, now_ms: int) -> MembersResponse:
    members = [
        MemberDescription(
            member.name,
            member.member_epoch,
            member.joined_epoch,
            list(member.subscription.topic_ids),
            list(member.subscription.patterns),
            member.rack,
            member.session_timeout_ms,
            member.is_static,
            member.instance_id,
            0 if member.waiting else max(0, now_ms - member.heard_ms),
            group.owned_by(member),
        )
        for _, member in sorted(group.members.items())
    ]
    return MembersResponse(group.epoch, members)
