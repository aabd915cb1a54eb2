"""Cut a log's beginning, by whole segments."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from cluster.errors import ServerError
from storage.disk.port import Disk
from storage.log.engine import Engine
from storage.log.group_commit import GroupCommit
from storage.log.log_directory import sync_names
from storage.log.log_queue import LogQueue
from storage.log.log_state import LogState
from storage.log.lost_ranges import LostRange, lost_ranges
from storage.log.maintenance import Maintenance
from storage.log.open_files import OpenFiles
from storage.log.segment import NO_TIME, Segment


class Retained(NamedTuple):
    """What retention left and removed."""

    log_start: int
    segments_removed: int
    bytes_removed: int


async def remove_before(engine: Engine, maintenance: Maintenance, state: LogState, offset: int) -> None:
    """See `PartitionLog.remove_before`."""
    async with maintenance.exclusive():
        engine.check(state)
        count = 0
        while count < len(state.segments) - 1 and state.segments[count + 1].base_offset <= offset:
            count += 1
        await _drop(engine, maintenance, state, count)


async def remove_all_before(
    engine: Engine, commit: GroupCommit, maintenance: Maintenance, log: LogQueue, offset: int
) -> None:
    """See `PartitionLog.remove_all_before`."""
    state = log.state

    def is_past() -> bool:
        return bool(state.active.size_bytes) and state.active.end_offset <= offset

    await _close_active(engine, commit, maintenance, log, when=is_past)
    await remove_before(engine, maintenance, state, offset)


async def seal(
    engine: Engine, commit: GroupCommit, maintenance: Maintenance, log: LogQueue, *, appended_before_ms: int
) -> None:
    """See `PartitionLog.seal`."""
    state = log.state

    def is_due() -> bool:
        return bool(state.active.size_bytes) and state.active.first_append_ms < appended_before_ms

    if is_due():
        await _close_active(engine, commit, maintenance, log, when=is_due)
        await maintenance.sync_now()


async def retain(
    engine: Engine,
    commit: GroupCommit,
    maintenance: Maintenance,
    log: LogQueue,
    *,
    retention_ms: int,
    retention_bytes: int,
    not_after_offset: int | None,
    keep_keyed_after_ms: int | None,
) -> Retained:
    """See `PartitionLog.retain`."""
    state = log.state

    def droppable() -> int:
        return _count_droppable(
            state,
            lost=lost_ranges(state, opened_ms=engine.opened_ms),
            now_ms=engine.clock.now_ms(),
            retention_ms=retention_ms,
            retention_bytes=retention_bytes,
            not_after_offset=not_after_offset,
            keep_keyed_after_ms=keep_keyed_after_ms,
        )

    await _close_active(engine, commit, maintenance, log, when=lambda: droppable() == len(state.segments))
    async with maintenance.exclusive():
        engine.check(state)
        count = min(droppable(), len(state.segments) - 1)
        removed_bytes = sum(segment.size_bytes for segment in state.segments[:count])
        await _drop(engine, maintenance, state, count)
        return Retained(state.log_start, count, removed_bytes)


def _count_droppable(
    state: LogState,
    *,
    lost: list[LostRange],
    now_ms: int,
    retention_ms: int,
    retention_bytes: int,
    not_after_offset: int | None,
    keep_keyed_after_ms: int | None,
) -> int:
    """How many segments from the oldest on may go; all of them only when the active one holds expired batches. What
    is `lost` may have been keyed, and is forgotten with the segment before it, or with the first one."""
    count = 0
    remaining_bytes = state.size_bytes
    for segment in state.segments:
        is_active = segment is state.active
        remaining_bytes -= segment.size_bytes
        is_old = 0 <= retention_ms < now_ms - segment.last_append_ms
        is_surplus = not is_active and 0 <= retention_bytes <= remaining_bytes
        if is_active and not segment.size_bytes:
            break
        if not (is_old or is_surplus):
            break
        if not_after_offset is not None and segment.end_offset > not_after_offset:
            break
        beside = [
            each
            for each in lost
            if each.first == segment.end_offset or (not count and each.first < segment.base_offset)
        ]
        last_keyed_ms = max(segment.last_keyed_ms, *(each.latest_ms for each in beside), NO_TIME)
        if keep_keyed_after_ms is not None and last_keyed_ms > keep_keyed_after_ms:
            break
        count += 1
    return count


async def _close_active(
    engine: Engine, commit: GroupCommit, maintenance: Maintenance, log: LogQueue, *, when: Callable[[], bool]
) -> None:
    """Go on in a new segment, so that the one of now can go. Nothing is appended meanwhile."""
    if not when():
        return
    await commit.hold(log)
    try:
        async with maintenance.exclusive():
            engine.check(log.state)
            if when():
                await _roll(engine, maintenance, log.state)
    finally:
        commit.release(log)


async def _roll(engine: Engine, maintenance: Maintenance, state: LogState) -> None:
    """Go on in a new segment, whose name is durable before the old one may be removed."""
    segment = Segment(state.key.directory, state.log_end)

    def work() -> None:
        engine.files.create(segment.path)
        engine.disk.sync_directory(state.key.directory)

    await maintenance.run(work)
    state.add_segment(segment)
    engine.dirty[state] = None


async def _drop(engine: Engine, maintenance: Maintenance, state: LogState, count: int) -> None:
    """Remove the oldest `count` segments. The new log start is durable before the first file goes, because a power
    loss may bring back any of the names, each on its own."""
    if not count:
        return
    if state.names_are_dirty:  # the segment that the log begins with from now on must not vanish
        await maintenance.run(partial(sync_names, engine.disk, state.key.directory))
    state.next_log_start = state.segments[count].base_offset
    try:
        await maintenance.write_points()
    except ServerError:
        state.next_log_start = state.log_start
        raise
    state.log_start = state.next_log_start  # not before: a group would jump over what is still there
    removed = state.segments[:count]
    del state.segments[:count]
    for segment in removed:
        state.dirty_segments.pop(segment, None)
        engine.indexes.forget(segment)
    state.epochs.remove_before(state.log_start)
    engine.dirty[state] = None
    await maintenance.finish(partial(_remove_files, engine.disk, engine.files, state.key.directory, removed))


def _remove_files(disk: Disk, files: OpenFiles, directory: str, removed: list[Segment]) -> None:
    for segment in removed:
        files.forget(segment.path)
        if disk.exists(segment.index_path):
            disk.remove(segment.index_path)
        if disk.exists(segment.path):
            disk.remove(segment.path)
    disk.sync_directory(directory)
