"""Times as people write and read them. Everything inside is in milliseconds since 1970."""

import re
from datetime import UTC, datetime

from acklog.command.failures import UsageError

_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")
_MILLISECONDS = re.compile(r"[0-9]{12,15}")
_STEPS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def duration_text(duration_ms: int) -> str:
    """`90_000` as "1 min 30 s"; the two largest units."""
    if duration_ms < 1_000:
        return f"{max(0, duration_ms)} ms"
    parts = []
    rest = duration_ms
    for size_ms, name in _STEPS:
        count, rest = divmod(rest, size_ms)
        if count:
            parts.append(f"{count} {name}")
        elif parts:
            break
    return " ".join(parts[:2])


def ago_text(then_ms: int, now_ms: int) -> str:
    """How long ago something was."""
    age_ms = now_ms - then_ms
    if age_ms < -1_000:
        return f"in {duration_text(-age_ms)}"
    return "now" if age_ms < 1_000 else f"{duration_text(age_ms)} ago"


def clock_text(time_ms: int) -> str:
    """A moment in local time: `2026-11-21 12:45:29`."""
    return _local(time_ms).strftime("%Y-%m-%d %H:%M:%S")


def short_clock_text(time_ms: int) -> str:
    """A moment of today or so: `12:45:29.123`."""
    moment = _local(time_ms)
    return f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03d}"


def parse_moment(text: str, *, now_ms: int, field: str) -> int:
    """A moment: `15m` (ago), `2026-11-21T12:00` (local, unless it names a zone), or milliseconds since 1970.

    Raises UsageError.
    """
    duration = _DURATION.fullmatch(text)
    if duration is not None:
        return max(0, now_ms - int(float(duration[1]) * _UNITS_MS[duration[2]]))
    return _parse_time(text, field=field, durations="15m, 2h or 3d (ago)")


def _parse_time(text: str, *, field: str, durations: str) -> int:
    """Of the calendar, or in milliseconds. `durations` may be written, too."""
    if _MILLISECONDS.fullmatch(text):
        return int(text)
    try:
        return max(0, int(datetime.fromisoformat(text).timestamp() * 1000))
    except (ValueError, OverflowError) as error:
        hint = f"Write it as {durations}, as 2026-11-21T12:00, or in milliseconds since 1970."
        raise UsageError(f"{text!r} is not a time", field=field, hint=hint) from error


def future_moment(text: str, *, now_ms: int, field: str) -> int:
    """A moment to come: `+15m` from now; a time or milliseconds as `parse_moment` has them. Raises UsageError."""
    duration = _DURATION.fullmatch(text.removeprefix("+")) if text.startswith("+") else None
    if duration is not None:
        return now_ms + int(float(duration[1]) * _UNITS_MS[duration[2]])
    if _DURATION.fullmatch(text):
        raise UsageError(f"{text!r} is in the past", field=field, hint=f"From now it is +{text}.")
    return _parse_time(text, field=field, durations="+15m, +2h or +3d (from now)")


def _local(time_ms: int) -> datetime:
    return datetime.fromtimestamp(time_ms / 1000, UTC).astimezone()
