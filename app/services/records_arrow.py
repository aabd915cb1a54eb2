"""The log as an Arrow stream."""

import asyncio
from typing import TYPE_CHECKING

from acklog.wire.records_arrow import record_batches, schema
from app.services.records import RecordsRead

if TYPE_CHECKING:
    import pyarrow as pa

_END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"


async def arrow_stream(read: RecordsRead) -> bytes:
    """The columns of `acklog.wire.records_arrow`.

    Between two record batches others get their turn: a page of small messages takes tens of milliseconds. Raises
    AcklogError RECORDS_CORRUPT.
    """
    parts: list[pa.Buffer] = [schema().serialize()]
    for batch in record_batches(read.partition, read.runs()):
        parts.append(batch.serialize())
        await asyncio.sleep(0)
    return b"".join([*parts, _END_OF_STREAM])
