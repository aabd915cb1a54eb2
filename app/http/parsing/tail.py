"""What `GET /topics/{topic}/tail` takes."""

import re
from typing import cast

from acklog.wire import limits
from acklog.wire.problems import ProblemCode
from app.calls.filters import filter_of, read_filter
from app.calls.records import OFFSET_MAX, FirstOffset
from app.calls.tail import (
    BODY_BYTES_DEFAULT,
    BODY_BYTES_MAX,
    CURSOR_LENGTH_MAX,
    MESSAGES_PER_SECOND_DEFAULT,
    MESSAGES_PER_SECOND_MAX,
    TAIL_PARTITIONS_MAX,
    TailCommand,
    read_cursor,
)
from app.http.parsing import query
from cluster.errors import ServerError

_PARTITION_OFFSET = re.compile(r"([0-9]{1,9}):([0-9]{1,18})")
_BEGINNINGS = ("from", "time", "offset")


def _parse_partition(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) >= limits.PARTITIONS_MAX:
        raise ValueError(f"must be a whole number, 0 to {limits.PARTITIONS_MAX - 1}")
    return int(text)


def _parse_offset(text: str) -> tuple[int, int]:
    match = _PARTITION_OFFSET.fullmatch(text)
    if match is None:
        raise ValueError(f"must be partition:offset, two whole numbers, the offset 0 to {OFFSET_MAX}")
    return _parse_partition(match[1]), int(match[2])


def _parse_first(text: str) -> FirstOffset:
    if text not in ("latest", "earliest"):
        raise ValueError("must be latest or earliest")
    return FirstOffset(text)


TAIL_QUERY = query.QueryTable(
    (
        query.Parameter(
            "from",
            _parse_first,
            {"type": "string", "enum": ["latest", "earliest"], "default": "latest"},
            "where to begin: with what comes from now on, or with the oldest message",
        ),
        query.integer(
            "time", 0, limits.TIMESTAMP_MS_MAX, "begin with what was appended at this time (ms since 1970) or later"
        ),
        query.Parameter(
            "offset",
            _parse_offset,
            {"type": "string", "pattern": "^[0-9]{1,9}:[0-9]{1,18}$"},
            "partition:offset, where to begin in a partition; the others begin as `from` says",
            values_max=TAIL_PARTITIONS_MAX,
        ),
        query.Parameter(
            "partition",
            _parse_partition,
            {"type": "integer", "minimum": 0, "maximum": limits.PARTITIONS_MAX - 1},
            "only this partition",
            values_max=TAIL_PARTITIONS_MAX,
        ),
        query.text(
            "cursor", CURSOR_LENGTH_MAX, "go on behind the event of this id, as with Last-Event-ID, which counts first"
        ),
        query.text("tags", limits.FILTER_BYTES_MAX, "only messages with one of these tags: a,b"),
        query.text("filter", limits.FILTER_BYTES_MAX, "only what matches, by tags, key and headers"),
        query.integer(
            "maxBodyBytes", 0, BODY_BYTES_MAX, "of a longer body only so much is given", default=BODY_BYTES_DEFAULT
        ),
        query.integer(
            "maxPerSecond",
            1,
            MESSAGES_PER_SECOND_MAX,
            "messages per second; more come later, and none is left out",
            default=MESSAGES_PER_SECOND_DEFAULT,
        ),
    )
)


def parse_tail(topic: str, query_string: bytes, last_event_id: str | None) -> TailCommand:
    """`last_event_id` is the header of that name. Raises ServerError."""
    arguments = TAIL_QUERY.parse(query_string)
    cursor = arguments.text("cursor")
    beginnings = [name for name in _BEGINNINGS if name in arguments]
    if cursor is not None and beginnings:
        raise ServerError(ProblemCode.INVALID_FIELD, "the cursor says where to begin", field=beginnings[0])
    if "time" in arguments and len(beginnings) > 1:
        raise ServerError(ProblemCode.INVALID_FIELD, "give one of from, time and offset", field="time")
    wanted = filter_of(arguments.text("filter"), arguments.text("tags"))
    time_ms = arguments.integer("time")
    first = cast("FirstOffset | None", arguments.value("from")) or FirstOffset.LATEST
    body_bytes_max = arguments.integer("maxBodyBytes")
    resumed = None
    if last_event_id:
        resumed = read_cursor(last_event_id, field_name="Last-Event-ID")
    elif cursor is not None:
        resumed = read_cursor(cursor, field_name="cursor")
    partitions = cast("list[int]", arguments.texts("partition"))
    offsets = dict(cast("list[tuple[int, int]]", arguments.texts("offset")))
    unread = [number for number in offsets if partitions and number not in partitions]
    if unread:
        detail = f"partition {unread[0]} is none of those that are named by `partition`"
        raise ServerError(ProblemCode.INVALID_FIELD, detail, field="offset")
    return TailCommand(
        topic=topic,
        first=FirstOffset.GIVEN if time_ms is not None else first,
        time_ms=-1 if time_ms is None else time_ms,
        offsets=offsets,
        partitions=tuple(dict.fromkeys(partitions)),
        cursor=resumed,
        message_filter=read_filter(wanted, field="filter") if wanted else None,
        body_bytes_max=BODY_BYTES_DEFAULT if body_bytes_max is None else body_bytes_max,
        messages_per_second=arguments.integer("maxPerSecond") or MESSAGES_PER_SECOND_DEFAULT,
    )
