"""The log in the four forms that a reader may ask for."""

import msgspec

from app.message_view import MessageView, encode_line, view_of
from app.responses import JSON, NDJSON, BytesResponse
from app.services.records import RecordsRead

BATCHES = "application/vnd.acklog.batches"
ARROW = "application/vnd.apache.arrow.stream"
RECORDS_TYPES = (JSON, NDJSON, ARROW, BATCHES)
_encode = msgspec.json.Encoder().encode


class _Answer(msgspec.Struct, rename="camel"):
    records: list[MessageView]
    offset: int
    next_offset: int
    log_start: int
    high_watermark: int


def records_response(read: RecordsRead, media_type: str) -> BytesResponse:
    """Raises AcklogError RECORDS_CORRUPT."""
    response = read.response
    if media_type == JSON:
        answer = _Answer(
            _views(read), response.offset, response.next_offset, response.log_start, response.high_watermark
        )
        return BytesResponse(_encode(answer) + b"\n", 200, None, JSON)
    if media_type == NDJSON:
        body = b"".join([encode_line(view) for view in _views(read)])
    elif media_type == ARROW:
        body = _arrow_stream(read)
    else:
        body = bytes(response.batches)
    headers = {
        "X-Acklog-Offset": str(response.offset),
        "X-Acklog-Next-Offset": str(response.next_offset),
        "X-Acklog-Log-Start": str(response.log_start),
        "X-Acklog-High-Watermark": str(response.high_watermark),
    }
    return BytesResponse(body, 200, headers, media_type)


def _views(read: RecordsRead) -> list[MessageView]:
    return [
        view_of(
            record,
            message_id=read.message_id(header, offset),
            queue=read.topic.name,
            partition=read.partition,
            offset=offset,
            append_time_ms=header.append_time_ms,
        )
        for header, offset, record in read.records()
    ]


def _arrow_stream(read: RecordsRead) -> bytes:
    """One record batch: partition, offset, key, value, headers, tags, timestamp, appendTime, contentType."""
    import pyarrow as pa  # loaded on first use: it takes longer than the whole server to import

    schema = pa.schema(
        [
            pa.field("partition", pa.int32(), nullable=False),
            pa.field("offset", pa.int64(), nullable=False),
            pa.field("key", pa.string()),
            pa.field("value", pa.binary(), nullable=False),
            pa.field("headers", pa.map_(pa.string(), pa.string())),
            pa.field("tags", pa.list_(pa.string())),
            pa.field("timestamp", pa.timestamp("ms", tz="UTC"), nullable=False),
            pa.field("appendTime", pa.timestamp("ms", tz="UTC"), nullable=False),
            pa.field("contentType", pa.string()),
        ]
    )
    rows = list(read.records())
    columns: list[list[object]] = [
        [read.partition] * len(rows),
        [offset for _, offset, _ in rows],
        [record.key for _, _, record in rows],
        [record.body for _, _, record in rows],
        [None if record.headers is None else list(record.headers.items()) for _, _, record in rows],
        [record.tags for _, _, record in rows],
        [header.append_time_ms if record.timestamp_ms is None else record.timestamp_ms for header, _, record in rows],
        [header.append_time_ms for header, _, _ in rows],
        [record.content_type for _, _, record in rows],
    ]
    arrays = [pa.array(column, type=field.type) for column, field in zip(columns, schema, strict=True)]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.record_batch(arrays, schema=schema))
    return bytes(sink.getvalue())
