"""How long a message rests after a failed attempt."""

from cluster.model.values import GroupSettings


def retry_delay_ms(settings: GroupSettings, *, attempts: int, jitter: float) -> int:
    """Exponential, from `retry_backoff_min_ms` to `retry_backoff_max_ms`; `jitter` (0 to 1) spreads it over the upper
    half, so that messages that failed together do not come back together."""
    longest = settings.retry_backoff_max_ms
    shortest = min(settings.retry_backoff_min_ms, longest)
    # Beyond 2**40 ms every limit is reached: the shift must not build huge integers for a thousand attempts.
    upper = min(longest, shortest << min(attempts - 1, 40))
    lower = max(shortest, upper // 2)
    return lower + round((upper - lower) * jitter)
