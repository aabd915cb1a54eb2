"""Where reading begins and ends, as the options say it: words, offsets per partition, a time, or a group's progress."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum

from acklog.wire.limits import TIMESTAMP_MS_MAX
from pyspark_acklog.failures import OptionError

OFFSET_MAX = 10**18 - 1
_KAFKA_LATEST, _KAFKA_EARLIEST = -1, -2


class Bound(Enum):
    """The two ends that every partition has."""

    EARLIEST = "earliest"
    LATEST = "latest"


@dataclass(frozen=True, slots=True)
class AtTime:
    """The first message that was appended at this time (milliseconds since 1970) or later."""

    time_ms: int


@dataclass(frozen=True, slots=True)
class OfGroup:
    """The first offset that the group has not done; partitions that it never read: `Bound.EARLIEST`."""

    group: str


@dataclass(frozen=True, slots=True)
class AtOffsets:
    """By topic and partition; `""` stands for the one topic that is read. Partitions that are not named have the
    option's default. Ends are exclusive."""

    offsets: Mapping[str, Mapping[int, int | Bound]]


Position = Bound | AtTime | OfGroup | AtOffsets


def parse_offsets(option: str, text: str) -> Position:
    """`earliest`, `latest`, `{"0": 17, "1": "latest"}` or `{"flights": {"0": 17}}`. Raises OptionError."""
    word = text.strip().lower()
    if word in {"earliest", "latest"}:
        return Bound(word)
    try:
        document = json.loads(text)
    except ValueError:
        raise OptionError(option, f"{text!r} is neither earliest, latest nor JSON such as {_EXAMPLE}") from None
    if not isinstance(document, dict) or not document:
        raise OptionError(option, f"must be earliest, latest or an object such as {_EXAMPLE}")
    if all(isinstance(value, dict) for value in document.values()):
        return AtOffsets({topic: _partitions(option, value) for topic, value in document.items()})
    return AtOffsets({"": _partitions(option, document)})


_EXAMPLE = '{"flights": {"0": 17, "1": "earliest"}}'


def _partitions(option: str, document: Mapping[str, object]) -> dict[int, int | Bound]:
    found: dict[int, int | Bound] = {}
    for name, value in document.items():
        if not re.fullmatch(r"[0-9]{1,4}", name):
            raise OptionError(option, f"{name!r} is no number of a partition")
        found[int(name)] = _offset(option, name, value)
    return found


def _offset(option: str, partition: str, value: object) -> int | Bound:
    if value in {"earliest", _KAFKA_EARLIEST}:
        return Bound.EARLIEST
    if value in {"latest", _KAFKA_LATEST}:
        return Bound.LATEST
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= OFFSET_MAX:
        raise OptionError(option, f"partition {partition} has {value!r}: an offset is 0 or more, earliest or latest")
    return value


def parse_time(option: str, text: str) -> AtTime:
    """Milliseconds since 1970, or ISO 8601 such as 2026-11-21T08:00:00Z (without a zone: UTC). Raises OptionError."""
    stripped = text.strip()
    if re.fullmatch(r"[0-9]{1,15}", stripped):
        time_ms = int(stripped)
    else:
        try:
            moment = datetime.fromisoformat(stripped)
        except ValueError:
            why = f"{text!r} is neither milliseconds since 1970 nor a time such as 2026-11-21T08:00:00Z"
            raise OptionError(option, why) from None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        time_ms = round(moment.timestamp() * 1000)
    if not 0 <= time_ms <= TIMESTAMP_MS_MAX:
        raise OptionError(option, f"{text!r} is outside of 1970 to 9999")
    return AtTime(time_ms)
