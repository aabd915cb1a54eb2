"""What a benchmark of Spark's reads does, and for how long."""

from dataclasses import dataclass

SCENARIOS = ("small", "large", "live")
DEADLINE_S = 570.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Messages of one size. Bodies are JSON strings of so many bytes with their quotes."""

    name: str
    body_bytes: int
    messages: int

    @property
    def topic(self) -> str:
        return f"messages-{self.body_bytes}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkPlan:
    """Counts, not durations: every read is of a whole topic, as exports are. Each is done once before it counts, so
    that Spark is warm."""

    scenarios: tuple[str, ...] = SCENARIOS
    rounds: int = 3
    small: Size = Size(name="100 B", body_bytes=100, messages=1_000_000)
    large: Size = Size(name="1 KB", body_bytes=1_000, messages=400_000)
    partitions: int = 4
    tasks: int = 2
    page_bytes: int = 4 * 1024 * 1024
    export_bytes_per_s: int = 50_000_000  # of all tasks together
    live_rounds: int = 6  # a p99 of a few seconds varies by a factor of two
    live_spark_rounds: int = 2  # of those, with a Spark of its own, which takes long to start
    live_seconds: float = 6.0
    live_rate: int = 200  # messages per second
    live_warm_up_s: float = 1.0


QUICK = SparkPlan(
    rounds=1,
    small=Size(name="100 B", body_bytes=100, messages=100_000),
    large=Size(name="1 KB", body_bytes=1_000, messages=50_000),
    live_rounds=1,
    live_spark_rounds=1,
    live_seconds=3.0,
)
