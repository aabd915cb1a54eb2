"""A start of a node's data directory is counted in the directory and in the store, so that an old copy is noticed.

An old copy has the id of the directory that it was made of. It would be taken for it, with its places among those in
sync, and lack what was acknowledged since. The directory's count is written first: whatever is interrupted, it is never
behind the store's, unless it is that of an earlier start.
"""

from functools import partial

from cluster.backoff import Backoff
from cluster.model import keys
from cluster.ports.clock import Clock
from cluster.ports.coordination import (
    CoordinationError,
    CoordinationStore,
    CoordinationUnavailableError,
    Put,
    absent,
    unchanged,
)
from storage.disk.executor import IoExecutor
from storage.disk.port import Disk
from storage.log.data_directory import DataDirectoryError
from storage.log.directory_life import read_starts, write_starts

ATTEMPTS_MAX = 20


async def count_start(
    store: CoordinationStore, directory_id: str, *, disk: Disk, io: IoExecutor, clock: Clock, backoff: Backoff
) -> None:
    """Raises DataDirectoryError for an old copy, CoordinationUnavailableError after ATTEMPTS_MAX tries."""
    key = keys.directory_starts(directory_id)
    failure = "others count starts of the same directory all the time"
    counted = await io.run(partial(read_starts, disk))
    for attempt in range(1, ATTEMPTS_MAX + 1):
        try:
            item = await store.get(key)
            known = 0 if item is None else int(item.value)
            if counted < known:
                raise DataDirectoryError(
                    f"it is an old copy: it was started {counted} times, and the directory that it was made of {known} "
                    "times. What was acknowledged since is not in it. Put the newest one back, or give this node an "
                    "empty directory, which the others fill"
                )
            counted = known + 1
            await io.run(partial(write_starts, disk, counted))
            guard = absent(key) if item is None else unchanged(item)
            if (await store.transact([guard], [Put(key, b"%d" % counted)])).succeeded:
                return
        except CoordinationError as error:
            failure = str(error)
        await clock.sleep(backoff.delay_ms(attempt))
    raise CoordinationUnavailableError(f"the start of the directory {directory_id} could not be counted: {failure}")
