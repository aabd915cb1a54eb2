"""What a gateway and the coordinator of exclusive groups say to each other (`storage.rpc.messages` has the rest)."""

import msgspec

JOIN = 0
LEAVE = -1
STEP_OUT = -2

UNSAID = -1
"""In place of the number of an owner."""


class _Message(msgspec.Struct, array_like=True, gc=False):
    """Positional on the wire, so fields are only ever added at the end."""


class Ownership(_Message):
    """One partition of a member's assignment, and what a receive claims by it. `ownership` rises whenever the partition
    gets another owner. Every owner from `gone_since` on and before this one left, or its session is over, so that it is
    not waited for; every one from `left_since` on left, so that what it had in hand was not tried. Earlier versions
    neither say (UNSAID) nor read this: they go by `is_forced`, which says it of the last one alone."""

    topic_id: str
    partition: int
    ownership: int
    is_forced: bool = False
    gone_since: int = UNSAID
    left_since: int = UNSAID


class HeartbeatRequest(_Message):
    """To the leader of partition `partition` of the internal topic that the group belongs to.

    `member_epoch`: JOIN joins, or goes on where the member is known already; LEAVE leaves for good; STEP_OUT leaves the
    name of a static member to its next instance, which has the same partitions if it comes within the session timeout;
    else what the last answer said: MEMBER_UNKNOWN for who is no member or has stepped out, MEMBER_FENCED for one of an
    earlier life.

    The subscription (`topic_ids`, shell `patterns` of topics' names), `rack`, `session_timeout_ms` (0: the group's)
    and `is_static` are those of the member from now on. `instance_id` tells two processes of one static name apart:
    the second one gets MEMBER_EXISTS while the first one lives, and another ownership of what that one had after it.

    The answer comes at once if the member's epoch is not `known_epoch`, else when it changes, or after `wait_ms`. While
    a heartbeat waits, the member is there.

    `overtaken` is what partitions' leaders have refused since the answer before, with the ownership that it would need
    (`ReceiveResponse`): where none was ever given out that is so high, the log of `__groups` was lost.

    `topics_must_exist`: TOPIC_NOT_FOUND where one of the subscription's `topic_ids` is no more, as soon as that is so.
    Earlier versions do not say it: they would take that for something that passes, and ask again at once.
    """

    partition: int
    group_id: str
    member: str
    member_epoch: int
    topic_ids: list[str]
    patterns: list[str] = []
    rack: str = ""
    session_timeout_ms: int = 0
    is_static: bool = False
    instance_id: str = ""
    known_epoch: int = 0
    wait_ms: int = 0
    overtaken: list[Ownership] = []
    topics_must_exist: bool = False


class HeartbeatResponse(_Message):
    """`member_epoch` rises whenever the member's assignment changes, `group_epoch` with every change of the group. Both
    are durable, as is `assigned`, which is always the whole of it."""

    member_epoch: int
    group_epoch: int
    assigned: list[Ownership]
    session_timeout_ms: int


class MembersRequest(_Message):
    """The group's members, as its coordinator knows them. To the same leader as `HeartbeatRequest`."""

    partition: int
    group_id: str


class MemberDescription(_Message):
    """`joined_epoch`: at which the member's present life began. `silent_ms`: since its last heartbeat, 0 while one
    waits."""

    member: str
    member_epoch: int
    joined_epoch: int
    topic_ids: list[str]
    patterns: list[str]
    rack: str
    session_timeout_ms: int
    is_static: bool
    instance_id: str
    silent_ms: int
    assigned: list[Ownership]


class MembersResponse(_Message):
    """By name. A group that nobody ever joined has epoch 0."""

    group_epoch: int
    members: list[MemberDescription]
