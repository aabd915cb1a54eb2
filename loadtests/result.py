"""One measured number, and what it is worth beside the machine's limit."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """`limit` is the same work with nothing behind it, measured in the same run; None for the limits themselves.

    `target` is what the number should reach (a rate, or a ratio to the limit, as `target_text` says) and `is_met`
    whether it did; None without a target. Percentiles are in milliseconds, CPU in seconds of the server's process
    within `wall_s`, `client_cpu_s` the load generator's own: near `wall_s` it, and not the server, is the bottleneck.
    """

    name: str
    value: float
    unit: str
    limit: float | None = None
    limit_name: str = ""
    target_text: str = ""
    is_met: bool | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    p999_ms: float | None = None
    errors: int = 0
    wall_s: float = 0.0
    server_cpu_s: float = 0.0
    client_cpu_s: float = 0.0
    server_resident_bytes: int = 0

    @property
    def ratio(self) -> float | None:
        return self.value / self.limit if self.limit else None

    @property
    def per_cpu_s(self) -> float | None:
        """A rate for each second of the server's CPU: what stays comparable when others use the machine, too."""
        if not self.unit.endswith("/s") or not self.server_cpu_s:
            return None
        return self.value * self.wall_s / self.server_cpu_s
