"""What a run can be told, and its limits."""

from dataclasses import dataclass

TOPIC = "flights"
SINGLE_GROUP = "audit"
SHARED_GROUP = "workers"
BATCH_MAX = 500
BATCHES_MIN = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Every wait ends with `deadline_s`, and with `stall_s` without any progress (longer than the visibility timeout,
    after which messages of a vanished consumer come back)."""

    messages: int
    kills: int = 2
    messages_per_s: int = 0
    """How fast they are sent; 0: as fast as it goes."""
    partitions: int = 8
    sharing_consumers: int = 4
    handlers: int = 8
    """Of each consumer that shares a group: how many messages it works on at a time."""
    backoff_max_ms: int = 200
    """Of the producer and the consumers: a server that was killed is back in about a second."""
    stop_timeout_s: float = 5.0
    """How long the producer and the consumers wait for a server that is gone when the run ends early."""
    deadline_s: float = 600.0
    stall_s: float = 60.0
    lag_timeout_s: float = 30.0

    @property
    def batch_size(self) -> int:
        """Messages in one request. The fewer there are in all, the smaller: a kill has to find work half done."""
        return max(1, min(BATCH_MAX, self.messages // BATCHES_MIN))
