"""The settings of a mirror, with their limits."""

from dataclasses import dataclass
from typing import Literal

from acklog.client.retry import Backoff
from acklog.errors import InvalidArgument
from acklog.mirror.mirror_gap import OnGap
from acklog.mirror.topic_rules import STATE_TOPIC_PREFIX
from acklog.wire.limits import RECEIVE_BYTES_MAX, REQUEST_MESSAGES_MAX
from acklog.wire.names import name_fault

Beginning = Literal["earliest", "latest"]
INTERVAL_MS_MIN = 10
INTERVAL_MS_MAX = 60 * 60 * 1000
AT_ONCE_MAX = 256
DEDUP_WINDOW_MS_MIN = 60_000
"""What a topic of the target has to remember: so long an append may be under way whose answer got lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorSettings:
    """`name` is the mirror's: of two of one name, the later one fences the earlier. `begins_at` is where topics begin
    that are there when the mirror starts for the first time; later ones begin with their first message.

    `at_once` partitions are copied at a time, each by requests of up to `read_bytes_max` and `copies_max` messages: so
    much, in pages and requests, is in memory. `bytes_per_second` holds all of them back together. Topics are looked at
    every `look_interval_ms`, for new ones every `discovery_interval_ms`; checkpoints are written every
    `checkpoint_interval_ms`, positions of groups moved every `position_interval_ms`.
    """

    name: str
    begins_at: Beginning = "earliest"
    on_gap: OnGap = OnGap.STOP
    group_patterns: tuple[str, ...] = ("*",)
    at_once: int = 16
    read_bytes_max: int = 1024 * 1024
    copies_max: int = 5_000
    bytes_per_second: int | None = None
    look_interval_ms: int = 500
    discovery_interval_ms: int = 10_000
    checkpoint_interval_ms: int = 5_000
    position_interval_ms: int = 10_000
    backoff_min_ms: int = 200
    backoff_max_ms: int = 10_000
    ends_when_caught_up: bool = False

    def __post_init__(self) -> None:
        fault = name_fault(self.name) or name_fault(f"{STATE_TOPIC_PREFIX}{self.name}")
        if fault is not None:
            raise InvalidArgument(f"the mirror's name {fault}", field="name")
        for field, least, most in (
            ("at_once", 1, AT_ONCE_MAX),
            ("read_bytes_max", 1, RECEIVE_BYTES_MAX // 2),
            ("copies_max", 1, REQUEST_MESSAGES_MAX),
            ("look_interval_ms", INTERVAL_MS_MIN, INTERVAL_MS_MAX),
            ("discovery_interval_ms", INTERVAL_MS_MIN, INTERVAL_MS_MAX),
            ("checkpoint_interval_ms", INTERVAL_MS_MIN, INTERVAL_MS_MAX),
            ("position_interval_ms", INTERVAL_MS_MIN, INTERVAL_MS_MAX),
        ):
            value = getattr(self, field)
            if not least <= value <= most:
                raise InvalidArgument(f"{field} is {value}, it has to be {least} to {most}", field=field)
        if self.bytes_per_second is not None and self.bytes_per_second < 1:
            raise InvalidArgument("bytes_per_second is at least 1", field="bytes_per_second")
        _ = self.backoff

    @property
    def backoff(self) -> Backoff:
        return Backoff(min_ms=self.backoff_min_ms, max_ms=self.backoff_max_ms)
