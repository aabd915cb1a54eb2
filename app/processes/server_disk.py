"""What a server on one machine stores on: its disk, locked, and the indexes beside the logs."""

from collections.abc import Callable
from dataclasses import replace

from storage.disk.real_disk import RealDisk
from storage.disk.thread_executor import ThreadExecutor
from storage.node.partition.node_settings import NodeSettings
from storage.node.schedule.sqlite_schedule_indexes import SqliteScheduleIndexes
from storage.node.table.sqlite_table_index import SqliteTableIndexes
from storage.schedule.schedule_index import SCHEDULES_DIRECTORY
from storage.table.table_index import TABLES_DIRECTORY


def locked_disk(data_dir: str, on_sync: Callable[[float], None]) -> RealDisk:
    """Raises FileLockedError where another server has it."""
    disk = RealDisk(data_dir, on_sync=on_sync)
    disk.lock("lock")
    return disk


def with_open_files(settings: NodeSettings, open_files_max: int) -> NodeSettings:
    return replace(settings, log_store=replace(settings.log_store, open_files_max=open_files_max))


def schedule_indexes(data_dir: str) -> SqliteScheduleIndexes:
    return SqliteScheduleIndexes(f"{data_dir}/{SCHEDULES_DIRECTORY}", ThreadExecutor(threads=1, name="acklog-schedule"))


def table_indexes(data_dir: str) -> SqliteTableIndexes:
    return SqliteTableIndexes(f"{data_dir}/{TABLES_DIRECTORY}", ThreadExecutor(threads=1, name="acklog-table"))
