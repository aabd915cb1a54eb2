"""Results, and what processes use."""

import os

import pytest

from loadtests.load import LoadResult
from loadtests.measured import Usage, measured
from loadtests.measurement import Measurement
from loadtests.process_usage import usage_of
from loadtests.result import Lateness, Limit, Result


def test_usage_of_this_process_grows_and_of_a_missing_one_is_an_error() -> None:
    usage = usage_of(os.getpid())
    assert usage.cpu_s > 0
    assert usage.resident_bytes > 1_000_000
    assert usage.peak_bytes >= usage.resident_bytes
    with pytest.raises(ProcessLookupError):
        usage_of(2**22 + 1)


def test_usage_adds_up_over_rounds() -> None:
    usage, wall = Usage(), 0.0
    for _ in range(2):
        with measured(os.getpid(), usage):
            sum(range(100_000))
        assert usage.wall_s > wall
        wall = usage.wall_s
    assert usage.client_cpu_s > 0
    assert usage.server_peak_bytes >= usage.server_resident_bytes > 0


def test_a_result_knows_its_median_its_ratio_and_its_rate_per_second_of_cpu() -> None:
    limit = Limit(name="bare", values=(200.0, 400.0, 100.0))
    result = Result(
        name="r", unit="requests/s", values=(50.0, 80.0, 20.0), limits=(limit,), wall_s=10.0, server_cpu_s=5.0
    )
    assert (result.value, result.ratio_to(limit).median, result.per_cpu_s) == (50.0, 0.2, 100.0)
    assert Result(name="r", unit="ms", values=(5.0,), wall_s=1.0, server_cpu_s=1.0).per_cpu_s is None


def test_a_rate_warns_when_the_client_was_the_bottleneck() -> None:
    busy = Result(name="r", unit="requests/s", values=(1.0,), wall_s=10.0, server_cpu_s=5.0, client_cpu_s=9.5)
    assert busy.warnings == ("client-bound: at least this",)
    idle = Result(name="r", unit="requests/s", values=(1.0,), wall_s=10.0, server_cpu_s=5.0, client_cpu_s=8.0)
    assert idle.warnings == ()
    client_alone = Result(name="the SDK", unit="messages/s", values=(1.0,), wall_s=10.0, client_cpu_s=9.9)
    assert client_alone.warnings == ()


def test_a_latency_warns_when_the_load_generator_was_late() -> None:
    for p99_ms, warnings in ((4.9, ()), (5.1, ("load generator late",))):
        late = Lateness(p50_ms=0.1, p99_ms=p99_ms, max_ms=9.0)
        assert Result(name="r", unit="ms", values=(1.0,), lateness=late).warnings == warnings


def test_a_measurement_keeps_the_requests_of_all_rounds_and_a_value_of_each() -> None:
    measurement = Measurement("m", "ms")
    measurement.add(1.0, LoadResult(2, 1, 1.0, [0.001, 0.002], [0.0001, 0.0002]))
    measurement.add(3.0, LoadResult(2, 2, 1.0, [0.003, 0.004], [0.0003, 0.0004]))
    result = measurement.result(limits=(measurement.limit("itself"),), with_curve=True)
    assert result.values == (1.0, 3.0)
    assert (result.p50_ms, result.p99_ms, result.errors) == (2.0, 4.0, 3)
    assert result.lateness == Lateness(p50_ms=0.2, p99_ms=0.4, max_ms=0.4)
    assert result.curve[-1][1] == 4.0
    assert result.ratio_to(result.limits[0]).median == 1.0


def test_a_measurement_without_requests_has_no_percentiles() -> None:
    measurement = Measurement("m", "MB/s")
    measurement.add(7.0)
    result = measurement.result()
    assert (result.p50_ms, result.lateness, result.curve) == (None, None, ())


def test_a_judged_result_says_what_was_reached() -> None:
    result = Result(name="r", unit="/s", values=(1.0,), target_text="≥ 2/s")
    assert (result.is_met, result.judged(False).is_met, result.judged(True, "0.5 ×").reached_text) == (
        None,
        False,
        "0.5 ×",
    )
