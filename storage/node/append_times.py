"""When the messages were appended that groups are at."""

from cluster.errors import ServerError
from storage.node.replicas.led_partition import Partition

UNTOLD_MS = -1
_NO_MORE_THAN_ONE_BATCH = 1


async def append_time_at(partition: Partition, offset: int) -> int:
    """By one read of one batch at most; UNTOLD_MS where no message is there, or it cannot be read."""
    host = partition.host
    if not host.readable_start <= offset < host.high_watermark:
        return UNTOLD_MS
    cached = partition.reader.cached(offset)
    if cached is not None:
        return cached.header.append_time_ms
    try:
        found = await host.log.read(offset, max_bytes=_NO_MORE_THAN_ONE_BATCH, until=host.high_watermark)
    except ServerError:  # whoever reads the messages hears of it
        return UNTOLD_MS
    return found[0].header.append_time_ms if found else UNTOLD_MS


def append_time_near(partition: Partition, offset: int) -> int:
    """Without a read, for who looks often and at many: not later than the message, and earlier by what stands between
    two rows of the index, or by a segment where its index is not in memory. UNTOLD_MS where no message is there."""
    host = partition.host
    if not host.readable_start <= offset < host.high_watermark:
        return UNTOLD_MS
    cached = partition.reader.cached(offset)
    return host.log.append_time_near(offset) if cached is None else cached.header.append_time_ms
