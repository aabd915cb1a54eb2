"""Members of exclusive groups and what they own, as the API describes them."""

from typing import NamedTuple

import msgspec
from msgspec import field


class TopicPartition(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int


class AssignedPartition(msgspec.Struct, frozen=True):
    """A partition of a member. `ownership` rises whenever it gets another owner."""

    topic: str
    partition: int
    ownership: int = 0

    @property
    def place(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


class AssignedToMember(msgspec.Struct, rename="camel"):
    """What a member is told: all that is assigned to it, and its epoch, which rises with every change of that and
    proves that it is still the one that joined."""

    member_epoch: int
    group_epoch: int
    session_timeout_ms: int
    assignment: list[AssignedPartition]


class MemberOfGroup(msgspec.Struct, rename="camel"):
    """A member as others see it. `joined_epoch`: when its present life began. `silent_ms`: since it was last heard of,
    0 while a heartbeat of its waits."""

    member: str
    member_epoch: int
    joined_epoch: int
    topics: list[str]
    patterns: list[str]
    rack: str
    session_timeout_ms: int
    is_static: bool = field(name="static")
    instance_id: str
    silent_ms: int
    assignment: list[AssignedPartition]


class GroupMembers(msgspec.Struct, rename="camel"):
    """The members of an exclusive group, by name."""

    group: str
    group_epoch: int
    members: list[MemberOfGroup]
