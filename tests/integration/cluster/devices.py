"""File systems of a test's own for the nodes of a cluster."""

from contextlib import ExitStack
from pathlib import Path

from tests.support.block_device import LoopFileSystem


class Devices:
    """A file system of its own for each node that is to have one. A context: all are unmounted at the end."""

    def __init__(self, directory: Path, nodes: tuple[int, ...], *, size_bytes: int) -> None:
        self._directory = directory
        self._size_bytes = size_bytes
        self._systems: dict[int, LoopFileSystem] = {}
        self._mounts = {node: ExitStack() for node in nodes}
        self._copies = 0

    def __enter__(self) -> "Devices":
        for node, mount in self._mounts.items():
            image, mount_point = self._directory / f"device-{node}.img", self._directory / f"device-{node}"
            self._systems[node] = LoopFileSystem.create(image, mount_point, size_bytes=self._size_bytes)
            mount.enter_context(self._systems[node].mounted())
        return self

    def __exit__(self, *_: object) -> None:
        for mount in self._mounts.values():
            mount.close()

    def data_directories(self) -> dict[int, Path]:
        return {node: self.root(node) / "data" for node in self._mounts}

    def root(self, node: int) -> Path:
        return self._systems[node].mount_point

    def copy_as_after_a_power_cut(self, node: int) -> LoopFileSystem:
        """What is on the node's device at this moment; nothing is flushed for it."""
        self._copies += 1
        image = self._directory / f"device-{node}-{self._copies}.img"
        return self._systems[node].copy_of_device(image, self._systems[node].mount_point)

    def replace(self, node: int, copy: LoopFileSystem) -> None:
        """The node's process must be gone: from here on the copy is at its place."""
        self._mounts[node].close()
        self._systems[node] = copy
        self._mounts[node].enter_context(copy.mounted())
