"""When a message is to be seen, as clients say it (RFC 3339 with an offset, or milliseconds since 1970), and for how
long."""

import math
import re
from datetime import datetime

from acklog.wire.limits import DELAY_SECONDS_MAX, TIMESTAMP_MS_MAX, TTL_SECONDS_MAX, TTL_SECONDS_MIN
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Schedule
from cluster.errors import ServerError

_RFC_3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_MILLISECONDS = re.compile(r"[0-9]{1,15}")
WRONG_TIME = "must be a time with an offset (2027-03-01T08:30:00+01:00) or milliseconds since 1970"


def time_ms_of(value: int | str) -> int | None:
    """Rounded up to whole milliseconds, so that it is never early. None: it is no such time."""
    if isinstance(value, str):
        if _MILLISECONDS.fullmatch(value):
            value = int(value)
        elif _RFC_3339.fullmatch(value):
            return _parsed_ms(value)
        else:
            return None
    return value if 0 <= value <= TIMESTAMP_MS_MAX else None


def _parsed_ms(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text.upper())
        epoch = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
        since = moment - epoch
    except (ValueError, OverflowError):
        return None
    microseconds = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    found = -(-microseconds // 1000)
    return found if 0 <= found <= TIMESTAMP_MS_MAX else None


def delivery_time_fault(value: int | str) -> str | None:
    """What is wrong with it."""
    return None if time_ms_of(value) is not None else WRONG_TIME


def delay_fault(seconds: float) -> str | None:
    """What is wrong with it."""
    return None if 0 <= seconds <= DELAY_SECONDS_MAX else f"must be 0 to {DELAY_SECONDS_MAX} seconds (a year)"


def ttl_fault(seconds: float) -> str | None:
    """What is wrong with it."""
    is_right = TTL_SECONDS_MIN <= seconds <= TTL_SECONDS_MAX
    return None if is_right else f"must be {TTL_SECONDS_MIN} to {TTL_SECONDS_MAX} seconds (10 years)"


def ttl_ms_of(seconds: float) -> int:
    """Rounded up to whole milliseconds."""
    return math.ceil(seconds * 1000)


def schedule_of(delay_seconds: float | None, deliver_at: int | str | None, prefix: str = "") -> Schedule | None:
    """What both say that is right; None: now. Raises ServerError INVALID_FIELD where both are given."""
    if deliver_at is not None:
        if delay_seconds is not None:
            detail = "give either delaySeconds or deliverAt"
            raise ServerError(ProblemCode.INVALID_FIELD, detail, field=prefix + "deliverAt")
        at_ms = time_ms_of(deliver_at)
        assert at_ms is not None, "it was checked"
        return Schedule(at_ms=at_ms)
    return Schedule(delay_ms=math.ceil(delay_seconds * 1000)) if delay_seconds else None
