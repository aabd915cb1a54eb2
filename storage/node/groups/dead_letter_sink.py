"""Where messages go that a group could not handle: a topic of its own, written before the source forgets them (R29)."""

from typing import NamedTuple, Protocol

from acklog.wire.record import Record
from cluster.model.values import Group, Topic
from storage.delivery.failures import FailureHistory

_NO_HISTORY = FailureHistory()


class DeadLetter(NamedTuple):
    """A message that used up its attempts, or whose time to live `is_expired`, in this generation of its group: after a
    seek back it may do so again."""

    partition: int
    offset: int
    generation: int
    leader_epoch: int
    append_time_ms: int
    attempts: int
    record: Record
    history: FailureHistory = _NO_HISTORY
    is_expired: bool = False


class DeadLetterSink(Protocol):
    async def append(self, source: Topic, group: Group, letters: list[DeadLetter]) -> None:
        """Return when all are durable in the group's dead-letter topic. Raises ServerError; some may be there then.

        A letter that is appended again within the topic's dedup window is not stored twice; the same message of another
        generation is another letter.
        """
        ...
