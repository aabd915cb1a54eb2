"""The names of runs: when they ended, so that they are in the order of time."""

from datetime import UTC, datetime


def run_id_at(time_ms: int) -> str:
    """Such as 20261127T004301.123Z."""
    moment = datetime.fromtimestamp(time_ms / 1000, UTC)
    return f"{moment:%Y%m%dT%H%M%S}.{time_ms % 1000:03}Z"
