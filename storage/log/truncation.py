"""Cut a log's end: what a follower does whose log went another way than the leader's (rule R1)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

from cluster.errors import ServerError
from storage.disk.port import Disk, ShortageError
from storage.log.engine import Engine
from storage.log.group_commit import GroupCommit
from storage.log.keys import LogKey
from storage.log.leader_epochs import LeaderEpochs
from storage.log.log_queue import LogQueue
from storage.log.log_state import LogState, cut_segment, find_cut, sync_log_files, write_epochs, write_index
from storage.log.maintenance import Maintenance
from storage.log.open_files import OpenFiles
from storage.log.segment import Segment
from storage.log.segment_reader import load_index

_Result = TypeVar("_Result")


async def truncate_to(
    engine: Engine, commit: GroupCommit, maintenance: Maintenance, log: LogQueue, offset: int
) -> None:
    """See `PartitionLog.truncate_to`."""
    async with changing(engine, commit, maintenance, log):
        engine.check(log.state)
        if offset < log.state.log_end:
            await _truncate(engine, maintenance, log.state, offset)


@asynccontextmanager
async def changing(engine: Engine, commit: GroupCommit, maintenance: Maintenance, log: LogQueue) -> AsyncIterator[None]:
    """What the block does to the log it does alone, with no append on its way. Raises what keeps the data directory
    from being written to, or says that the log was removed."""
    try:
        await commit.hold(log)
        async with maintenance.exclusive():
            engine.check_present(log.state)
            yield
    finally:
        commit.recount([log])
        commit.release(log)


async def _truncate(engine: Engine, maintenance: Maintenance, state: LogState, offset: int) -> None:
    """Order matters. First everything is made durable, so that the journal is not needed for this log; then the
    recovery point and the journal floor say so, from when on the journal's entries are not replayed; then the files
    are cut. A crash before the floor leaves the log as it was; one after it leaves the cut or some of the old tail,
    which nobody was told is gone. A full disk is met before anything is cut, and changes nothing."""
    number = state.segment_at(offset)
    segment = state.segments[number]
    index = engine.indexes.get(segment)
    if index is None:
        interval_bytes = state.settings.index_interval_bytes
        index = await _look(
            engine, partial(load_index, engine.disk, engine.files, segment, interval_bytes=interval_bytes)
        )
    position, cut_offset, last_ms = await _look(engine, partial(find_cut, engine.files, segment, index, offset))
    epochs = LeaderEpochs(state.epochs.entries())
    epochs.truncate_to(cut_offset)
    log_end = state.end_place
    dirty = list(state.dirty_segments)
    directory = state.key.directory
    closed = [each for each in dirty if each.base_offset < segment.base_offset and each.index is not None]
    await maintenance.run(partial(_make_durable, engine.disk, engine.files, state.key, dirty, closed))
    state.cover((cut_offset, segment.base_offset, position))
    state.journal_floor = maintenance.journal_sequence
    try:
        await maintenance.write_points()
        await maintenance.run(partial(write_epochs, engine.disk, state.epochs_path, epochs.to_bytes()))
    except ServerError:
        state.cover(log_end)
        state.epochs.is_dirty = True
        engine.dirty[state] = None
        raise

    state.version += 1
    removed = state.segments[number + 1 :]
    del state.segments[number + 1 :]
    state.dirty_segments.clear()
    for each in (segment, *removed):
        engine.indexes.forget(each)
    engine.indexes.take_over(closed)
    cut_segment(segment, index, position=position, end_offset=cut_offset, last_append_ms=last_ms)
    state.last_append_ms = state.latest_append_ms()  # a leader whose clock is behind goes on from there
    state.epochs.truncate_to(cut_offset)
    state.epochs.log_end = cut_offset
    state.epochs.is_dirty = False
    state.names_are_dirty = False
    await maintenance.finish(partial(_cut_files, engine.disk, engine.files, directory, segment, removed))


def _make_durable(disk: Disk, files: OpenFiles, key: LogKey, dirty: list[Segment], closed: list[Segment]) -> None:
    """In an I/O thread."""
    sync_log_files(disk, files, key, dirty, names_are_dirty=True)
    for each in closed:
        if not each.index_is_stored:
            write_index(disk, each)


async def _look(engine: Engine, function: "partial[_Result]") -> _Result:
    """In an I/O thread. Nothing has been changed yet: a shortage keeps the cut from being made, now."""
    try:
        return await engine.io.run(function)
    except ShortageError as error:
        raise engine.refused(error) from error


def _cut_files(disk: Disk, files: OpenFiles, directory: str, segment: Segment, removed: list[Segment]) -> None:
    for each in reversed(removed):
        files.forget(each.path)
        if disk.exists(each.index_path):
            disk.remove(each.index_path)
        if disk.exists(each.path):
            disk.remove(each.path)
    if disk.exists(segment.index_path):
        disk.remove(segment.index_path)  # before the segment is written to again: it would describe other batches
    disk.sync_directory(directory)
    with files.use(segment.path) as file:
        file.truncate(segment.size_bytes)
        file.sync()
