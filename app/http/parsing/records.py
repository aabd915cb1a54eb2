"""What `GET /topics/{topic}/partitions/{partition}/records` takes."""

import re
from typing import cast

from acklog.wire import limits
from acklog.wire.problems import ProblemCode
from app.calls.filters import filter_of, read_filter
from app.calls.records import EPOCH_MAX, OFFSET_MAX, FirstOffset, ReadFrom, RecordsCommand
from app.http.parsing import query
from cluster.errors import ServerError

_PARTITION = re.compile(r"[0-9]{1,9}")


def _parse_read_from(text: str) -> ReadFrom:
    try:
        return ReadFrom(text)
    except ValueError:
        raise ValueError("must be leader or nearest") from None


def _parse_offset(text: str) -> int | FirstOffset:
    if text in {"earliest", "latest"}:
        return FirstOffset(text)
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise ValueError(f"must be earliest, latest or a whole number, 0 to {OFFSET_MAX}")
    return int(text)


RECORDS_QUERY = query.QueryTable(
    (
        query.Parameter(
            "offset",
            _parse_offset,
            {"type": "string", "pattern": "^(earliest|latest|[0-9]{1,18})$", "default": "earliest"},
            "the first offset to read: a number, earliest or latest",
        ),
        query.integer(
            "time", 0, limits.TIMESTAMP_MS_MAX, "begin with what was appended at this time (ms since 1970) or later"
        ),
        query.integer(
            "maxBytes",
            1,
            limits.RECEIVE_BYTES_MAX,
            "bytes of batches at most; one batch is returned even if it is larger",
            default=limits.RECEIVE_BYTES_DEFAULT,
        ),
        query.integer("until", 0, OFFSET_MAX, "leave out what is at or behind this offset (raw batches stay whole)"),
        query.integer(
            "epoch",
            0,
            EPOCH_MAX,
            "the epoch of the answer whose nextOffset is asked for: an answer of an earlier one is refused, and so is "
            "one of a log that was cut since",
        ),
        query.number("waitSeconds", 0, limits.WAIT_SECONDS_MAX, "how long to wait when there is nothing yet"),
        query.Parameter(
            "readFrom",
            _parse_read_from,
            {"type": "string", "enum": [each.value for each in ReadFrom], "default": ReadFrom.LEADER.value},
            "nearest: an in-sync replica may answer, too, with what it knows to be committed",
        ),
        query.text("tags", limits.FILTER_BYTES_MAX, "only messages with one of these tags: a,b"),
        query.text(
            "filter",
            limits.FILTER_BYTES_MAX,
            "only what matches, by tags, key and headers; raw batches stay whole, those without a match go",
        ),
    )
)


def parse_records(topic: str, partition: str, query_string: bytes) -> RecordsCommand:
    """Raises ServerError."""
    arguments = RECORDS_QUERY.parse(query_string)
    if "offset" in arguments and "time" in arguments:
        raise ServerError(ProblemCode.INVALID_FIELD, "give either offset or time", field="time")
    time_ms = arguments.integer("time")
    asked = arguments.value("offset")
    epoch = arguments.integer("epoch")
    if epoch is not None and not isinstance(asked, int):
        raise ServerError(ProblemCode.INVALID_FIELD, "goes with an offset that is a number", field="epoch")
    wanted = filter_of(arguments.text("filter"), arguments.text("tags"))
    first = FirstOffset.GIVEN
    offset = 0
    if isinstance(asked, FirstOffset):
        first = asked
    elif isinstance(asked, int):
        offset = asked
    elif time_ms is None:
        first = FirstOffset.EARLIEST
    return RecordsCommand(
        topic=topic,
        partition=partition_number(partition),
        first=first,
        offset=offset,
        time_ms=-1 if time_ms is None else time_ms,
        max_bytes=arguments.integer("maxBytes") or limits.RECEIVE_BYTES_DEFAULT,
        wait_ms=round((arguments.number("waitSeconds") or 0) * 1000),
        until=arguments.integer("until"),
        read_from=cast("ReadFrom | None", arguments.value("readFrom")) or ReadFrom.LEADER,
        epoch=-1 if epoch is None else epoch,
        message_filter=read_filter(wanted, field="filter") if wanted else None,
    )


def partition_number(text: str) -> int:
    """The number of a partition in a path. Raises ServerError INVALID_FIELD."""
    if not _PARTITION.fullmatch(text) or int(text) >= limits.PARTITIONS_MAX:
        detail = f"must be a whole number, 0 to {limits.PARTITIONS_MAX - 1}"
        raise ServerError(ProblemCode.INVALID_FIELD, detail, field="partition")
    return int(text)
