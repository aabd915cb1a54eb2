"""The rounds of one measurement, on their way to a result."""

import math
from dataclasses import dataclass, field

from examples.latencies import percentile
from loadtests.load import LoadResult
from loadtests.measured import Usage
from loadtests.result import Lateness, Limit, Result
from loadtests.rounds import tail_curve


@dataclass(slots=True)
class Measurement:
    """Values of the rounds, and of all rounds together the latencies (seconds), errors and what was used."""

    name: str
    unit: str
    values: list[float] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)
    lateness: list[float] = field(default_factory=list)
    errors: int = 0
    usage: Usage = field(default_factory=Usage)

    def add(self, value: float, load: LoadResult | None = None) -> None:
        """A round."""
        self.values.append(value)
        if load is not None:
            self.latencies += load.latencies
            self.lateness += load.lateness
            self.errors += load.errors

    def limit(self, name: str = "") -> Limit:
        """This one, to hold others against; under a shorter name if there is one."""
        return Limit(name=name or self.name, values=tuple(self.values))

    def curve(self) -> tuple[tuple[float, float], ...]:
        return tuple(tail_curve(sorted(self.latencies)))

    def result(
        self,
        *,
        limits: tuple[Limit, ...] = (),
        target_text: str = "",
        is_met: bool | None = None,
        with_curve: bool = False,
        limit_curves: tuple[tuple[str, tuple[tuple[float, float], ...]], ...] = (),
    ) -> Result:
        ordered = sorted(self.latencies)
        return Result(
            name=self.name,
            unit=self.unit,
            values=tuple(self.values),
            limits=limits,
            target_text=target_text,
            is_met=is_met,
            p50_ms=_percentile_ms(ordered, 50),
            p99_ms=_percentile_ms(ordered, 99),
            p999_ms=_percentile_ms(ordered, 99.9),
            curve=self.curve() if with_curve else (),
            limit_curves=limit_curves,
            lateness=_lateness(sorted(self.lateness)),
            errors=self.errors,
            wall_s=self.usage.wall_s,
            server_cpu_s=self.usage.server_cpu_s,
            client_cpu_s=self.usage.client_cpu_s,
            server_resident_bytes=self.usage.server_resident_bytes,
            server_peak_bytes=self.usage.server_peak_bytes,
        )


def _percentile_ms(ordered: list[float], percent: float) -> float | None:
    value = percentile(ordered, percent) * 1000
    return None if math.isnan(value) else value


def _lateness(ordered: list[float]) -> Lateness | None:
    if not ordered:
        return None
    return Lateness(
        p50_ms=percentile(ordered, 50) * 1000, p99_ms=percentile(ordered, 99) * 1000, max_ms=ordered[-1] * 1000
    )
