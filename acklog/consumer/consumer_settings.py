"""What bounds a consumer, and how it balances latency against throughput."""

from dataclasses import dataclass
from typing import TypedDict

from acklog.errors import InvalidArgument
from acklog.wire.limits import (
    NACK_DELAY_SECONDS_MAX,
    RECEIPTS_MAX,
    RECEIVE_BYTES_MAX,
    RECEIVE_MESSAGES_MAX,
    VISIBILITY_SECONDS_DEFAULT,
    VISIBILITY_SECONDS_MAX,
    WAIT_SECONDS_MAX,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSettings:
    """Checked when it is made: raises InvalidArgument."""

    visibility_s: float = VISIBILITY_SECONDS_DEFAULT
    """How long messages stay leased when this process dies. While it lives, leases are extended when half of it has
    passed, so work may take longer."""
    hold_s_max: float = VISIBILITY_SECONDS_MAX
    """How long a message is kept leased at most: one that nobody settles comes again after that."""
    prefetch_s: float = 1.0
    """How much work is received ahead: what was done in so many seconds lately. More would be kept from idle
    consumers of the group."""
    prefetch_messages_max: int = 2_000
    prefetch_bytes_max: int = RECEIVE_BYTES_MAX
    unsettled_messages_max: int = 20_000
    """Messages received and not settled, prefetched ones included. Beyond it nothing is received."""
    wait_s: float = WAIT_SECONDS_MAX
    """How long one request waits for messages."""
    ack_linger_ms: int = 20
    """How long an ack waits for others, to go in one request with them."""
    settle_messages_max: int = 5_000
    """Acks or nacks in one request. One is on its way at a time; what is done meanwhile goes with the next."""
    settle_timeout_ms: int = 120_000
    """How long an ack or a nack is tried again before it is reported as lost."""
    nack_delay_s: float | None = None
    """When a message comes again whose work failed; None: by the group's back-off."""
    stop_timeout_s: float = 30.0
    """How long a stop waits for running handlers, and then for what they have settled."""
    backoff_min_ms: int = 100
    backoff_max_ms: int = 5_000

    def __post_init__(self) -> None:
        for name, minimum, maximum in (
            ("visibility_s", 0.1, VISIBILITY_SECONDS_MAX),
            ("hold_s_max", self.visibility_s, 30 * 86_400),
            ("prefetch_s", 0, 3600),
            ("prefetch_messages_max", 1, 100_000),
            ("prefetch_bytes_max", 1, 1 << 40),
            ("unsettled_messages_max", 1, 1_000_000),
            ("wait_s", 0, WAIT_SECONDS_MAX),
            ("ack_linger_ms", 0, 60_000),
            ("settle_messages_max", 1, RECEIPTS_MAX),
            ("settle_timeout_ms", 1, 86_400_000),
            ("nack_delay_s", 0, NACK_DELAY_SECONDS_MAX),
            ("stop_timeout_s", 0, 86_400),
            ("backoff_min_ms", 1, 60_000),
            ("backoff_max_ms", self.backoff_min_ms, 600_000),
        ):
            value = getattr(self, name)
            if value is not None and not minimum <= value <= maximum:
                raise InvalidArgument(f"{name} is {value}, it may be {minimum:g} to {maximum:g}", field=name)


class ConsumerOptions(TypedDict, total=False):
    """The settings by name, as `client.consumer(...)` takes them."""

    visibility_s: float
    hold_s_max: float
    prefetch_s: float
    prefetch_messages_max: int
    prefetch_bytes_max: int
    unsettled_messages_max: int
    wait_s: float
    ack_linger_ms: int
    settle_messages_max: int
    settle_timeout_ms: int
    nack_delay_s: float | None
    stop_timeout_s: float
    backoff_min_ms: int
    backoff_max_ms: int


RECEIVED_AT_ONCE_MAX = RECEIVE_MESSAGES_MAX
