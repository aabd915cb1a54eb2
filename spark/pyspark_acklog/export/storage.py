"""Where exports lie, as the rest sees it: a port. Paths are relative to the table's root, with `/`."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class StoredFile:
    """`modified_ms` is by the storage's own clock."""

    path: str
    size_bytes: int
    modified_ms: int


class Storage(Protocol):
    """Every method raises StorageError, in one line, for what the storage refuses."""

    @property
    def root(self) -> str:
        """As it was named."""
        ...

    def url(self, path: str) -> str:
        """What Spark takes."""
        ...

    def list_files(self, directory: str) -> list[StoredFile]:
        """The files in it and below, by path; none where there is no such directory."""
        ...

    def read(self, path: str) -> bytes | None:
        """The whole content; None where there is no such file."""
        ...

    def put_if_absent(self, path: str, content: bytes) -> bool:
        """Make the file whole and durable, unless there is one: of any number of callers exactly one gets True.

        Nobody ever sees a part of it. When it raises, the file may be there or not.
        """
        ...

    def write(self, path: str, content: bytes) -> None:
        """Make the file, or replace what it has."""
        ...

    def move(self, source: str, target: str) -> bool:
        """Give a file another name, replacing nothing. False where there is no `source` (any more)."""
        ...

    def delete_tree(self, directory: str) -> None:
        """Remove it with all that is below; fine where there is none."""
        ...

    def make_durable(self, paths: Iterable[str]) -> None:
        """Return when these files survive a loss of power, as far as this kind of storage promises it."""
        ...
