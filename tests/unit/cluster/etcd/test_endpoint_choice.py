from cluster.backoff import Backoff
from cluster.etcd.endpoint_choice import EndpointChoice


def choice(count: int, *, first: int = 0) -> EndpointChoice:
    return EndpointChoice(count, Backoff(first_ms=100, max_ms=400), first=first)


def test_it_stays_with_an_endpoint_that_works() -> None:
    endpoints = choice(3, first=4)
    assert [endpoints.choose(now_ms) for now_ms in (0, 10, 20)] == [1, 1, 1]


def test_after_a_failure_it_goes_on_in_turn_and_stays_there() -> None:
    endpoints = choice(3)
    endpoints.failed(0, 0)
    assert endpoints.choose(0) == 1
    endpoints.succeeded(1)
    assert endpoints.choose(1_000) == 1, "a rested endpoint is no reason to leave one that works"
    endpoints.failed(1, 1_000)
    assert endpoints.choose(1_000) == 2
    endpoints.failed(2, 1_000)
    assert endpoints.choose(1_000) == 0


def test_where_all_rest_it_takes_the_one_that_has_rested_soonest() -> None:
    endpoints = choice(3)
    for endpoint, now_ms in ((1, 0), (2, 20), (0, 40)):
        endpoints.failed(endpoint, now_ms)
    assert endpoints.choose(50) == 1


def rest_after(failures: int) -> int:
    """How long an endpoint is passed over that failed so often in a row, each time right after its rest."""
    for rest_ms in range(0, 1_000, 50):
        endpoints = choice(2)
        for number in range(failures):
            endpoints.failed(0, number * 1_000)
        if endpoints.choose((failures - 1) * 1_000 + rest_ms) == 0:
            return rest_ms
    raise AssertionError("it rests for ever")


def test_each_failure_in_a_row_makes_the_rest_longer_up_to_the_limit() -> None:
    assert [rest_after(failures) for failures in range(1, 6)] == [100, 200, 400, 400, 400]


def test_success_makes_the_next_rest_short_again() -> None:
    endpoints = choice(2)
    for now_ms in (0, 1_000, 2_000):
        endpoints.failed(0, now_ms)
    endpoints.succeeded(0)
    endpoints.failed(0, 3_000)
    assert endpoints.choose(3_100) == 0


def test_calls_that_fail_together_count_once() -> None:
    endpoints = choice(2)
    for _ in range(50):
        endpoints.failed(0, 0)
    endpoints.failed(1, 0)
    assert endpoints.choose(50) in (0, 1)
    endpoints.failed(1, 100)
    assert endpoints.choose(100) == 0, "it rested for the first step only"


def test_the_only_endpoint_is_always_chosen() -> None:
    endpoints = choice(1)
    endpoints.failed(0, 0)
    assert endpoints.choose(0) == 0
