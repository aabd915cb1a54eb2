"""What whoever appends to a partition's logs asks of its replication, and is told by it."""

from typing import Protocol

from cluster.model import Topic
from storage.log.keys import LogKind
from storage.replication.leader_events import Refusal


class Leadership(Protocol):
    """The leader's side of a partition's replica, for one leader epoch."""

    @property
    def topic(self) -> Topic:
        """As it is now."""
        ...

    @property
    def leader_epoch(self) -> int: ...

    def high_watermark(self, log: LogKind) -> int:
        """Everything below it is committed."""
        ...

    def refusal(self, acks: int) -> Refusal | None:
        """Why an append with `acks` is not to be written now. None: it is."""
        ...

    def is_heard(self) -> bool:
        """Whether enough followers were heard of late: what is known here of deliveries is not out of date."""
        ...

    def log_moved(self) -> None:
        """An append is durable here. High watermarks may pass it before this returns."""
        ...

    def await_acks(self, log: LogKind, next_offset: int, acks: int, token: int) -> None:
        """Tell `Committed.acks_reached` when the append that ends at `next_offset` is on `acks` replicas."""
        ...


class LeadershipListener(Protocol):
    """Who appends to one log of a partition, while it leads."""

    def high_watermark_advanced(self, high_watermark: int) -> None: ...

    def leadership_ended(self) -> None:
        """What is not committed by now is nobody's to answer for."""
        ...
