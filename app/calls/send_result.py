"""Where the messages of one request are, or why they are not."""

from dataclasses import dataclass, field

from cluster.errors import ServerError
from cluster.model.values import Topic


@dataclass(frozen=True, slots=True)
class Run:
    """Messages that were stored one behind the other: the one at `indexes[i]` of the request is at
    `base_offset` + i. `base_offset` is -1 where `acks` 0 asked for no offsets."""

    partition: int
    epoch: int
    base_offset: int
    indexes: list[int]


@dataclass(slots=True)
class SendResult:
    """Every message of the request is in one of `runs`, or in `faults` by its index. `deadline_ms`: until when, on the
    steady clock, whatever the request needs of the nodes has to be done."""

    topic: Topic
    count: int
    is_batch: bool
    acks: int
    deadline_ms: int
    is_topic_created: bool = False
    runs: list[Run] = field(default_factory=list)
    faults: dict[int, ServerError] = field(default_factory=dict)

    @property
    def first_fault(self) -> ServerError:
        return self.faults[min(self.faults)]
