"""What every part of a backup and of a restore works with."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from acklog.backup.backup_store import BackupStore
from acklog.backup.pace import BackupPace

if TYPE_CHECKING:
    from acklog.client.copies import Copies


@dataclass(frozen=True, slots=True)
class CopyTools:
    """The server's calls, the place of the backups, and how fast. `advanced` is told of bytes that were read or
    sent."""

    copies: "Copies"
    store: BackupStore
    pace: BackupPace
    advanced: Callable[[int], None] = lambda _: None

    def moved(self, size_bytes: int) -> None:
        """Tell of bytes that were read or sent, and wait until more may be."""
        self.advanced(size_bytes)
        self.pace.spend(size_bytes)
