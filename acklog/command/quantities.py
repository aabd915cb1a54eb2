"""Durations and sizes as people write and read them: `7d`, `10GiB`, `unlimited`."""

import re

from acklog.command.failures import UsageError
from acklog.command.times import duration_text

UNLIMITED = -1
UNLIMITED_TEXT = "unlimited"
_UNLIMITED_WORDS = {UNLIMITED_TEXT, "-1"}
_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_UNITS_BYTES = {
    "": 1,
    "B": 1,
    "kB": 10**3,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "TiB": 1 << 40,
}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(ms|s|min|m|h|d)")
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)")
_NUMBER = re.compile(r"[0-9]{1,9}")
_STEPS = (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


def parse_duration_ms(text: str, *, field: str, may_be_unlimited: bool = False) -> int:
    """`90s`, `5m`, `12h`, `7d` in milliseconds; `unlimited` is -1 where that is allowed. Raises UsageError."""
    if may_be_unlimited and text in _UNLIMITED_WORDS:
        return UNLIMITED
    found = _DURATION.fullmatch(text)
    if found is None:
        more = ", or unlimited" if may_be_unlimited else ""
        raise UsageError(
            f"{text!r} is not a duration", field=field, hint=f"Write it as 500ms, 90s, 5m, 12h or 7d{more}."
        )
    return round(float(found[1]) * _UNITS_MS[found[2]])


def parse_size_bytes(text: str, *, field: str, may_be_unlimited: bool = False) -> int:
    """`1000`, `500MB`, `10GiB` in bytes; `unlimited` is -1 where that is allowed. Raises UsageError."""
    if may_be_unlimited and text in _UNLIMITED_WORDS:
        return UNLIMITED
    found = _SIZE.fullmatch(text)
    if found is None or found[2] not in _UNITS_BYTES:
        more = ", or unlimited" if may_be_unlimited else ""
        raise UsageError(f"{text!r} is not a size", field=field, hint=f"Write it as 1000, 64MiB or 10GB{more}.")
    return round(float(found[1]) * _UNITS_BYTES[found[2]])


def parse_numbers(text: str, *, field: str) -> list[int]:
    """`3,1,2` as numbers, in this order. Raises UsageError."""
    parts = [part.strip() for part in text.split(",")]
    if not all(_NUMBER.fullmatch(part) for part in parts):
        raise UsageError(f"{text!r} is no list of numbers", field=field, hint="Write it as 3 or 1,2,3.")
    numbers = [int(part) for part in parts]
    if len(set(numbers)) != len(numbers):
        raise UsageError(f"{text!r} names a number twice", field=field)
    return numbers


def limit_text(duration_ms: int) -> str:
    """A duration that may be -1."""
    return UNLIMITED_TEXT if duration_ms == UNLIMITED else duration_text(duration_ms)


def size_text(size_bytes: int) -> str:
    """`1536` as "1.5 KiB"; -1 as "unlimited"."""
    if size_bytes == UNLIMITED:
        return UNLIMITED_TEXT
    for name, step in _STEPS:
        if size_bytes >= step:
            return f"{size_bytes / step:.1f} {name}".replace(".0 ", " ")
    return f"{size_bytes} B"


def count_text(count: int, noun: str = "", *, plural: str = "") -> str:
    """`1,234 messages`, `1 message`."""
    if not noun:
        return f"{count:,}"
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
