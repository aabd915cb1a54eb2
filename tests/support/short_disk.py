"""A simulated disk on which descriptors can run out."""

import errno
from collections.abc import Callable

from storage.disk.port import ShortageError
from tests.sim.sim_disk import SimDisk, SimFile


class ShortDisk(SimDisk):
    """`openings` counts what needs a descriptor; `is_short` says by that count which of them find none. As the port
    says, syncing the data directory and what is directly below it needs none."""

    def __init__(self, *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.openings = 0
        self.is_short: Callable[[int], bool] = lambda _number: False

    def open(self, path: str) -> SimFile:
        self._take_descriptor(path)
        return super().open(path)

    def create(self, path: str) -> SimFile:
        self._take_descriptor(path)
        return super().create(path)

    def list_directory(self, path: str) -> list[str]:
        self._take_descriptor(path)
        return super().list_directory(path)

    def sync_directory(self, path: str) -> None:
        if "/" in path:
            self._take_descriptor(path)
        super().sync_directory(path)

    def _take_descriptor(self, path: str) -> None:
        self.openings += 1
        if self.is_short(self.openings):
            raise ShortageError(errno.EMFILE, "Too many open files", path)
