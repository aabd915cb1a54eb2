"""An export on any file system that pyarrow knows, without Java: for readers, which run in Spark's Python workers."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from pyarrow import fs

from pyspark_acklog.export.failures import StorageError
from pyspark_acklog.export.storage import StoredFile
from pyspark_acklog.export.storages import local_path_of

_SCHEMES = {"s3a": "s3", "s3n": "s3"}


def file_system_of(path: str) -> tuple[Any, str]:
    """pyarrow's file system, and the directory in it. Raises StorageError."""
    local = local_path_of(path)
    if local is not None:
        return fs.LocalFileSystem(), local.rstrip("/") or "/"
    scheme, _, rest = path.partition("://")
    with _telling(path):
        system, directory = fs.FileSystem.from_uri(f"{_SCHEMES.get(scheme, scheme)}://{rest}")
    return system, str(directory).rstrip("/")


class ReadOnlyStorage:
    """What a reader needs of a storage; everything else raises StorageError."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._system, self._directory = file_system_of(path)

    @property
    def root(self) -> str:
        return self._path

    def url(self, path: str) -> str:
        return f"{self._path.rstrip('/')}/{path}"

    def list_files(self, directory: str) -> list[StoredFile]:
        top = f"{self._directory}/{directory}".rstrip("/")
        selector = fs.FileSelector(top, allow_not_found=True, recursive=True)
        with _telling(self.url(directory)):
            found = self._system.get_file_info(selector)
        return sorted(
            (
                StoredFile(
                    info.path.removeprefix(self._directory + "/"), int(info.size), (info.mtime_ns or 0) // 1_000_000
                )
                for info in found
                if info.type == fs.FileType.File
            ),
            key=lambda file: file.path,
        )

    def read(self, path: str) -> bytes | None:
        with _telling(self.url(path)):
            try:
                with self._system.open_input_file(f"{self._directory}/{path}") as file:
                    return bytes(file.read())
            except FileNotFoundError:
                return None

    def put_if_absent(self, path: str, content: bytes) -> bool:
        raise self._refused(path)

    def write(self, path: str, content: bytes) -> None:
        raise self._refused(path)

    def move(self, source: str, target: str) -> bool:
        raise self._refused(target)

    def delete_tree(self, directory: str) -> None:
        raise self._refused(directory)

    def make_durable(self, paths: Iterable[str]) -> None:
        raise self._refused("")

    def _refused(self, path: str) -> StorageError:
        return StorageError(f"cannot write {self.url(path)}: it is read as an archive")


@contextmanager
def _telling(path: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # pyarrow's ArrowInvalid is a ValueError: no such scheme, no such host
        told = (str(error).splitlines() or [type(error).__name__])[0]
        raise StorageError(f"cannot read {path}: {told}") from None
