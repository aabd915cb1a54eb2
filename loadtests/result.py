"""One measured number, and what it is worth beside the machine's limit."""

from dataclasses import dataclass, replace
from typing import Self

from loadtests.rounds import Spread, ratio_of, spread_of

CLIENT_BOUND_SHARE = 0.9  # of a processor: beyond it the load generator was the bottleneck
LATE_P99_MAX_MS = 5.0  # beyond it the load generator did not keep to its schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The same work with nothing behind it, measured in the same rounds as the result; one value for each."""

    name: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """By how much the load generator missed its own schedule, in milliseconds. It is part of the latencies."""

    p50_ms: float
    p99_ms: float
    max_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """`values` has one number per round, and so has each of `limits`; limits themselves have none.

    `target_text` says what should be reached, `reached_text` what was, if that is not the median, and `is_met` whether
    it is enough; None without a target. Percentiles
    are in milliseconds, over the requests of all rounds together, and so is `curve`: (percentile, milliseconds). CPU
    is in seconds of the server's process within `wall_s`, over all rounds; `client_cpu_s` is the load generator's own:
    near `wall_s` it, and not the server, is the bottleneck. Memory is the server's: resident at the end, and the most
    that it has ever had.
    """

    name: str
    unit: str
    values: tuple[float, ...]
    limits: tuple[Limit, ...] = ()
    target_text: str = ""
    is_met: bool | None = None
    reached_text: str = ""
    p50_ms: float | None = None
    p99_ms: float | None = None
    p999_ms: float | None = None
    curve: tuple[tuple[float, float], ...] = ()
    limit_curves: tuple[tuple[str, tuple[tuple[float, float], ...]], ...] = ()
    lateness: Lateness | None = None
    errors: int = 0
    wall_s: float = 0.0
    server_cpu_s: float = 0.0
    client_cpu_s: float = 0.0
    server_resident_bytes: int = 0
    server_peak_bytes: int = 0

    @property
    def spread(self) -> Spread:
        return spread_of(self.values)

    @property
    def value(self) -> float:
        """The median of the rounds."""
        return self.spread.median

    @property
    def is_rate(self) -> bool:
        return self.unit.endswith("/s")

    def ratio_to(self, limit: Limit) -> Spread:
        return ratio_of(self.values, limit.values)

    def judged(self, is_met: bool, reached_text: str = "") -> Self:
        """The same, and whether it reaches its target."""
        return replace(self, is_met=is_met, reached_text=reached_text)

    @property
    def per_cpu_s(self) -> float | None:
        """A rate for each second of the server's CPU: what stays comparable when others use the machine, too."""
        if not self.is_rate or not self.server_cpu_s:
            return None
        return self.value * self.wall_s / self.server_cpu_s

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why the number says less than it seems to."""
        found = []
        # (Where the server's CPU is not known it is the client that is measured: the SDK.)
        if self.is_rate and self.server_cpu_s and self.client_cpu_s > CLIENT_BOUND_SHARE * self.wall_s:
            found.append("client-bound: at least this")
        if self.lateness is not None and self.lateness.p99_ms > LATE_P99_MAX_MS:
            found.append("load generator late")
        return tuple(found)
