"""A disk of files that are held in memory and only read."""

from collections.abc import Mapping, Sequence

from storage.disk.port import Buffer


class HeldFile:
    """`storage.disk.port.File`, for who reads."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def size(self) -> int:
        return len(self._content)

    def read(self, position: int, length: int) -> bytes:
        assert position >= 0
        assert length >= 0
        return self._content[position : position + length]

    def read_cached(self, position: int, length: int) -> bytes | None:
        return self.read(position, length)

    def write(self, position: int, buffers: Sequence[Buffer]) -> None:
        raise NotImplementedError("who reads writes nothing")

    def truncate(self, size: int) -> None:
        raise NotImplementedError("who reads writes nothing")

    def preallocate(self, size: int) -> None:
        raise NotImplementedError("who reads writes nothing")

    def sync(self) -> None:
        raise NotImplementedError("who reads writes nothing")

    def close(self) -> None: ...


class HeldDisk:
    """`storage.disk.port.Disk`, as far as readers need it."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def open(self, path: str) -> HeldFile:
        if path not in self._files:
            raise FileNotFoundError(path)
        return HeldFile(self._files[path])

    def exists(self, path: str) -> bool:
        return path in self._files or any(name.startswith(f"{path}/") for name in self._files)

    def list_directory(self, path: str) -> list[str]:
        below = [name.removeprefix(f"{path}/") for name in self._files if name.startswith(f"{path}/")]
        return sorted({name.partition("/")[0] for name in below})
