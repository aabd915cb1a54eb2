"""The indexes of a node's schedules, as files of SQLite."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from storage.disk.executor import IoExecutor
from storage.log.keys import LogKey
from storage.node.schedule.sqlite_schedule_index import SqliteScheduleIndex
from storage.schedule.schedule_index import IndexFailedError, ScheduleIndex

_Result = TypeVar("_Result")


class SqliteScheduleIndexes:
    """In a directory of their own, which is made with the first."""

    def __init__(self, directory: str, io: IoExecutor) -> None:
        """`io` is best one of their own: what is taken over at leisure must not keep appends from the disk."""
        self._directory = Path(directory)
        self._io = io

    async def run(self, call: Callable[[], _Result]) -> _Result:
        return await self._io.run(call)

    def open(self, key: LogKey) -> ScheduleIndex:
        """Raises IndexFailedError where it cannot be made either."""
        try:
            self._directory.mkdir(exist_ok=True)
            try:
                return SqliteScheduleIndex(self._path(key))
            except (sqlite3.Error, IndexFailedError):
                self.remove(key)
                return SqliteScheduleIndex(self._path(key))
        except (OSError, sqlite3.Error) as error:
            raise IndexFailedError(str(error)) from error

    def remove(self, key: LogKey) -> None:
        path = self._path(key)
        for suffix in ("", "-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)

    def _path(self, key: LogKey) -> Path:
        return self._directory / f"{key.topic_id}-{key.partition}.sqlite"
