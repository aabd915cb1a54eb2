"""What a run can be told, and its limits."""

from dataclasses import dataclass

TOPIC = "flights"
SINGLE_GROUP = "audit"
SHARED_GROUP = "workers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`messages` None: the whole input. Every wait ends with `deadline_s`, and with `stall_s` without any progress
    (longer than the visibility timeout, after which messages of a vanished consumer come back)."""

    messages: int | None = None
    kills: int = 2
    partitions: int = 8
    producers: int = 6
    sharing_consumers: int = 4
    send_batch_size: int = 500
    receive_batch_size: int = 1000
    deadline_s: float = 280.0
    stall_s: float = 60.0
    lag_timeout_s: float = 30.0
