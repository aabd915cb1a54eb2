"""Pauses between tries."""

from storage.replication.retry_pause import RetryPause


def test_pauses_double_up_to_a_limit_and_begin_anew() -> None:
    pause = RetryPause(100)
    waits = []
    for _ in range(8):
        pause.failed(0)
        waits.append(pause.until_ms)
        assert not pause.is_over(99)
    assert waits == [100, 200, 400, 800, 1600, 3200, 3200, 3200]
    pause.begin_anew(50)
    assert pause.until_ms == 150
    assert pause.is_over(150)
    assert pause.until_ms is None
    pause.failed(0)
    assert pause.until_ms == 100
    pause.succeeded()
    pause.failed(0)
    pause.wait(1000)
    assert pause.until_ms == 1100
