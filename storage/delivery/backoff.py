"""How long a message rests after a failed attempt."""

from cluster.model.values import GroupSettings

_GOLDEN = 0.6180339887498949


def retry_delay_ms(settings: GroupSettings, *, attempts: int, chance: float) -> int:
    """The group's delay after so many attempts. `chance` (0 to 1) says where in the part of it that is left to chance
    (`retry_jitter`), so that messages that failed together do not come back together."""
    if settings.retry_delays_ms is None:
        longest = settings.retry_backoff_max_ms
        shortest = min(settings.retry_backoff_min_ms, longest)
        # Beyond 2**40 ms every limit is reached: the shift must not build huge integers for a thousand attempts.
        delay_ms = min(longest, shortest << min(attempts - 1, 40))
    else:
        shortest = 0
        delay_ms = settings.retry_delays_ms[min(attempts, len(settings.retry_delays_ms)) - 1]
    lower = max(shortest, int(delay_ms * (1 - settings.retry_jitter)))
    return lower + round((delay_ms - lower) * chance)


def chance_of(place: int, drawn: float) -> float:
    """The chance of what is at `place` (0, 1, …) among those that failed in one call, of a fraction `drawn` once for
    all of them: spread evenly, however many they are, as multiples of the golden ratio are."""
    return (drawn + place * _GOLDEN) % 1 if place else drawn
