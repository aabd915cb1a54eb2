"""What bounds a producer, and how it balances latency against throughput."""

from dataclasses import dataclass
from typing import Literal, TypedDict

from acklog.errors import InvalidArgument
from acklog.wire.limits import MESSAGE_BODY_BYTES_MAX, REQUEST_BODY_BYTES_MAX, REQUEST_MESSAGES_MAX

Compression = Literal["none", "gzip"]
ENVELOPE_BYTES_MAX = 64 * 1024  # what a request has beside its messages: less than this
# The server remembers idempotency keys for 5 minutes by default. A try that came later would be stored again.
DELIVERY_TIMEOUT_MS_MAX = 240_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSettings:
    """Checked when it is made: raises InvalidArgument."""

    buffer_bytes_max: int = 32 * 1024 * 1024
    """Messages that wait to be sent or confirmed, with what each costs in memory. Beyond it a send waits."""
    send_timeout_ms: int = 60_000
    """How long a send waits for room in the buffer before it raises BufferFull."""
    linger_ms: int = 5
    """How long a batch waits for more messages. It never waits longer than that for itself, but batches of a key go one
    after the other: under load they fill while the one before is on its way."""
    batch_messages_max: int = 1_000
    batch_bytes_max: int = 1024 * 1024
    """A message that is larger goes alone."""
    requests_in_flight_max: int = 8
    """Requests at a time. Messages of one key (or partition) are never in two of them."""
    request_timeout_ms: int = 15_000
    """How long one request may take before it is tried again."""
    delivery_timeout_ms: int = 120_000
    """How long a message may take, with all retries, before its delivery fails with DeadlineExceeded. It must stay
    below the topic's `dedup_window_ms` (5 minutes by default), within which retries are recognised."""
    first_contact_timeout_ms: int = 15_000
    """How long a producer waits for a server that it has not reached yet, rather than for one that is away for a while:
    then deliveries fail with CannotConnect, whose detail has the URL."""
    close_timeout_ms: int = 30_000
    """How long closing waits for what is buffered."""
    backoff_min_ms: int = 50
    backoff_max_ms: int = 2_000
    compression: Compression = "none"

    def __post_init__(self) -> None:
        bodies_max = REQUEST_BODY_BYTES_MAX - ENVELOPE_BYTES_MAX
        for name, minimum, maximum in (
            ("buffer_bytes_max", 2 * MESSAGE_BODY_BYTES_MAX, 1 << 40),
            ("send_timeout_ms", 0, 86_400_000),
            ("linger_ms", 0, 60_000),
            ("batch_messages_max", 1, REQUEST_MESSAGES_MAX),
            ("batch_bytes_max", 1, bodies_max),
            ("requests_in_flight_max", 1, 100),
            ("request_timeout_ms", 1, DELIVERY_TIMEOUT_MS_MAX),
            ("delivery_timeout_ms", 1, DELIVERY_TIMEOUT_MS_MAX),
            ("first_contact_timeout_ms", 1, DELIVERY_TIMEOUT_MS_MAX),
            ("close_timeout_ms", 0, DELIVERY_TIMEOUT_MS_MAX),
            ("backoff_min_ms", 1, 60_000),
            ("backoff_max_ms", self.backoff_min_ms, 60_000),
        ):
            value = getattr(self, name)
            if not minimum <= value <= maximum:
                raise InvalidArgument(f"{name} is {value}, it may be {minimum} to {maximum}", field=name)
        if self.compression not in {"none", "gzip"}:
            raise InvalidArgument(f"compression is {self.compression!r}, it may be none or gzip", field="compression")


class ProducerOptions(TypedDict, total=False):
    """The settings by name, as `client.producer(...)` takes them."""

    buffer_bytes_max: int
    send_timeout_ms: int
    linger_ms: int
    batch_messages_max: int
    batch_bytes_max: int
    requests_in_flight_max: int
    request_timeout_ms: int
    delivery_timeout_ms: int
    first_contact_timeout_ms: int
    close_timeout_ms: int
    backoff_min_ms: int
    backoff_max_ms: int
    compression: Compression
