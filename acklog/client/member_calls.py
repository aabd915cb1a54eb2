"""The calls of members of exclusive groups, and about them."""

from collections.abc import Sequence
from dataclasses import dataclass

from acklog.client.call import JSON, Call, Request, encode_document, read_as, read_nothing, segment, target
from acklog.members import AssignedToMember, GroupMembers

_read_assignment = read_as(AssignedToMember)
_read_members = read_as(GroupMembers)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSubscription:
    """What a member reads, and how it lives. `patterns` are shell patterns of topics' names. A session that lasts None
    lasts as long as the group has it. `instance` tells two processes of one name apart."""

    topics: Sequence[str] = ()
    patterns: Sequence[str] = ()
    rack: str = ""
    session_timeout_s: float | None = None
    is_static: bool = False
    instance: str = ""


def join(group: str, member: str, subscription: MemberSubscription) -> Call[AssignedToMember]:
    """Also for a member that is there: it reads this from now on."""
    timeout_s = subscription.session_timeout_s
    document = {
        "topics": list(subscription.topics) or None,
        "patterns": list(subscription.patterns) or None,
        "rack": subscription.rack or None,
        "sessionTimeoutMs": None if timeout_s is None else round(timeout_s * 1000),
        "static": subscription.is_static or None,
        "instanceId": subscription.instance or None,
    }
    body = encode_document({name: value for name, value in document.items() if value is not None})
    return Call(Request("PUT", _member(group, member), body, JSON), _read_assignment)


def heartbeat(
    group: str, member: str, *, member_epoch: int, wait_s: float = 0, instance: str = ""
) -> Call[AssignedToMember]:
    """`member_epoch` is what the last answer said. Answered when there is another one, or after `wait_s`."""
    document: dict[str, object] = {"memberEpoch": member_epoch}
    if wait_s:
        document["waitSeconds"] = round(wait_s, 3)
    if instance:
        document["instanceId"] = instance
    request = Request("POST", f"{_member(group, member)}/heartbeat", encode_document(document), JSON)
    return Call(request, _read_assignment, wait_s=wait_s)


def leave(group: str, member: str, *, instance: str = "", comes_back: bool = False) -> Call[None]:
    """A static member that `comes_back` leaves its partitions to its next process, for a session timeout."""
    query = [("instanceId", instance or None), ("comesBack", comes_back or None)]
    return Call(Request("DELETE", target(_member(group, member), query)), read_nothing)


def list_members(group: str) -> Call[GroupMembers]:
    return Call(Request("GET", f"/groups/{segment(group)}/members"), _read_members)


def _member(group: str, member: str) -> str:
    return f"/groups/{segment(group)}/members/{segment(member)}"
