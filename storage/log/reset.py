"""Begin a log anew somewhere else: what a follower does whose leader has removed what the two would have to compare,
or whose own log is damaged."""

from functools import partial

from cluster.errors import ServerError
from storage.disk.port import Disk
from storage.log.engine import Engine
from storage.log.group_commit import GroupCommit
from storage.log.kept_batches import forget_kept
from storage.log.log_directory import sync_names
from storage.log.log_identity import identity_path
from storage.log.log_queue import LogQueue
from storage.log.log_state import LogState
from storage.log.maintenance import Maintenance
from storage.log.moved_aside import make_place_aside, move_foreign_files
from storage.log.open_files import OpenFiles
from storage.log.segment import NO_TIME, Segment, segment_base
from storage.log.truncation import changing


async def reset_to(engine: Engine, commit: GroupCommit, maintenance: Maintenance, log: LogQueue, offset: int) -> None:
    """See `PartitionLog.reset_to`."""
    async with changing(engine, commit, maintenance, log):
        state = log.state
        is_so_already = (state.log_start, state.log_end, state.epochs.last_epoch) == (offset, offset, -1)
        if not is_so_already or state.refused or state.damage:
            await _reset(engine, maintenance, state, offset)


async def _reset(engine: Engine, maintenance: Maintenance, state: LogState, offset: int) -> None:
    """One write decides: the recovery point that calls every segment void. Before it the log is as it was, behind it
    empty, whatever a power loss makes of the files, because recovery drops those that it finds then. A full disk is
    met there, and changes nothing; what follows needs no space.

    What may be another log's is not deleted, but moved aside, for which there is a place before."""
    if state.is_misplaced:
        await maintenance.run(partial(_make_place_aside, engine.disk, state))
    if not state.has_files:
        await maintenance.run(partial(state.begin_files, engine.disk, engine.files))
        state.has_files = True
    before = state.recovery_point, state.recovery_place, state.next_log_start, state.journal_floor, state.is_void
    kept_end, state.kept_end = state.kept_end, 0
    refused, state.refused = state.refused, ""
    is_misplaced, state.is_misplaced = state.is_misplaced, False
    damage, state.damage = state.damage, ""
    state.recovery_point, state.recovery_place = offset, (offset, 0)
    state.next_log_start = offset
    state.journal_floor = maintenance.journal_sequence
    state.is_void = True
    try:
        await maintenance.write_points()
    except ServerError:
        state.recovery_point, state.recovery_place, state.next_log_start, state.journal_floor, state.is_void = before
        state.refused, state.damage = refused, damage
        state.is_misplaced, state.kept_end = is_misplaced, kept_end
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
    await maintenance.finish(partial(_replace_files, engine.disk, engine.files, state, segment, removed))
    state.names_are_dirty = False
    state.epochs.is_dirty = False
    state.cover(state.end_place)
    engine.dirty[state] = None  # the next checkpoint says that the segments count again


def _make_place_aside(disk: Disk, state: LogState) -> None:
    make_place_aside(disk, state.key)


def _bases_found(disk: Disk, directory: str) -> list[int]:
    """Of every segment that has a file, also of those that recovery did not take."""
    return sorted(base for name in disk.list_directory(directory) if (base := segment_base(name)) is not None)


def _replace_files(disk: Disk, files: OpenFiles, state: LogState, segment: Segment, removed: list[Segment]) -> None:
    """The last segment becomes the new one, as its name and its inode are there already."""
    for each in removed:
        files.forget(each.path)
    forget_kept(disk, state.key)
    move_foreign_files(disk, state.key)
    for path in (state.epochs_path, identity_path(state.key)):
        if disk.exists(path):
            disk.remove(path)
    found = [Segment(state.key.directory, base) for base in _bases_found(disk, state.key.directory)]
    for each in found:
        if disk.exists(each.index_path):
            disk.remove(each.index_path)
    present = [each.path for each in found]
    for path in present[:-1]:
        disk.remove(path)
    if not present:
        files.create(segment.path)
    elif present[-1] != segment.path:
        disk.rename(present[-1], segment.path)
    with files.use(segment.path) as file:
        file.truncate(0)
        file.sync()
    sync_names(disk, state.key.directory)
