"""What a runner of a redrive job needs of the world."""

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from acklog.wire.record import Record
from cluster.model.redrives import RedrivePart, TargetEnd


class SupersededError(Exception):
    """Somebody else runs this part of the job: nothing more may be done here."""


class Letter(NamedTuple):
    """A dead letter of the partition, and the topic (id) that it is to be sent to; "" where that cannot be told."""

    offset: int
    target_id: str
    record: Record


class LetterPage(NamedTuple):
    """The job's letters from an offset on that are not handled yet; below `end` there are no others."""

    letters: Sequence[Letter]
    end: int


class Letters(Protocol):
    """The partition of dead letters, as its leader has it."""

    async def read(self, start: int, *, end: int, letters_max: int) -> LetterPage: ...

    async def read_these(self, offsets: Sequence[int]) -> Sequence[Letter]:
        """Those that are still there."""
        ...

    async def handled(self, offsets: Collection[int]) -> None:
        """They are done for the job's group, durably. Doing it again changes nothing."""
        ...


class SentLetters(NamedTuple):
    """Which letters of a job and partition lie in targets; `is_sure` unless a part of these is not there any more."""

    offsets: frozenset[int]
    is_sure: bool


class Targets(Protocol):
    """The topics that letters go to. Each letter bears the job, its partition and its offset.

    Who sends is a named producer of each topic, of the job and the partition: opening it fences whoever opened it
    before.
    """

    async def take_over(self, topic_ids: Collection[str]) -> None:
        """From the return of this on, nothing is begun any more that was sent to these topics before, by another runner
        or by this one; another one gets SupersededError."""
        ...

    async def ends(self, topic_ids: Collection[str]) -> tuple[TargetEnd, ...]:
        """Of every partition of these topics, as leaders say that are sure."""
        ...

    async def sent_since(self, reach: Sequence[TargetEnd]) -> SentLetters:
        """What is there from these offsets on, in partitions that were added since too, once all is readable that was
        begun before they were taken over."""
        ...

    async def send(self, letters: Sequence[Letter]) -> frozenset[int]:
        """The offsets of those that are durable there now; others were refused for good. Raises SupersededError, and
        other errors where it is not known or may go better later: then any of them may be there."""
        ...


class Notes(Protocol):
    """How far the job is in the partition, in the coordination store."""

    async def read(self) -> RedrivePart: ...

    async def write(self, part: RedrivePart) -> None:
        """In the place of what was read or written here last, and only there. Raises SupersededError."""
        ...
