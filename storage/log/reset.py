"""Begin a log anew somewhere else: what a follower does whose leader has removed what the two would have to compare."""

from functools import partial

from cluster.errors import AcklogError
from storage.disk.port import Disk
from storage.log.engine import Engine
from storage.log.group_commit import GroupCommit
from storage.log.log_state import LogState
from storage.log.maintenance import Maintenance
from storage.log.open_files import OpenFiles
from storage.log.round import LogQueue
from storage.log.segment import NO_TIME, Segment
from storage.log.truncation import changing


async def reset_to(engine: Engine, commit: GroupCommit, maintenance: Maintenance, log: LogQueue, offset: int) -> None:
    """See `PartitionLog.reset_to`."""
    async with changing(engine, commit, maintenance, log):
        state = log.state
        if (state.log_start, state.log_end, state.epochs.last_epoch) != (offset, offset, -1):
            await _reset(engine, maintenance, state, offset)


async def _reset(engine: Engine, maintenance: Maintenance, state: LogState, offset: int) -> None:
    """One write decides: the recovery point that calls every segment void. Before it the log is as it was, behind it
    empty, whatever a power loss makes of the files, because recovery drops those that it finds then. A full disk is
    met there, and changes nothing; what follows needs no space."""
    before = state.recovery_point, state.recovery_place, state.next_log_start, state.journal_floor, state.is_void
    state.recovery_point, state.recovery_place = offset, (offset, 0)
    state.next_log_start = offset
    state.journal_floor = maintenance.journal_sequence
    state.is_void = True
    try:
        await maintenance.write_points()
    except AcklogError:
        state.recovery_point, state.recovery_place, state.next_log_start, state.journal_floor, state.is_void = before
        raise

    state.version += 1
    removed = state.segments.copy()
    for each in removed:
        engine.indexes.forget(each)
    segment = Segment(state.key.directory, offset)
    state.segments.clear()
    state.dirty_segments.clear()
    state.add_segment(segment)
    state.log_start = offset
    state.last_append_ms = NO_TIME
    state.epochs.truncate_to(0)
    state.epochs.log_end = offset
    await maintenance.run(partial(_replace_files, engine.disk, engine.files, state, segment, removed))
    state.names_are_dirty = False
    state.epochs.is_dirty = False
    state.cover(state.end_place)
    engine.dirty[state] = None  # the next checkpoint says that the segments count again


def _replace_files(disk: Disk, files: OpenFiles, state: LogState, segment: Segment, removed: list[Segment]) -> None:
    """The last segment becomes the new one, as its name and its inode are there already."""
    for path in (*(each.index_path for each in removed), state.epochs_path):
        if disk.exists(path):
            disk.remove(path)
    for each in removed:
        files.forget(each.path)
    present = [each.path for each in removed if disk.exists(each.path)]
    for path in present[:-1]:
        disk.remove(path)
    if not present:
        files.create(segment.path)
    elif present[-1] != segment.path:
        disk.rename(present[-1], segment.path)
    with files.use(segment.path) as file:
        file.truncate(0)
        file.sync()
    disk.sync_directory(state.key.directory)
