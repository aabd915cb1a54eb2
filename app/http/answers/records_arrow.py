"""The log as an Arrow stream."""

import asyncio
from typing import TYPE_CHECKING

from acklog.wire.records_arrow import load_library, record_batches, schema
from app.calls.records import RecordsRead
from app.gateway.dependencies import InThread

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_MAX = 4096
BYTES_MAX = 512 * 1024
"""Of bodies, in one record batch: what is turned into Arrow in one go, while nothing else is served. About 2 ms."""
_END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"


async def arrow_stream(read: RecordsRead, in_thread: InThread | None = None) -> bytes:
    """The columns of `acklog.wire.records_arrow`.

    Between two record batches others get their turn: a page of small messages takes tens of milliseconds. Raises
    ServerError RECORDS_CORRUPT.
    """
    if in_thread is not None:
        await in_thread(load_library)  # takes half a second, once
    parts: list[pa.Buffer] = [schema().serialize()]
    for batch in record_batches(
        read.partition,
        read.runs(),
        rows_max=ROWS_MAX,
        bytes_max=BYTES_MAX,
        topic_ttl_ms=read.topic.config.ttl_ms,
    ):
        parts.append(batch.serialize())
        await asyncio.sleep(0)
    return b"".join([*parts, _END_OF_STREAM])
