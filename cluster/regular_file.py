"""Files that are read whole while a process serves: settings, tokens, certificates."""

import errno
import os
import stat
from typing import NamedTuple


class RegularFile(NamedTuple):
    """`mode` is what it may be used for by whom, at the moment when it was read."""

    content: bytes
    mode: int

    @classmethod
    def read(cls, path: str) -> "RegularFile":
        """A pipe would be waited for until somebody writes to it, and what waits behind it would wait for ever. Blocks.
        Raises OSError."""
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            mode = os.fstat(descriptor).st_mode
            if stat.S_ISDIR(mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
            if not stat.S_ISREG(mode):
                raise OSError(errno.EINVAL, "it is no regular file", path)
            with open(descriptor, "rb", closefd=False) as file:
                return cls(file.read(), stat.S_IMODE(mode))
        finally:
            os.close(descriptor)


def read_regular_file(path: str) -> bytes:
    """Blocks. Raises OSError."""
    return RegularFile.read(path).content
