"""How many consumers are suggested."""

import pytest

from app.services.workload import Workload, suggested_consumers


def suggested(load: Workload, *, lag: int | None = None, seconds: float | None = None) -> int | None:
    return suggested_consumers(load, target_lag=lag, target_s=seconds)


def test_without_a_target_there_is_none() -> None:
    assert suggested(Workload(waiting=5)) is None


@pytest.mark.parametrize(("lag", "seconds"), [(1, None), (None, 1.0), (1, 1.0)])
def test_without_work_nobody_is_needed(lag: int | None, seconds: float | None) -> None:
    load = Workload(oldest_age_ms=10**9, settled_per_second=5.0, consumers=3)
    assert suggested(load, lag=lag, seconds=seconds) == 0


@pytest.mark.parametrize(("waiting", "in_flight", "consumers"), [(1, 0, 1), (99, 1, 1), (100, 1, 2), (950, 51, 11)])
def test_so_many_messages_before_each(waiting: int, in_flight: int, consumers: int) -> None:
    assert suggested(Workload(waiting=waiting, in_flight=in_flight), lag=100) == consumers


@pytest.mark.parametrize(
    ("work", "settled", "there", "seconds", "consumers"),
    [
        (1_200, 60.0, 3, 30.0, 2),  # 20 seconds of work
        (1_200, 60.0, 3, 20.0, 3),
        (1_200, 60.0, 3, 10.0, 6),
        (6_000, 2.0, 1, 60.0, 50),
        (10, 50.0, 5, 60.0, 1),  # it falls when the work is done sooner
        (100, 10.0, 0, 5.0, 2),  # who did it is gone
    ],
)
def test_in_time_at_the_pace_of_late(work: int, settled: float, there: int, seconds: float, consumers: int) -> None:
    load = Workload(waiting=work, settled_per_second=settled, consumers=there)
    assert suggested(load, seconds=seconds) == consumers


@pytest.mark.parametrize("settled", [None, 0.0])
@pytest.mark.parametrize(("there", "age_ms", "consumers"), [(0, 99_999, 1), (4, 30_000, 4), (4, 30_001, 8)])
def test_while_nothing_is_known_of_the_pace(settled: float | None, there: int, age_ms: int, consumers: int) -> None:
    load = Workload(waiting=500, oldest_age_ms=age_ms, settled_per_second=settled, consumers=there)
    assert suggested(load, seconds=30.0) == consumers


def test_of_two_targets_the_harder_one_counts() -> None:
    load = Workload(waiting=1_000, settled_per_second=10.0, consumers=1)
    assert suggested(load, lag=500, seconds=10.0) == 10
    assert suggested(load, lag=10, seconds=100.0) == 100


def test_nobody_is_called_who_would_have_nothing_to_do() -> None:
    assert suggested(Workload(waiting=2, settled_per_second=0.001, consumers=1), seconds=1.0) == 2
    assert suggested(Workload(waiting=1_000, consumers_max=4), lag=1) == 4
    assert suggested(Workload(waiting=1_000, in_flight=3, consumers_max=0), lag=1) == 1


def test_while_not_all_is_known_nobody_is_sent_home() -> None:
    assert suggested(Workload(waiting=1, consumers=7, is_partial=True), lag=100) == 7
    assert suggested(Workload(consumers=7, is_partial=True), lag=100) == 7
