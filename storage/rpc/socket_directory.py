"""The directory of the sockets by which the processes of one server reach each other, and nobody else reaches them."""

import os
import socket
import stat
import struct

DIRECTORY_MODE, SOCKET_MODE = 0o700, 0o600
BACKLOG = 256
_CREDENTIALS = struct.Struct("3i")  # process, user, group: see unix(7)


class SocketDirectory:
    """Sockets are found by way of a descriptor: the path of one has 108 bytes at most, and a data directory's may be
    longer. Made by `make` or `open`; `close` it once nobody dials any more."""

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    @classmethod
    def make(cls, path: str) -> "SocketDirectory":
        """Whatever its mode was, nobody else comes in from here on. Raises OSError."""
        os.makedirs(path, exist_ok=True)
        os.chmod(path, DIRECTORY_MODE)
        return cls.open(path)

    @classmethod
    def open(cls, path: str) -> "SocketDirectory":
        """Raises OSError."""
        return cls(path, os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))

    def address(self, name: str) -> str:
        """Where to dial."""
        return f"/proc/self/fd/{self._descriptor}/{name}"

    def listen(self, name: str) -> socket.socket:
        """In the place of what an earlier process has left. Raises OSError."""
        try:
            if stat.S_ISSOCK(os.lstat(name, dir_fd=self._descriptor).st_mode):
                os.unlink(name, dir_fd=self._descriptor)
        except FileNotFoundError:
            pass
        listening = socket.socket(socket.AF_UNIX)
        try:
            os.fchmod(listening.fileno(), SOCKET_MODE)  # before the bind: never is there one that others may use
            listening.bind(self.address(name))
            listening.listen(BACKLOG)
        except OSError:
            listening.close()
            raise
        listening.setblocking(False)
        return listening

    def close(self) -> None:
        os.close(self._descriptor)


def is_own_user(connected: socket.socket) -> bool:
    """Whether the process at the other end runs under the same user as this one."""
    given = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, user, _ = _CREDENTIALS.unpack(given)
    return bool(user == os.geteuid())
