from cluster.backoff import Backoff


def test_delays_double_up_to_the_limit() -> None:
    backoff = Backoff(first_ms=100, max_ms=1000)
    assert [backoff.delay_ms(failures) for failures in range(7)] == [100, 100, 200, 400, 800, 1000, 1000]
    assert backoff.delay_ms(10_000) == 1000
