"""A log as it is stored, for who goes through it and wants no more than headers: no key is needed for these."""

from storage.log.partition_log import PartitionLog
from storage.log.segment_reader import StoredBatch


class StoredLog:
    """ReadableLog over a PartitionLog."""

    def __init__(self, log: PartitionLog) -> None:
        self._log = log

    @property
    def log_start(self) -> int:
        return self._log.log_start

    async def read(self, offset: int, *, max_bytes: int, until: int | None = None) -> list[StoredBatch]:
        return await self._log.read_stored(offset, max_bytes=max_bytes, until=until)
