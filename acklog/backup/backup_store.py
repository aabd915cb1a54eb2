"""Where backups are kept: the port. Names are paths with slashes, below the place that was opened."""

from typing import Protocol


class BackupStore(Protocol):
    """What was written is there in one piece or not at all, and is never changed."""

    def sizes(self, folder: str) -> dict[str, int]:
        """The names below a folder, with their bytes; nothing where there is none."""
        ...

    def read(self, name: str) -> bytes:
        """Raises BackupDamaged where there is no such file."""
        ...

    def put_new(self, name: str, content: bytes) -> bool:
        """Durable on return. False, and nothing is changed, where there is one of that name."""
        ...

    def unfinished(self, folder: str) -> dict[str, int]:
        """As `sizes`, of what writers had begun whose process was killed, or have begun just now."""
        ...

    def remove(self, name: str) -> None:
        """Fine where there is none."""
        ...
