"""The coordination store of an embedded server: opened once nothing speaks against it."""

from functools import partial

from app.processes.newest_epochs import noted_epochs
from app.processes.process_constants import COORDINATION_FILE
from cluster.ports.blocking import BlockingCalls
from cluster.ports.clock import Clock
from cluster.stores.sqlite_copy import read_spare
from cluster.stores.sqlite_evidence import StoreEvidence
from cluster.stores.sqlite_spare import spare_path
from cluster.stores.sqlite_store import SqliteStore
from storage.disk.executor import IoExecutor
from storage.disk.port import Disk
from storage.log.ballast import release_ballast
from storage.log.data_directory import META_PATH, read_meta
from storage.log.directory_role import check_embedded


async def open_store(
    data_dir: str, disk: Disk, *, io: IoExecutor, blocking: BlockingCalls, clock: Clock, ballast_bytes: int
) -> SqliteStore:
    """Of a directory that is locked. Raises DataDirectoryError and CoordinationError where it must not be served."""
    await io.run(partial(read_meta, disk))  # a directory of a newer version is refused before anything is changed
    await io.run(partial(check_embedded, disk, embedded_path=COORDINATION_FILE))
    await io.run(partial(release_ballast, disk, ballast_bytes=ballast_bytes))  # opening the store takes space
    evidence = await io.run(partial(evidence_of, disk, data_dir))
    return await SqliteStore.open(coordination_path(data_dir), blocking=blocking, clock=clock, evidence=evidence)


def coordination_path(data_dir: str) -> str:
    return f"{data_dir}/{COORDINATION_FILE}"


def evidence_of(disk: Disk, data_dir: str) -> StoreEvidence:
    """In an I/O thread: what the directory says about the store's file, which is durable before the meta file is made,
    and its every revision before anything rests on it. What cannot be read says nothing."""
    copied = read_spare(spare_path(coordination_path(data_dir)))
    return StoreEvidence(
        was_used=disk.exists(META_PATH),
        copied_revision=max((item.mod_revision for item in copied), default=0),
        epochs=noted_epochs(disk),
    )
