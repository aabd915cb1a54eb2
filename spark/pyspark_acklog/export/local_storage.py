"""A directory of this machine, without Java."""

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark_acklog.export.failures import StorageError
from pyspark_acklog.export.storage import StoredFile


class LocalStorage:
    """Atomic by `link`, which never replaces a file; durable by fsync of files and directories."""

    def __init__(self, root: str) -> None:
        self._root = Path(os.path.abspath(root))

    @property
    def root(self) -> str:
        return str(self._root)

    def url(self, path: str) -> str:
        # Hadoop takes names as they are: percent signs would stay.
        return f"file://{self._root / path if path else self._root}"

    def list_files(self, directory: str) -> list[StoredFile]:
        top = self._root / directory
        with _telling(top, "read"):
            found = []
            for parent, _, names in os.walk(top, onerror=_raise_unless_missing):
                for name in names:
                    path = Path(parent) / name
                    with contextlib.suppress(FileNotFoundError):
                        status = path.stat()
                        relative = path.relative_to(self._root).as_posix()
                        found.append(StoredFile(relative, status.st_size, status.st_mtime_ns // 1_000_000))
        return sorted(found, key=lambda file: file.path)

    def read(self, path: str) -> bytes | None:
        with _telling(self._root / path, "read"):
            try:
                return (self._root / path).read_bytes()
            except FileNotFoundError:
                return None

    def put_if_absent(self, path: str, content: bytes) -> bool:
        target = self._root / path
        with _telling(target, "write"):
            _make_directory(target.parent)
            draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
            try:
                _write_durably(draft, content)
                try:
                    os.link(draft, target)
                except FileExistsError:
                    return False
                _sync(target.parent)
                return True
            finally:
                draft.unlink(missing_ok=True)

    def write(self, path: str, content: bytes) -> None:
        target = self._root / path
        with _telling(target, "write"):
            _make_directory(target.parent)
            draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
            try:
                _write_durably(draft, content)
                draft.replace(target)
            finally:
                draft.unlink(missing_ok=True)

    def move(self, source: str, target: str) -> bool:
        before, after = self._root / source, self._root / target
        with _telling(after, "write"):
            if not before.exists():
                return False
            _make_directory(after.parent)
            try:
                os.link(before, after)
            except FileNotFoundError:
                return False
            except FileExistsError:
                # What a move leaves behind that was cut off between its two steps.
                if not before.exists():
                    return False
                if not before.samefile(after):
                    raise StorageError(f"{after} is there already, with other content") from None
            _sync(after.parent)
            before.unlink(missing_ok=True)
            return True

    def delete_tree(self, directory: str) -> None:
        with _telling(self._root / directory, "remove"), contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self._root / directory)

    def make_durable(self, paths: Iterable[str]) -> None:
        directories: dict[Path, None] = {}
        for path in paths:
            file = self._root / path
            with _telling(file, "write"):
                _sync(file)
            directories[file.parent] = None
        for directory in directories:
            with _telling(directory, "write"):
                _sync(directory)


@contextmanager
def _telling(path: Path, verb: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"cannot {verb} {path}: {error.strerror or error}") from error


def _raise_unless_missing(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _make_directory(directory: Path) -> None:
    if directory.is_dir():
        return
    _make_directory(directory.parent)
    directory.mkdir(exist_ok=True)
    _sync(directory.parent)


def _write_durably(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
