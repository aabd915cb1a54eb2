"""Whose a file is, and who may read it."""

import os
import stat
from pathlib import Path
from typing import NamedTuple

_PERMISSIONS = 0o777
_AS_MADE = -1
"""Of owners and groups: chown leaves them."""


class FileAccess(NamedTuple):
    """`mode` is of its owner, its group and others, without what else a mode may hold."""

    owner: int
    group: int
    mode: int

    @classmethod
    def new(cls, mode: int) -> "FileAccess":
        """Of a file that replaces none: it belongs to who makes it."""
        return cls(_AS_MADE, _AS_MADE, mode)

    @classmethod
    def of(cls, path: Path) -> "FileAccess | None":
        """None where there is no file."""
        try:
            found = path.stat()
        except FileNotFoundError:
            return None
        return cls(found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode) & _PERMISSIONS)

    def give(self, descriptor: int) -> None:
        """To an open file that nobody else may read yet: nobody may read it who may not later, either. Raises OSError
        where only root could."""
        found = os.fstat(descriptor)
        if self.owner not in {_AS_MADE, found.st_uid} or self.group not in {_AS_MADE, found.st_gid}:
            os.fchown(descriptor, self.owner, self.group)
        os.fchmod(descriptor, self.mode)  # whatever the umask has taken
