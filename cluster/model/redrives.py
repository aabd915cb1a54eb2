"""Redrive jobs as the coordination store holds them: dead letters that are sent back, partition by partition.

The job itself is written once, and once more where it is cancelled. How far it is in a partition is a value of its own,
which only the runner of that partition writes: each write names the one before it, so a runner that was overtaken
cannot write any more.
"""

import msgspec


class LetterRange(msgspec.Struct, frozen=True, rename="camel"):
    """What of a partition of the dead-letter topic is the job's: fixed when it is made, so that letters that come while
    it runs, its own among them, are no part of it."""

    partition: int
    start: int
    end: int


class RedriveJob(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """`group_id` is whose progress says which letters are handled. `target` is the topic that they go to, "" the one
    that each came from; `filter` says which of them, in its canonical text, as does `offsets` (per partition) where ids
    were named. `rate_per_second` is of the whole job."""

    id: str
    group_id: str
    topic_id: str
    created_at_ms: int
    ranges: tuple[LetterRange, ...]
    target: str = ""
    filter: str | None = None
    offsets: dict[int, tuple[int, ...]] | None = None
    rate_per_second: int | None = None
    cancelled_at_ms: int = -1


class TargetEnd(msgspec.Struct, frozen=True, array_like=True):
    """Up to where a target partition was committed. Whatever is sent later has its offset there or above."""

    topic_id: str
    partition: int
    offset: int


class Sending(msgspec.Struct, frozen=True, rename="camel"):
    """Written before anything of it is sent: which letters, and where the targets ended then. Whoever finds this looks
    in the targets from there on: what it finds was sent, what it does not find was not."""

    offsets: tuple[int, ...]
    end: int
    reach: tuple[TargetEnd, ...]


class RedrivePart(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """How far a job is in a partition: letters below `position` are behind it. `failed` were refused, or nobody can say
    whether they were sent; they are not handled."""

    position: int
    moved: int = 0
    failed: int = 0
    sending: Sending | None = None
