"""What is asked of members of exclusive groups, and how they are shown."""

from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

from acklog.wire import limits

_EPOCH_MAX = (1 << 53) - 1
_Text = Annotated[str, Meta(max_length=limits.CONSUMER_NAME_LENGTH_MAX)]
_TopicNames = Annotated[list[str], Meta(max_length=limits.MEMBER_TOPICS_MAX)]
_Patterns = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=limits.NAME_LENGTH_MAX)]],
    Meta(
        max_length=limits.MEMBER_PATTERNS_MAX, description="shell patterns of topics' names, of those to come as well"
    ),
]
_Instance = Annotated[_Text, Meta(description="tells two processes of one name apart")]
_MemberEpoch = Annotated[int, Meta(ge=1, le=_EPOCH_MAX, description="as the last answer said")]


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a member reads, and how it lives. `patterns` are shell patterns of topics' names; `session_timeout_ms` 0:
    the group's. `instance_id` tells two processes of one static name apart."""

    topic_ids: tuple[str, ...]
    patterns: tuple[str, ...] = ()
    rack: str = ""
    session_timeout_ms: int = 0
    is_static: bool = False
    instance_id: str = ""


class JoinFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The body of `PUT /groups/{group}/members/{member}`: all of it, also of a member that is there already."""

    topics: _TopicNames = []
    patterns: _Patterns = []
    rack: Annotated[_Text, Meta(description="partitions whose leader is near are preferred where that is free")] = ""
    session_timeout_ms: Annotated[
        Annotated[int, Meta(ge=limits.SESSION_TIMEOUT_MS_MIN, le=limits.SESSION_TIMEOUT_MS_MAX)] | None,
        Meta(description="how long the member may be silent (default: the group's setting)"),
    ] = None
    is_static: Annotated[
        bool, Meta(description="the next process of this name has the partitions of this one, within the timeout")
    ] = msgspec.field(default=False, name="static")
    instance_id: _Instance = ""


class HeartbeatFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The body of `POST /groups/{group}/members/{member}/heartbeat`."""

    member_epoch: _MemberEpoch
    instance_id: _Instance = ""
    wait_seconds: Annotated[
        float,
        Meta(
            ge=0, le=limits.WAIT_SECONDS_MAX, description="how long to wait for another assignment than memberEpoch's"
        ),
    ] = 0


@dataclass(frozen=True, slots=True)
class LeaveCommand:
    instance_id: str
    comes_back: bool


class OwnedPartition(msgspec.Struct, rename="camel"):
    """`ownership` rises whenever the partition gets another owner: it is what its leader fences by."""

    topic: str
    partition: int
    ownership: int


class MemberAssignment(msgspec.Struct, rename="camel"):
    """`member_epoch` rises with every change of the assignment, which is always the whole of it."""

    group: str
    member: str
    member_epoch: int
    group_epoch: int
    session_timeout_ms: int
    heartbeat_interval_ms: int
    assignment: list[OwnedPartition]


class GroupMemberView(msgspec.Struct, rename="camel"):
    """`joined_epoch`: when its present life began. `silent_ms`: since it was heard, 0 while a heartbeat waits."""

    member: str
    member_epoch: int
    joined_epoch: int
    topics: list[str]
    patterns: list[str]
    rack: str
    session_timeout_ms: int
    is_static: bool = msgspec.field(name="static")
    instance_id: str
    silent_ms: int
    assignment: list[OwnedPartition]


class MembersView(msgspec.Struct, rename="camel"):
    group: str
    group_epoch: int
    members: list[GroupMemberView]
