"""What whoever appends to a partition's logs asks of its replication, and is told by it."""

from typing import Protocol

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.values import Topic
from storage.replication.known_deletion import KnownDeletion
from storage.replication.leader_events import Refusal

UNAVAILABLE_RETRY_MS = 200


class LeaderStanding(Protocol):
    """Whether the leader of a replica still knows what it says."""

    def is_sure(self) -> bool:
        """Whether what is known here was not out of date a moment ago: nobody else can lead and have committed more."""
        ...

    async def is_confirmed(self) -> bool:
        """Whether what was known here when this was called was not out of date."""
        ...


class Leadership(Protocol):
    """The leader's side of a partition's replica, for one leader epoch."""

    @property
    def standing(self) -> LeaderStanding: ...

    @property
    def topic(self) -> Topic:
        """As it is now."""
        ...

    @property
    def leader_epoch(self) -> int: ...

    @property
    def deletions(self) -> KnownDeletion: ...

    def high_watermark(self, log: int) -> int:
        """Everything below it is committed."""
        ...

    def refusal(self, acks: int) -> Refusal | None:
        """Why an append with `acks` is not to be written now. None: it is."""
        ...

    def log_moved(self) -> None:
        """An append is durable here. High watermarks may pass it before this returns."""
        ...

    def await_acks(self, log: int, next_offset: int, acks: int, token: int) -> None:
        """Tell `Committed.acks_reached` when the append that ends at `next_offset` is on `acks` replicas."""
        ...


class LeadershipListener(Protocol):
    """Who appends to one log of a partition, while it leads."""

    def high_watermark_advanced(self, high_watermark: int) -> None: ...

    def leadership_ended(self) -> None:
        """What is not committed by now is nobody's to answer for."""
        ...


def check_sure(leadership: Leadership) -> None:
    """Raises ServerError UNAVAILABLE where somebody else may lead by now, and know what is not known here."""
    if not leadership.standing.is_sure():
        raise _unsure()


async def confirm(leadership: Leadership) -> None:
    """Return once it is certain that nobody else knew more when this was called. Raises ServerError UNAVAILABLE."""
    if not await leadership.standing.is_confirmed():
        raise _unsure()


def _unsure() -> ServerError:
    detail = "The partition's leader does not hear its followers, so another may lead by now."
    return ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=UNAVAILABLE_RETRY_MS)
