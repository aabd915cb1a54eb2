"""Space that is kept back by being taken: a file of zeros that goes when the disk is full.

With no byte left a server could not even start: a checkpoint is written beside the one that it replaces, and the
coordination store has its log. The ballast's space is enough for a start and for working off what there is; it is taken
again once there is room for it beside the reserve that sends leave alone.
"""

import contextlib

import structlog

from storage.disk.port import Disk, DiskFailedError, DiskFullError, DiskRefusedError
from storage.log.checkpoint import TEMPORARY_SUFFIX

BALLAST_PATH = "ballast"
_MAKING_PATH = BALLAST_PATH + TEMPORARY_SUFFIX

logger = structlog.get_logger(__name__)


def release_ballast(disk: Disk, *, ballast_bytes: int) -> None:
    """In an I/O thread: give its space back where less than half as much is left. Needs no space itself."""
    if disk.free_bytes() < ballast_bytes // 2:
        for path in (BALLAST_PATH, _MAKING_PATH):
            if disk.exists(path):
                disk.remove(path)
                disk.sync_directory("")
                logger.warning("ballast_released", free_bytes=disk.free_bytes())


def take_ballast(disk: Disk, *, ballast_bytes: int, reserve_bytes: int) -> None:
    """In an I/O thread: make it, where there is none and room for it. Without it nothing is wrong yet."""
    if disk.exists(BALLAST_PATH) or disk.free_bytes() < ballast_bytes + reserve_bytes:
        return
    with contextlib.suppress(DiskRefusedError, DiskFailedError):
        if disk.exists(_MAKING_PATH):
            disk.remove(_MAKING_PATH)
        file = disk.create(_MAKING_PATH)
        try:
            file.preallocate(ballast_bytes)
            file.sync()
        except DiskFullError:
            disk.remove(_MAKING_PATH)
            raise
        finally:
            file.close()
        disk.rename(_MAKING_PATH, BALLAST_PATH)
        disk.sync_directory("")
