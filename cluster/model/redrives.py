"""Redrive jobs as the coordination store holds them: dead letters that are sent back, partition by partition.

The job itself is written when it is made, when it is cancelled, and when it is over. How far it is in a partition is a
value of its own, which only the runner of that partition writes: each write names the one before it, so a runner that
was overtaken cannot write any more.
"""

import msgspec

from acklog.wire.name_patterns import is_pattern_for


class LetterRange(msgspec.Struct, frozen=True, rename="camel"):
    """What of a partition of the dead-letter topic is the job's: fixed when it is made, so that letters that come while
    it runs, its own among them, are no part of it. `letters` of it had not been handled then."""

    partition: int
    start: int
    end: int
    letters: int


class ChosenLetter(msgspec.Struct, frozen=True, array_like=True):
    """A letter that was named by its id."""

    partition: int
    leader_epoch: int
    offset: int


class RedriveJob(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """`group_id` is whose progress says which letters are handled, `topic_id` the topic of dead letters.

    `target_id` is the topic that they go to, "" the one that each came from; `targets` are the patterns of topics that
    whoever made the job may send to (None: all), as anybody may have written where a letter came from (rule R39).
    `filter`, in its canonical text, says which letters are meant, as does `chosen`, where ids were named.
    `rate_per_second` is the whole job's.
    """

    id: str
    group_id: str
    topic_id: str
    created_at_ms: int
    ranges: tuple[LetterRange, ...]
    target_id: str = ""
    targets: tuple[str, ...] | None = None
    filter: str | None = None
    chosen: tuple[ChosenLetter, ...] | None = None
    rate_per_second: int | None = None
    cancelled_at_ms: int = -1
    finished_at_ms: int = -1

    @property
    def is_cancelled(self) -> bool:
        return self.cancelled_at_ms >= 0

    @property
    def is_finished(self) -> bool:
        """Nothing of it is under way any more."""
        return self.finished_at_ms >= 0

    @property
    def letters(self) -> int:
        """That had not been handled when it was made."""
        return sum(each.letters for each in self.ranges)

    def may_send_to(self, topic_name: str) -> bool:
        return self.targets is None or any(is_pattern_for(pattern, topic_name) for pattern in self.targets)

    def rate_of(self, part: LetterRange) -> float | None:
        """What of the job's rate is a partition's, by its share of the letters."""
        return None if self.rate_per_second is None else self.rate_per_second * part.letters / max(self.letters, 1)


class TargetEnd(msgspec.Struct, frozen=True, array_like=True):
    """Up to where a target partition was committed. Whatever is sent later has its offset there or above."""

    topic_id: str
    partition: int
    offset: int


class SendingLetters(msgspec.Struct, frozen=True, rename="camel"):
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
    sending: SendingLetters | None = None

    def is_over(self, job: RedriveJob, part: LetterRange) -> bool:
        """Nothing of it is under way, and nothing will be."""
        return self.sending is None and (job.is_cancelled or self.position >= part.end)


def is_over(job: RedriveJob, parts: dict[int, RedrivePart]) -> bool:
    """Whether the whole job is, by what is noted of its partitions."""
    return all(parts.get(each.partition, RedrivePart(each.start)).is_over(job, each) for each in job.ranges)
