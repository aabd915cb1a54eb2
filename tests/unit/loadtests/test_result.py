"""Results, and what processes use."""

import os

import pytest

from loadtests.process_usage import usage_of
from loadtests.result import Result


def test_usage_of_this_process_grows_and_of_a_missing_one_is_an_error() -> None:
    usage = usage_of(os.getpid())
    assert usage.cpu_s > 0
    assert usage.resident_bytes > 1_000_000
    with pytest.raises(ProcessLookupError):
        usage_of(2**22 + 1)


def test_a_result_knows_its_ratio_and_its_rate_per_second_of_cpu() -> None:
    result = Result(name="r", value=50.0, unit="requests/s", limit=200.0, wall_s=10.0, server_cpu_s=5.0)
    assert (result.ratio, result.per_cpu_s) == (0.25, 100.0)
    assert Result(name="r", value=5.0, unit="ms", wall_s=1.0, server_cpu_s=1.0).per_cpu_s is None
    assert Result(name="r", value=5.0, unit="/s").ratio is None
