"""What followers get of a leader's logs."""

from collections.abc import Sequence

import structlog

from acklog.wire.compacted_batch import from_offset
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.disk.port import Buffer
from storage.log.log_table import LogKind
from storage.log.partition_log import PartitionLog
from storage.node.partition.batch_cache import BatchCache
from storage.replication.fetch_answer import Read

logger = structlog.get_logger(__name__)


_IN_MEMORY = frozenset({LogKind.MESSAGES, LogKind.SCHEDULE})


class ServedLogs:
    """Of one partition. The newest batches that gateways sent come from memory."""

    def __init__(self, logs: Sequence[PartitionLog], cache: BatchCache) -> None:
        self._logs = logs
        self._cache = cache

    async def read(self, read: Read) -> bytes:
        """Whole batches. None where the log was cut or removed meanwhile, or is damaged there."""
        log = self._logs[read.log]
        if read.log in _IN_MEMORY:
            cached = self._read_cached(log, read)
            if cached:
                return cached
        try:
            found = await log.read_stored(read.position.offset, max_bytes=read.bytes_max, until=read.until)
        except ServerError as error:
            if error.code is not ProblemCode.OFFSET_OUT_OF_RANGE:
                logger.warning("follower_not_served", log=str(log.key), reason=str(error))
            return b""
        if not found or (not read.takes_one and found[0].header.length > read.bytes_max):
            return b""
        first, *others = (stored.data for stored in found)
        # What stands for removed batches may begin before the follower's log ends: it gets the rest.
        return b"".join([from_offset(first, read.position.offset), *others])

    def _read_cached(self, log: PartitionLog, read: Read) -> bytes:
        """As many as are in memory without a gap; nothing where the first is not."""
        offset, size_bytes = read.position.offset, 0
        pieces: list[Buffer] = []
        while offset < read.until:
            cached = self._cache.find(log.key, offset)
            if cached is None or cached.header.base_offset != offset:
                break
            size_bytes += cached.header.length
            if size_bytes > read.bytes_max and (pieces or not read.takes_one):
                break
            pieces.append(cached.data)
            offset = cached.header.next_offset
        return b"".join(pieces)
