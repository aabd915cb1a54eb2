"""The index of a table in memory: what a model of the one on disk looks like, and enough where there is no disk."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from storage.log.keys import LogKey
from storage.table.table_index import NOWHERE, TableIndex, TableState

_Result = TypeVar("_Result")


class MemoryTableIndex:
    """One partition's."""

    def __init__(self) -> None:
        self.state = TableState(0)
        self._offsets: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._offsets)

    def apply(self, latest: Mapping[bytes, int], state: TableState) -> None:
        for digest, offset in latest.items():
            if offset == NOWHERE:
                self._offsets.pop(digest, None)
            else:
                self._offsets[digest] = offset
        self.state = state

    def find(self, digest: bytes) -> int:
        return self._offsets.get(digest, NOWHERE)

    def forget_below(self, log_start: int) -> None:
        self._offsets = {digest: offset for digest, offset in self._offsets.items() if offset >= log_start}

    def clear(self, log_start: int) -> None:
        self._offsets.clear()
        self.state = TableState(log_start)

    def close(self) -> None:
        pass


class MemoryTableIndexes:
    """Gone with the process, and made anew from the log by the next one."""

    async def run(self, call: Callable[[], _Result]) -> _Result:
        return call()

    def open(self, key: LogKey) -> TableIndex:
        return MemoryTableIndex()

    def remove(self, key: LogKey) -> None:
        pass


IN_MEMORY = MemoryTableIndexes()
