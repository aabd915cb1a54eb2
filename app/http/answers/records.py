"""The log in the four forms that a reader may ask for."""

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec

import msgspec

from acklog.wire import log_page
from acklog.wire.problems import ProblemCode
from app.calls.message_view import MessageView, encode_line, view_of
from app.calls.records import RecordsRead
from app.gateway.dependencies import InThread
from app.http.answers.records_arrow import arrow_stream
from app.http.exchange.responses import JSON, NDJSON, BytesResponse
from app.http.exchange.turns import Steps, Turns
from app.http.parsing.accept import chosen_type
from cluster.errors import ServerError

ARROW = "application/vnd.apache.arrow.stream"
RECORDS_TYPES = (JSON, NDJSON, ARROW, log_page.MEDIA_TYPE)
_WITHOUT_ARROW = tuple(each for each in RECORDS_TYPES if each != ARROW)
_encode = msgspec.json.Encoder().encode


RECORDS_PER_STEP = 1_000
BODY_BYTES_PER_STEP = 1024 * 1024


class _Position(msgspec.Struct, rename="camel", omit_defaults=True):
    offset: int
    next_offset: int
    log_start: int
    high_watermark: int
    epoch: int = -1  # a node of an earlier version does not say


@cache
def has_arrow() -> bool:
    """Whether this server was installed with the extra that Arrow needs."""
    return find_spec("pyarrow") is not None


def records_type(accept: str | None) -> str:
    """The form that the client likes best of those that this server can make. Raises ServerError NOT_ACCEPTABLE."""
    if has_arrow():
        return chosen_type(accept, RECORDS_TYPES)
    try:
        return chosen_type(accept, _WITHOUT_ARROW)
    except ServerError:
        chosen_type(accept, RECORDS_TYPES)
        detail = 'Arrow needs an extra that this server was installed without: pip install "acklog-server[arrow]"'
        raise ServerError(ProblemCode.NOT_ACCEPTABLE, detail, field="Accept") from None


async def records_response(
    read: RecordsRead, media_type: str, turns: Turns, in_thread: InThread | None
) -> BytesResponse:
    """A page of small messages takes a second: others get their turn in between. Raises ServerError
    RECORDS_CORRUPT."""
    response = read.response
    if media_type == JSON:
        body = await turns.take(_json_steps(read))
        return BytesResponse(body, 200, None, JSON)
    if media_type == NDJSON:
        body = await turns.take(_line_steps(read))
    elif media_type == ARROW:
        body = await arrow_stream(read, in_thread)
    else:
        body = bytes(response.batches)
    headers = {
        "X-Acklog-Topic-Id": read.topic.id,
        "X-Acklog-Offset": str(response.offset),
        "X-Acklog-Next-Offset": str(read.next_offset),
        "X-Acklog-Log-Start": str(response.log_start),
        "X-Acklog-High-Watermark": str(response.high_watermark),
    }
    if response.leader_epoch >= 0:
        headers["X-Acklog-Epoch"] = str(response.leader_epoch)
    return BytesResponse(body, 200, headers, media_type)


def _json_steps(read: RecordsRead) -> Steps[bytes]:
    response = read.response
    parts: list[bytes] = []
    for views in _views(read):
        parts.append(_encode(views)[1:-1])
        yield
    position = _Position(
        response.offset, read.next_offset, response.log_start, response.high_watermark, response.leader_epoch
    )
    return b'{"records":[%b],%b\n' % (b",".join(parts), _encode(position)[1:])


def _line_steps(read: RecordsRead) -> Steps[bytes]:
    parts: list[bytes] = []
    for views in _views(read):
        parts.append(b"".join([encode_line(view) for view in views]))
        yield
    return b"".join(parts)


def _views(read: RecordsRead) -> Iterator[list[MessageView]]:
    """The records, as many at a time as are made and encoded in some milliseconds."""
    views: list[MessageView] = []
    size_bytes = 0
    for header, offset, record in read.records():
        views.append(
            view_of(
                record,
                message_id=read.message_id(header, offset),
                queue=read.topic.name,
                partition=read.partition,
                offset=offset,
                append_time_ms=header.append_time_ms,
                topic_ttl_ms=read.topic.config.ttl_ms,
            )
        )
        size_bytes += len(record.body)
        if len(views) >= RECORDS_PER_STEP or size_bytes >= BODY_BYTES_PER_STEP:
            yield views
            views, size_bytes = [], 0
    if views:
        yield views
