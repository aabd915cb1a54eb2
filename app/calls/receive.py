"""What a request to receive asks for, and what it gets."""

from dataclasses import dataclass, field

from cluster.model.values import GroupMode, Topic
from storage.rpc.messages import DeliveredMessage
from storage.rpc.receive_attempt import ReceiveAttempt

IN_FLIGHT_LIMIT = "IN_FLIGHT_LIMIT"
LIMITS = {
    IN_FLIGHT_LIMIT: "maxInFlight",
    "IN_FLIGHT_LIMIT_PER_CONSUMER": "maxInFlightPerConsumer",
    "IN_FLIGHT_LIMIT_PER_KEY": "maxInFlightPerKey",
    "IN_FLIGHT_LIMIT_PER_HEADER": "maxInFlightPerHeader",
    "IN_FLIGHT_LIMIT_OF_RETURNED": "",
}
"""What a node says where something in flight is too much, and the setting that limits it; "": it is the server's."""


@dataclass(frozen=True, slots=True)
class ReceiveCommand:
    """`visibility_ms` None: the group's setting. `mode` None: the one that the group has; else it must be that.
    `member_epoch` None: who receives from an exclusive group is a member of it just by that; else as the member was
    told, and it must be one. `filter` is in its canonical text; "": all messages of the group. `attempt_id`: who asks
    again by the same one gets the same messages, as long as nothing became of any of them."""

    queues: tuple[str, ...]
    group: str
    consumer: str
    max_messages: int
    max_bytes: int
    wait_ms: int
    visibility_ms: int | None
    auto_ack: bool
    mode: GroupMode | None = None
    member_epoch: int | None = None
    filter: str = ""
    attempt_id: str = ""


@dataclass(slots=True)
class Received:
    """`topics` are by their ids. `member_epoch` is of the assignment by which an exclusive group's member got
    this; 0 in other groups. `reason` says why there are no messages; where that is a limit of the group's,
    `limit` names the setting. `attempt` is of the first receive by an `attempt_id`."""

    topics: dict[str, Topic]
    messages: list[DeliveredMessage] = field(default_factory=list)
    reason: str = ""
    limit: str = ""
    is_group_created: bool = False
    member_epoch: int = 0
    attempt: ReceiveAttempt | None = None
