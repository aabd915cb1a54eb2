"""Where the messages of one request are, or why they are not."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from cluster.errors import ServerError
from cluster.model.values import Topic


class Placed(NamedTuple):
    """Where a message was stored; `offset` is -1 where `acks` 0 asked for no offset."""

    partition: int
    epoch: int
    offset: int


class ScheduledPlace(NamedTuple):
    """Where a message is kept that is to be seen later: in the schedule log. `append_time_ms` is -1 where that is not
    told, as of one that was sent before; `offset` as in `Placed`."""

    partition: int
    epoch: int
    offset: int
    append_time_ms: int = -1


@dataclass(slots=True)
class SendResult:
    """Every message of the request is in one of `runs`, in one of `scheduled`, or in `faults` by
    its index. `deadline_ms`: until when, on the
    steady clock, whatever the request needs of the nodes has to be done.

    A run is messages that stand one behind the other, by their places in the request, and where the first one is.
    """

    topic: Topic
    count: int
    is_batch: bool
    acks: int
    deadline_ms: int
    is_topic_created: bool = False
    runs: list[tuple[list[int], Placed]] = field(default_factory=list)
    scheduled: list[tuple[list[int], ScheduledPlace, list[int | None]]] = field(default_factory=list)
    """As `runs`, and when each message is due, where that is known."""

    faults: dict[int, ServerError] = field(default_factory=dict)

    def place(self, indexes: list[int], first: Placed) -> None:
        self.runs.append((indexes, first))

    def schedule(self, indexes: list[int], first: ScheduledPlace, due: list[int | None]) -> None:
        self.scheduled.append((indexes, first, due))

    def fail(self, indexes: Iterable[int], fault: ServerError) -> None:
        self.faults.update(dict.fromkeys(indexes, fault.with_traceback(None)))  # whose frames hold this result

    def replace(self, indexes: Iterable[int], anew: "SendResult") -> None:
        """What became of these messages is in `anew`."""
        for index in indexes:
            del self.faults[index]
        self.runs += anew.runs
        self.scheduled += anew.scheduled
        self.faults.update(anew.faults)

    @property
    def first_fault(self) -> ServerError:
        return self.faults[min(self.faults)]
