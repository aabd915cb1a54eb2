"""One member of an exclusive group."""

from typing import NamedTuple

from storage.groups.assignors.task import Place
from storage.groups.records import MemberWritten


class SubscribedTopics(NamedTuple):
    """By topics' ids and shell patterns of their names."""

    topic_ids: tuple[str, ...]
    patterns: tuple[str, ...]


class GroupMember:
    """What is durable of it (`MemberWritten`), and what its coordinator remembers: heartbeats and what waits.

    `places` are what it owns. `deadline_ms` is the end of its session unless it is heard before; while a heartbeat
    waits there is none.
    """

    __slots__ = (
        "deadline_ms",
        "heard_ms",
        "instance_id",
        "is_static",
        "is_watched",
        "joined_epoch",
        "member_epoch",
        "name",
        "places",
        "rack",
        "session_timeout_ms",
        "stepped_out",
        "subscription",
        "waiting",
    )

    def __init__(self, written: MemberWritten, now_ms: int) -> None:
        self.name = written.member
        self.joined_epoch = written.joined_epoch
        self.member_epoch = written.member_epoch
        self.subscription = SubscribedTopics(written.topic_ids, written.patterns)
        self.rack = written.rack
        self.session_timeout_ms = written.session_timeout_ms
        self.is_static = written.is_static
        self.instance_id = written.instance_id
        self.places: dict[Place, None] = {}
        self.waiting: dict[int, None] = {}
        self.stepped_out = False
        self.is_watched = False
        self.heard_ms = now_ms
        self.deadline_ms = now_ms + written.session_timeout_ms

    def follow(self, written: MemberWritten) -> None:
        """Another record of the same member."""
        self.joined_epoch = written.joined_epoch
        self.member_epoch = written.member_epoch
        self.subscription = SubscribedTopics(written.topic_ids, written.patterns)
        self.rack = written.rack
        self.session_timeout_ms = written.session_timeout_ms
        self.is_static = written.is_static
        self.instance_id = written.instance_id

    def heard(self, now_ms: int) -> None:
        self.heard_ms = now_ms
        self.deadline_ms = now_ms + self.session_timeout_ms

    def is_alive(self, now_ms: int) -> bool:
        """Whether the process that was heard last may still be there: a second one of a static name is refused then.
        Members are asked to be heard three times per session timeout."""
        return not self.stepped_out and (bool(self.waiting) or now_ms - self.heard_ms < self.session_timeout_ms // 2)

    def written(self, group_id: str, epoch: int) -> MemberWritten:
        return MemberWritten(
            group_id,
            epoch,
            self.name,
            self.joined_epoch,
            self.member_epoch,
            *self.subscription,
            self.rack,
            self.session_timeout_ms,
            self.is_static,
            self.instance_id,
        )
